//! The client of the Bitcoin Development Kit queries a node with mainnet's first blocks, and checks the replies as far
//! as it can.
#![allow(clippy::unwrap_used)]

mod common;

use std::{fs, process::Command, time::Duration};

use bitcoin::{Address, Amount, BlockHash, Network, TxMerkleNode, Txid, hashes::Hash as _};
use esplora_client::{BlockingClient, Builder};

const TIP: u32 = 14_131;
/// The first payment of all, which leaves something over.
const PAYMENT: &str = "f4184fc596403b9d638783cf57adfe4c75c605f6356fbc91338530e9831e9e16";
const HEIGHT: u32 = 170;
/// The address that is paid most in these blocks.
const BUSIEST: &str = "12higDjoCCNXSA95xZMWUdPvXNmkAduhWv";
const PAID: Amount = Amount::from_sat(2_317_533_000_000);

#[test]
fn esplora_client_agrees() {
    let Some(file) = skip::blocks("blk_0_to_14131.dat") else { return };
    let folder = tempfile::tempdir().unwrap();
    let (data, config) = (folder.path().join("data"), folder.path().join("turnpike.toml"));
    let mut import = Command::new(env!("CARGO_BIN_EXE_turnpike"));
    let output = import.args(["import", "bitcoin"]).arg(&file).arg("--data").arg(&data).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    fs::write(&config, "[electrum]\nesplora = true\n").unwrap();
    let arguments = ["--config", config.to_str().unwrap(), "--accounts", "1000"];
    let node = common::start(&data, "127.0.0.1:0".parse().unwrap(), &arguments);
    let client = Builder::new(&format!("http://{}/api", node.http)).timeout(Duration::from_secs(60)).build_blocking();
    blocks(&client);
    transaction(&client, PAYMENT.parse().unwrap());
    address(&client);
    mempool(&client);
}

fn blocks(client: &BlockingClient) {
    assert_eq!(client.get_height().unwrap(), TIP);
    let tip = client.get_tip_hash().unwrap();
    assert_eq!(client.get_block_hash(TIP).unwrap(), tip);
    let genesis = bitcoin::constants::genesis_block(Network::Bitcoin);
    assert_eq!(client.get_block_by_hash(&client.get_block_hash(0).unwrap()).unwrap().unwrap(), genesis);
    let status = client.get_block_status(&tip).unwrap();
    assert_eq!((status.in_best_chain, status.height, status.next_best), (true, Some(TIP), None));
    assert_eq!(client.get_block_by_hash(&BlockHash::all_zeros()).unwrap(), None);
    // Blocks follow each other, and are what their headers say.
    let infos = client.get_block_infos(Some(HEIGHT)).unwrap();
    assert_eq!((infos.len(), infos[0].height), (10, HEIGHT));
    for (info, before) in infos.iter().zip(&infos[1..]) {
        assert_eq!((info.previousblockhash, info.height), (Some(before.id), before.height + 1));
        let block = client.get_block_by_hash(&info.id).unwrap().unwrap();
        assert!(block.block_hash() == info.id && block.check_merkle_root());
        assert_eq!(client.get_header_by_hash(&info.id).unwrap(), block.header);
        assert_eq!(client.get_block_info(&info.id).unwrap(), *info);
        assert_eq!((info.tx_count, info.size), (block.txdata.len() as u64, block.total_size()));
        let ids: Vec<_> = block.txdata.iter().map(bitcoin::Transaction::compute_txid).collect();
        assert_eq!(client.get_block_txids(&info.id).unwrap(), ids);
        let page = client.get_block_txs(&info.id, None).unwrap();
        assert_eq!(page.iter().map(|one| one.to_tx()).collect::<Vec<_>>(), block.txdata);
    }
}

fn transaction(client: &BlockingClient, id: Txid) {
    let transaction = client.get_tx(&id).unwrap().unwrap();
    assert_eq!(transaction.compute_txid(), id);
    let info = client.get_tx_info(&id).unwrap().unwrap();
    assert_eq!((info.to_tx(), info.fee), (transaction, Amount::ZERO));
    let block = client.get_block_hash(HEIGHT).unwrap();
    assert_eq!((info.status.block_height, info.status.block_hash), (Some(HEIGHT), Some(block)));
    assert_eq!(client.get_tx_status(&id).unwrap(), info.status);
    assert_eq!(client.get_txid_at_block_index(&block, 1).unwrap(), Some(id));
    let root = client.get_header_by_hash(&block).unwrap().merkle_root;
    let proof = client.get_merkle_proof(&id).unwrap().unwrap();
    let (node, _) = proof.merkle.iter().fold((id.to_raw_hash(), proof.pos), |(node, position), beside| {
        let (node, beside) = (node.to_byte_array(), beside.to_byte_array());
        let pair = if position & 1 == 0 { [node, beside] } else { [beside, node] };
        (bitcoin::hashes::sha256d::Hash::hash(&pair.concat()), position >> 1)
    });
    assert_eq!((TxMerkleNode::from_raw_hash(node), proof.block_height), (root, HEIGHT));
    let (mut matches, mut positions) = (Vec::new(), Vec::new());
    let merkle_block = client.get_merkle_block(&id).unwrap().unwrap();
    merkle_block.extract_matches(&mut matches, &mut positions).unwrap();
    assert_eq!((matches, positions, merkle_block.header.block_hash()), (vec![id], vec![1], block));
    // The next payment spent the change.
    let spent = client.get_tx_outspends(&id).unwrap();
    assert_eq!(client.get_output_status(&id, 1).unwrap().unwrap(), spent[1]);
    let spender = client.get_tx(&spent[1].txid.unwrap()).unwrap().unwrap();
    let outpoint = spender.input[spent[1].vin.unwrap() as usize].previous_output;
    assert_eq!((outpoint.txid, outpoint.vout), (id, 1));
    let none = Txid::all_zeros();
    assert!(client.get_tx(&none).unwrap().is_none() && client.get_merkle_proof(&none).unwrap().is_none());
}

fn address(client: &BlockingClient) {
    let address = BUSIEST.parse::<Address<_>>().unwrap().require_network(Network::Bitcoin).unwrap();
    let script = address.script_pubkey();
    let stats = client.get_address_stats(&address).unwrap();
    assert_eq!((stats.chain_stats.tx_count, stats.chain_stats.funded_txo_sum), (21, PAID));
    assert_eq!(client.get_scripthash_stats(&script).unwrap().chain_stats, stats.chain_stats);
    let history = client.get_address_txs(&address, None).unwrap();
    assert_eq!(
        (history.len() as u32, &history),
        (stats.chain_stats.tx_count, &client.get_scripthash_txs(&script, None).unwrap())
    );
    assert!(history.windows(2).all(|pair| pair[0].status.block_height >= pair[1].status.block_height));
    assert_eq!(client.get_address_txs(&address, Some(history[9].txid)).unwrap(), history[10..]);
    let unspent = client.get_address_utxos(&address).unwrap();
    assert_eq!(unspent.iter().map(|output| output.value).sum::<Amount>(), PAID);
    assert_eq!(client.get_scripthash_utxos(&script).unwrap(), unspent);
}

fn mempool(client: &BlockingClient) {
    assert!(client.get_mempool_txids().unwrap().is_empty() && client.get_mempool_recent_txs().unwrap().is_empty());
    assert_eq!(client.get_mempool_stats().unwrap().count, 0);
    assert!(client.get_fee_estimates().unwrap().is_empty());
}
