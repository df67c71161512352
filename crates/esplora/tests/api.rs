//! The API over mainnet's first 14,132 blocks, checked against the blocks themselves and against known values.
#![allow(clippy::unwrap_used)]

#[path = "../../electrum/tests/common/fixture.rs"]
mod fixture;

use std::{
    collections::{HashMap, HashSet},
    net::{IpAddr, Ipv4Addr},
    sync::Arc,
    time::Instant,
};

use chain::bitcoin::{Block, Branch, Change, Importer, Observer, Origin};
use electrum::{Limits, Service, Settings};
use fixture::Fixture;
use serde_json::{Value, json};
use spv::bitcoin::{MerkleBlock, display, root_of_path};
use turnpike_esplora::{Api, Reply};

const TIP: u32 = 14_131;
const LOCAL: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const STRANGER: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
/// Block 170 and its second transaction: the first payment from one person to another.
const BLOCK: &str = "00000000d1145790a8694403d4063f323d499e655c83426834d4ce2f8dd4a2ee";
const PAYMENT: &str = "f4184fc596403b9d638783cf57adfe4c75c605f6356fbc91338530e9831e9e16";
/// The address that is paid most often in these blocks, and the hash of its script.
const BUSIEST: &str = "12higDjoCCNXSA95xZMWUdPvXNmkAduhWv";
const BUSIEST_SCRIPT: &str = "2c1129c635b418e96d7143afcb380fc016446b52d787041293a353e039d01ed7";

impl Fixture {
    fn client(&self, limits: Limits) -> Client {
        let cache = self.cache();
        let settings = Settings { limits, ..Settings::default() };
        let service = Service::new(self.chain.clone(), Some(Arc::clone(&cache)), settings).unwrap();
        let service = Arc::new(service);
        Client { api: Api::new(Arc::clone(&service)), service, cache, address: LOCAL }
    }
}

struct Client {
    api: Api,
    service: Arc<Service>,
    cache: Arc<proof::Cache>,
    address: IpAddr,
}

impl Client {
    fn get(&self, path: &str) -> Reply {
        self.api.answer(path, None, self.address, Instant::now())
    }

    fn good(&self, path: &str, kind: &str) -> Vec<u8> {
        let reply = self.get(path);
        let text = String::from_utf8_lossy(&reply.body);
        assert_eq!((reply.status, reply.kind), ("200 OK", kind), "{path}: {text}");
        assert!(reply.max_age.is_some());
        reply.body
    }

    fn text(&self, path: &str) -> String {
        String::from_utf8(self.good(path, "text/plain")).unwrap()
    }

    /// The JSON text itself, to check the order of the fields.
    fn written(&self, path: &str) -> String {
        String::from_utf8(self.good(path, "application/json")).unwrap()
    }

    fn json(&self, path: &str) -> Value {
        serde_json::from_str(&self.written(path)).unwrap()
    }

    fn fail(&self, path: &str) -> (String, String) {
        let reply = self.get(path);
        assert_eq!((reply.kind, reply.max_age), ("text/plain", None), "{path}");
        let status = reply.status.split(' ').next().unwrap().to_owned();
        (status, String::from_utf8(reply.body).unwrap())
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

fn hash(text: &Value) -> [u8; 32] {
    let mut hash: [u8; 32] = bytes(text.as_str().unwrap()).try_into().unwrap();
    hash.reverse();
    hash
}

#[test]
fn esplora_over_real_blocks() {
    let Some(fixture) = Fixture::new(TIP as usize + 1) else { return };
    let client = fixture.client(Limits::default());
    blocks(&fixture, &client);
    payment(&client);
    all_transactions(&fixture, &client);
    busiest_address(&client);
    errors(&client);
    limits(&fixture);
}

fn blocks(fixture: &Fixture, client: &Client) {
    assert_eq!(client.text("/blocks/tip/height"), TIP.to_string());
    assert_eq!(client.text("/blocks/tip/hash"), client.text(&format!("/block-height/{TIP}")));
    assert_eq!(client.text("/block-height/170"), BLOCK);
    // As blockstream.info shows it.
    let expected = concat!(
        r#"{"id":"00000000d1145790a8694403d4063f323d499e655c83426834d4ce2f8dd4a2ee","height":170,"version":1,"#,
        r#""timestamp":1231731025,"tx_count":2,"size":490,"weight":1960,"#,
        r#""merkle_root":"7dac2c5666815c17a3b36427de37bb9d2e2c5ccec3f8633eb91a4205cb4c10ff","#,
        r#""previousblockhash":"000000002a22cfee1f2c846adbd12b3e183d4f97683f85dad08a79780a84bd55","#,
        r#""mediantime":1231728145,"nonce":1889418792,"bits":486604799,"difficulty":1.0}"#
    );
    let found = client.written(&format!("/block/{BLOCK}"));
    // The median is checked separately below.
    let until = |text: &str| text.split(r#""mediantime""#).next().unwrap().to_owned();
    let behind = |text: &str| text.split(r#","nonce""#).nth(1).unwrap().to_owned();
    assert_eq!((until(&found), behind(&found)), (until(expected), behind(expected)));
    let mut times: Vec<u32> =
        fixture.blocks[160..=170].iter().map(|block| u32::from_le_bytes(block[68..72].try_into().unwrap())).collect();
    times.sort_unstable();
    assert_eq!(client.json(&format!("/block/{BLOCK}"))["mediantime"], times[5]);
    let genesis = client.text("/block-height/0");
    let first = client.json(&format!("/block/{genesis}"));
    assert_eq!((&first["previousblockhash"], &first["mediantime"]), (&Value::Null, &json!(1_231_006_505)));
    let next = client.text("/block-height/171");
    let status = format!(r#"{{"in_best_chain":true,"height":170,"next_best":"{next}"}}"#);
    assert_eq!(client.written(&format!("/block/{BLOCK}/status")), status);
    let tip = client.text("/blocks/tip/hash");
    assert_eq!(client.json(&format!("/block/{tip}/status"))["next_best"], Value::Null);
    let unknown = json!({"in_best_chain": false, "height": null, "next_best": null});
    assert_eq!(client.json(&format!("/block/{PAYMENT}/status")), unknown);
    let raw = client.good(&format!("/block/{BLOCK}/raw"), "application/octet-stream");
    assert_eq!(raw, fixture.blocks[170]);
    assert_eq!(client.text(&format!("/block/{BLOCK}/header")), hex(&raw[..80]));
    let ids = client.json(&format!("/block/{BLOCK}/txids"));
    assert_eq!((ids.as_array().unwrap().len(), &ids[1]), (2, &json!(PAYMENT)));
    assert_eq!(client.text(&format!("/block/{BLOCK}/txid/1")), PAYMENT);
    let page = client.json(&format!("/block/{BLOCK}/txs"));
    assert_eq!((page.as_array().unwrap().len(), &page[1]["txid"]), (2, &json!(PAYMENT)));
    let newest = client.json("/blocks");
    let heights = |list: &Value| -> Vec<u64> {
        list.as_array().unwrap().iter().map(|block| block["height"].as_u64().unwrap()).collect()
    };
    assert_eq!(heights(&newest), (0..10).map(|n| u64::from(TIP) - n).collect::<Vec<_>>());
    assert_eq!(heights(&client.json("/blocks/3")), [3, 2, 1, 0]);
}

fn payment(client: &Client) {
    // As blockstream.info shows it, to the last character.
    let expected = concat!(
        r#"{"txid":"f4184fc596403b9d638783cf57adfe4c75c605f6356fbc91338530e9831e9e16","version":1,"locktime":0,"#,
        r#""vin":[{"txid":"0437cd7f8525ceed2324359c2d0ba26006d92d856a9c20fa0241106ee5a597c9","vout":0,"#,
        r#""prevout":{"scriptpubkey":"410411db93e1dcdb8a016b49840f8c53bc1eb68a382e97b1482ecad7b148a6909a5cb2e0eaddfb84ccf9744464f"#,
        r#"82e160bfa9b8b64f9d4c03f999b8643f656b412a3ac","#,
        r#""scriptpubkey_asm":"OP_PUSHBYTES_65 0411db93e1dcdb8a016b49840f8c53bc1eb68a382e97b1482ecad7b148a6909a5cb2e0eaddfb84ccf974"#,
        r#"4464f82e160bfa9b8b64f9d4c03f999b8643f656b412a3 OP_CHECKSIG","scriptpubkey_type":"p2pk","value":5000000000},"#,
        r#""scriptsig":"47304402204e45e16932b8af514961a1d3a1a25fdf3f4f7732e9d624c6c61548ab5fb8cd410220181522ec8eca07de4860a4acdd12"#,
        r#"909d831cc56cbbac4622082221a8768d1d0901","#,
        r#""scriptsig_asm":"OP_PUSHBYTES_71 304402204e45e16932b8af514961a1d3a1a25fdf3f4f7732e9d624c6c61548ab5fb8cd410220181522ec8eca"#,
        r#"07de4860a4acdd12909d831cc56cbbac4622082221a8768d1d0901","is_coinbase":false,"sequence":4294967295}],"#,
        r#""vout":[{"scriptpubkey":"4104ae1a62fe09c5f51b13905f07f06b99a2f7159b2225f374cd378d71302fa28414e7aab37397f554a7df5f142c21c"#,
        r#"1b7303b8a0626f1baded5c72a704f7e6cd84cac","#,
        r#""scriptpubkey_asm":"OP_PUSHBYTES_65 04ae1a62fe09c5f51b13905f07f06b99a2f7159b2225f374cd378d71302fa28414e7aab37397f554a7df"#,
        r#"5f142c21c1b7303b8a0626f1baded5c72a704f7e6cd84c OP_CHECKSIG","scriptpubkey_type":"p2pk","value":1000000000},"#,
        r#"{"scriptpubkey":"410411db93e1dcdb8a016b49840f8c53bc1eb68a382e97b1482ecad7b148a6909a5cb2e0eaddfb84ccf9744464f82e160bfa9b"#,
        r#"8b64f9d4c03f999b8643f656b412a3ac","#,
        r#""scriptpubkey_asm":"OP_PUSHBYTES_65 0411db93e1dcdb8a016b49840f8c53bc1eb68a382e97b1482ecad7b148a6909a5cb2e0eaddfb84ccf974"#,
        r#"4464f82e160bfa9b8b64f9d4c03f999b8643f656b412a3 OP_CHECKSIG","scriptpubkey_type":"p2pk","value":4000000000}],"#,
        r#""size":275,"weight":1100,"fee":0,"status":{"confirmed":true,"block_height":170,"#,
        r#""block_hash":"00000000d1145790a8694403d4063f323d499e655c83426834d4ce2f8dd4a2ee","block_time":1231731025}}"#
    );
    assert_eq!(client.written(&format!("/tx/{PAYMENT}")), expected);
    let status = client.json(&format!("/tx/{PAYMENT}/status"));
    assert_eq!(
        status,
        json!({"confirmed": true, "block_height": 170, "block_hash": BLOCK, "block_time": 1_231_731_025})
    );
    assert_eq!(client.written(&format!("/tx/{BLOCK}/status")), r#"{"confirmed":false}"#);
    let raw = client.good(&format!("/tx/{PAYMENT}/raw"), "application/octet-stream");
    assert_eq!(client.text(&format!("/tx/{PAYMENT}/hex")), hex(&raw));
    let spends = client.json(&format!("/tx/{PAYMENT}/outspends"));
    assert_eq!(spends.as_array().unwrap().len(), 2);
    for (n, spend) in spends.as_array().unwrap().iter().enumerate() {
        assert_eq!(&client.json(&format!("/tx/{PAYMENT}/outspend/{n}")), spend);
    }
    // The change was spent at height 181.
    assert_eq!((&spends[1]["spent"], &spends[1]["vin"]), (&json!(true), &json!(0)));
    assert_eq!(spends[1]["status"]["block_height"], 181);
    assert_eq!(client.written(&format!("/tx/{PAYMENT}/outspend/9")), r#"{"spent":false}"#);
    let coinbase = client.text(&format!("/block/{BLOCK}/txid/0"));
    let coinbase = client.json(&format!("/tx/{coinbase}"));
    let input = &coinbase["vin"][0];
    assert_eq!((&input["is_coinbase"], &input["prevout"], &coinbase["fee"]), (&json!(true), &Value::Null, &json!(0)));
}

/// Each transaction of the blocks that have more than one: its JSON, its paths, its spenders.
fn all_transactions(fixture: &Fixture, client: &Client) {
    let blocks = fixture.blocks.iter().zip(0_u32..).filter(|(block, _)| block[80] > 1);
    let mut seen = 0;
    for (bytes_of_block, height) in blocks {
        let block = Block::parse(bytes_of_block).unwrap();
        let root = block.header().merkle_root;
        let count = block.transactions().len() as u32;
        for (transaction, position) in block.transactions().iter().zip(0..) {
            let leaf = transaction.hash();
            let id = display(&leaf);
            let value = client.json(&format!("/tx/{id}"));
            let sum = |list: &Value, of: &dyn Fn(&Value) -> Option<u64>| -> u64 {
                list.as_array().unwrap().iter().filter_map(of).sum()
            };
            let spent = sum(&value["vin"], &|input| input["prevout"]["value"].as_u64());
            let paid = sum(&value["vout"], &|output| output["value"].as_u64());
            assert_eq!(value["fee"].as_u64(), Some(if position == 0 { 0 } else { spent - paid }));
            assert_eq!(value["vin"].as_array().unwrap().len(), transaction.inputs().count());
            assert_eq!(value["status"]["block_height"], height);
            for (output, real) in value["vout"].as_array().unwrap().iter().zip(transaction.outputs()) {
                assert_eq!(output["scriptpubkey"], hex(real.script));
                assert_eq!(output["value"], real.amount);
            }
            for input in value["vin"].as_array().unwrap().iter().filter(|input| input["is_coinbase"] == false) {
                let funder = input["txid"].as_str().unwrap();
                let spend = client.json(&format!("/tx/{funder}/outspend/{}", input["vout"]));
                assert_eq!(spend["txid"], id.to_string());
            }
            let proven = client.json(&format!("/tx/{id}/merkle-proof"));
            let path: Vec<_> = proven["merkle"].as_array().unwrap().iter().map(hash).collect();
            assert_eq!((&proven["block_height"], &proven["pos"]), (&json!(height), &json!(position)));
            assert_eq!(root_of_path(&leaf, position, count, &path), Ok(root));
            let encoded = bytes(&client.text(&format!("/tx/{id}/merkleblock-proof")));
            let merkle_block = MerkleBlock::parse(&encoded).unwrap();
            assert_eq!(merkle_block.header(), block.header());
            let found = merkle_block.verify().unwrap();
            assert_eq!((found.len(), found[0].hash, found[0].position), (1, leaf, position));
            seen += 1;
        }
    }
    assert!(seen > 200, "{seen}");
    // The second of the two paths came from the cache.
    assert!(client.cache.counters().hits >= seen);
}

fn busiest_address(client: &Client) {
    let value = client.json(&format!("/address/{BUSIEST}"));
    let none =
        json!({"funded_txo_count": 0, "funded_txo_sum": 0, "spent_txo_count": 0, "spent_txo_sum": 0, "tx_count": 0});
    assert_eq!((&value["address"], &value["mempool_stats"]), (&json!(BUSIEST), &none));
    let stats = &value["chain_stats"];
    assert_eq!(stats["tx_count"], 21);
    let left = stats["funded_txo_sum"].as_u64().unwrap() - stats["spent_txo_sum"].as_u64().unwrap();
    assert_eq!(left, 2_317_533_000_000);
    let by_hash = client.json(&format!("/scripthash/{BUSIEST_SCRIPT}"));
    assert_eq!((&by_hash["scripthash"], &by_hash["chain_stats"]), (&json!(BUSIEST_SCRIPT), stats));
    let history = client.json(&format!("/address/{BUSIEST}/txs"));
    let history = history.as_array().unwrap();
    assert_eq!(history.len(), 21);
    assert_eq!(
        (&history[0]["status"]["block_height"], &history[20]["status"]["block_height"]),
        (&json!(13_443), &json!(728))
    );
    assert!(history.iter().all(|transaction| transaction.to_string().contains(BUSIEST)));
    let behind =
        client.json(&format!("/scripthash/{BUSIEST_SCRIPT}/txs/chain/{}", history[4]["txid"].as_str().unwrap()));
    assert_eq!(behind.as_array().unwrap()[..], history[5..]);
    assert_eq!(client.json(&format!("/address/{BUSIEST}/txs/chain/{PAYMENT}")), json!([]));
    assert_eq!(client.json(&format!("/address/{BUSIEST}/txs/chain/{}", "0".repeat(64))), json!([]));
    assert_eq!(client.json(&format!("/address/{BUSIEST}/txs/mempool")), json!([]));
    let unspent = client.json(&format!("/address/{BUSIEST}/utxo"));
    let sum: u64 = unspent.as_array().unwrap().iter().map(|output| output["value"].as_u64().unwrap()).sum();
    assert_eq!(sum, 2_317_533_000_000);
    // A long history comes in pages, each transaction once.
    let script = hex(&chain::bitcoin::script_hash(&bytes(
        "410411db93e1dcdb8a016b49840f8c53bc1eb68a382e97b1482ecad7b148a6909a5cb2e0eaddfb84ccf9744464f82e160bfa9b8b64f9d4c03f999b8643f656b412a3ac",
    )));
    let total = client.json(&format!("/scripthash/{script}"))["chain_stats"]["tx_count"].as_u64().unwrap();
    let (mut seen, mut path) = (HashSet::new(), format!("/scripthash/{script}/txs"));
    loop {
        let page = client.json(&path);
        let page = page.as_array().unwrap();
        assert!(page.iter().all(|transaction| seen.insert(transaction["txid"].as_str().unwrap().to_owned())));
        if page.len() < 25 {
            break;
        }
        path = format!("/scripthash/{script}/txs/chain/{}", page[24]["txid"].as_str().unwrap());
    }
    assert_eq!(seen.len() as u64, total);
    let nobody = format!("/scripthash/{}", "0".repeat(64));
    assert_eq!(client.json(&nobody)["chain_stats"], none);
    assert_eq!(client.json(&(nobody + "/txs")), json!([]));
}

fn errors(client: &Client) {
    let none = "0".repeat(64);
    for (path, status, text) in [
        (format!("/tx/{none}"), "404", "Transaction not found"),
        (format!("/tx/{none}/raw"), "404", "Transaction not found"),
        (format!("/tx/{none}/outspends"), "404", "Transaction not found"),
        (format!("/tx/{none}/merkle-proof"), "404", "Transaction not found or is unconfirmed"),
        (format!("/tx/{none}/merkleblock-proof"), "404", "Transaction not found or is unconfirmed"),
        (format!("/tx/{none}/witness-merkle-proof"), "404", "Transaction not found or is unconfirmed"),
        (format!("/tx/{PAYMENT}/witness-merkle-proof"), "404", "The block commits to no witnesses"),
        (format!("/block/{none}"), "404", "Block not found"),
        (format!("/block/{none}/txids"), "404", "Block not found"),
        (format!("/block-height/{}", TIP + 1), "404", "Block not found"),
        ("/block-height/99999999999".into(), "404", "Block not found"),
        ("/blocks/99999".into(), "404", "Block not found"),
        (format!("/block/{BLOCK}/txid/2"), "404", "tx index out of range"),
        (format!("/block/{BLOCK}/txs/7"), "400", "start index must be a multiple of 25"),
        (format!("/block/{BLOCK}/txs/25"), "400", "start index out of range"),
        ("/block-height/one".into(), "400", "Invalid number"),
        (format!("/tx/{PAYMENT}/outspend/-1"), "400", "Invalid number"),
        ("/tx/abc".into(), "400", "Invalid hex string"),
        (format!("/block/{}", "g".repeat(64)), "400", "Invalid hex string"),
        ("/scripthash/abc/txs".into(), "400", "Invalid scripthash"),
        ("/address/mipcBbFg9gMiCh81Kj8tqqdgoZub1ZJRfn".into(), "400", "Address on invalid network"),
        ("/address-prefix/1".into(), "400", "address search disabled"),
        ("/nothing".into(), "404", "endpoint does not exist \"/nothing\""),
        (format!("/tx/{PAYMENT}/colour"), "404", ""),
        ("".into(), "404", "endpoint does not exist \"\""),
    ] {
        let (found, message) = client.fail(&path);
        assert_eq!(found, status, "{path}: {message}");
        assert!(text.is_empty() || message == text, "{path}: {message}");
    }
    assert_eq!(client.fail("/address/nonsense").0, "400");
    assert_eq!(client.json("/mempool"), json!({"count": 0, "vsize": 0, "total_fee": 0, "fee_histogram": []}));
    assert_eq!((client.json("/mempool/txids"), client.json("/fee-estimates")), (json!([]), json!({})));
}

/// What the blocks say about each script: transactions, and outputs and spent outputs with their values.
#[derive(Default)]
struct Model {
    outputs: HashMap<[u8; 36], ([u8; 32], u64)>,
    sums: HashMap<[u8; 32], [u64; 5]>,
}

impl Model {
    fn add(&mut self, bytes: &[u8]) {
        for transaction in Block::parse(bytes).unwrap().transactions() {
            let mut touched = HashSet::new();
            for input in transaction.inputs() {
                let Some((script, amount)) = self.outputs.remove(input.outpoint) else { continue };
                let sums = self.sums.get_mut(&script).unwrap();
                (sums[2], sums[3]) = (sums[2] + 1, sums[3] + amount);
                touched.insert(script);
            }
            for (output, number) in transaction.outputs().zip(0_u32..) {
                let script = chain::bitcoin::script_hash(output.script);
                let outpoint = [&transaction.hash()[..], &number.to_le_bytes()].concat().try_into().unwrap();
                self.outputs.insert(outpoint, (script, output.amount));
                let sums = self.sums.entry(script).or_default();
                (sums[0], sums[1]) = (sums[0] + 1, sums[1] + output.amount);
                touched.insert(script);
            }
            touched.iter().for_each(|script| self.sums.get_mut(script).unwrap()[4] += 1);
        }
    }
}

#[derive(Default)]
struct Seen(Vec<Change>);

impl Observer for Seen {
    fn changed(&mut self, change: &Change) {
        self.0.push(change.clone());
    }
}

#[test]
fn sums_grow_with_the_chain() {
    const FIRST: usize = 171;
    let Some(fixture) = Fixture::new(FIRST) else { return };
    let client = fixture.client(Limits::default());
    let mut model = Model::default();
    fixture.blocks[1..FIRST].iter().for_each(|block| model.add(block));
    let agree = |model: &Model| {
        for (script, [funded, paid, spent, left, transactions]) in &model.sums {
            let found = client.json(&format!("/scripthash/{}", hex(script)));
            let expected = json!({
                "funded_txo_count": funded, "funded_txo_sum": paid, "spent_txo_count": spent, "spent_txo_sum": left,
                "tx_count": transactions,
            });
            assert_eq!(found["chain_stats"], expected, "{}", hex(script));
        }
    };
    agree(&model);
    // Sums that were asked for before are only added to. Block 181 spends from block 170, and so on.
    for blocks in fixture.blocks[FIRST..500].chunks(11) {
        let mut importer = Importer::new(&fixture.chain, Seen::default()).unwrap();
        for block in blocks {
            importer.add(block, &Origin::File { path: "blocks".into(), offset: 0 }).unwrap();
            model.add(block);
        }
        importer.commit().unwrap();
        client.service.follow(
            Branch::load(fixture.chain.view()).unwrap().unwrap(),
            &importer.observer().0,
            electrum::Update::default(),
        );
        agree(&model);
        agree(&model);
    }
    assert!(model.sums.values().any(|sums| sums[2] > 0));
}

/// A prefix has a budget of work per second; a trusted address has none. Replies that are too long are refused.
fn limits(fixture: &Fixture) {
    let limits = Limits { prefix_cost: 1000, reply: 2000, ..Limits::default() };
    let mut client = fixture.client(limits);
    let page = format!("/address/{BUSIEST}/txs");
    assert!((0..100).all(|_| client.get(&page).status == "200 OK"));
    client.address = STRANGER;
    assert!(client.fail(&page).1.contains("more than 2000 bytes"));
    let now = Instant::now();
    let refused = (0..1000).map(|_| client.api.answer("/blocks/tip/hash", None, STRANGER, now));
    let refused = refused.filter(|reply| reply.status == "429 Too Many Requests").count();
    assert!(refused > 500, "{refused}");
}
