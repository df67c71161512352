//! The protocol over mainnet's first 14,132 blocks: every method in every version, checked against the blocks
//! themselves.
#![allow(clippy::unwrap_used)]

mod common;

use std::sync::Arc;

use chain::bitcoin::{Block, Branch, Change, Importer, Observer, Origin};
use common::{Client, Fixture, STRANGER, bytes, hash, hex, script_hash};
use proof::Source;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use spv::bitcoin::{BlockHeader, root_of_path, sha256d};
use turnpike_electrum::{Error, Limits, NextStep, Service, Settings, Update};
use wire::Query;

/// The public key hash of the address with most payments in these blocks, `12higDjoCCNXSA95xZMWUdPvXNmkAduhWv`.
const BUSIEST: &str = "76a91412ab8dc588ca9d5787dde7eb29569da63c3a238c88ac";
const TIP: u32 = 14_131;

/// The text that a status is the SHA-256 of.
fn status_of(history: &Value) -> String {
    let lines = history.as_array().unwrap().iter();
    let text: String = lines.map(|line| format!("{}:{}:", line["tx_hash"].as_str().unwrap(), line["height"])).collect();
    hex(&Sha256::digest(text.as_bytes()))
}

#[test]
fn all_methods_over_real_blocks() {
    let Some(fixture) = Fixture::new(TIP as usize + 1) else { return };
    let service = fixture.service(Settings { banner: "hello \"you\"".into(), ..Settings::default() });
    headers(&fixture, &service);
    busiest_address(&service);
    transactions(&fixture, &service);
    outpoints(&fixture, &service);
    texts_and_fees(&service);
    errors(&service);
}

fn headers(fixture: &Fixture, service: &Arc<Service>) {
    let mut client = Client::speaking(service, "1.4");
    let tip = client.ask("blockchain.headers.subscribe", json!([]));
    assert_eq!(tip, json!({"height": TIP, "hex": hex(&fixture.blocks[TIP as usize][..80])}));
    assert_eq!(client.ask("blockchain.headers.subscribe", json!([false])), tip);
    for height in [0, 1, 5000, TIP] {
        let header = client.ask("blockchain.block.header", json!([height]));
        assert_eq!(bytes(&header), fixture.blocks[height as usize][..80]);
        for checkpoint in [height.max(1), height + 1, TIP].map(|height| height.min(TIP)) {
            let proved = client.ask("blockchain.block.header", json!({"height": height, "cp_height": checkpoint}));
            assert_eq!(proved["header"], header);
            let leaf = BlockHeader::parse(&bytes(&header)).unwrap().hash();
            let branch: Vec<_> = proved["branch"].as_array().unwrap().iter().map(hash).collect();
            assert_eq!(root_of_path(&leaf, height, checkpoint + 1, &branch), Ok(hash(&proved["root"])));
        }
    }
    let chunk = client.ask("blockchain.block.headers", json!([2016, 5000]));
    assert_eq!((&chunk["count"], &chunk["max"]), (&json!(2016), &json!(2016)));
    let expected: Vec<u8> = fixture.blocks[2016..4032].iter().flat_map(|block| block[..80].to_vec()).collect();
    assert_eq!(bytes(&chunk["hex"]), expected);
    let end = client.ask("blockchain.block.headers", json!([TIP, 10, TIP]));
    assert_eq!((&end["count"], end["branch"].as_array().unwrap().len()), (&json!(1), 14));
    assert_eq!(client.ask("blockchain.block.headers", json!([TIP + 1, 10]))["hex"], "");
    let mut client = Client::speaking(service, "1.6");
    let chunk = client.ask("blockchain.block.headers", json!([100, 3]));
    let expected: Vec<String> = fixture.blocks[100..103].iter().map(|block| hex(&block[..80])).collect();
    assert_eq!((&chunk["headers"], chunk.get("hex")), (&json!(expected), None));
    assert_eq!(client.ask("blockchain.block.headers", json!([99_999, 3]))["headers"], json!([]));
}

fn busiest_address(service: &Arc<Service>) {
    let script = bytes(&json!(BUSIEST));
    let asked = json!([script_hash(&script)]);
    let mut client = Client::speaking(service, "1.4.2");
    let history = client.ask("blockchain.scripthash.get_history", asked.clone());
    assert_eq!(history.as_array().unwrap().len(), 21);
    assert_eq!((&history[0]["height"], &history[20]["height"]), (&json!(728), &json!(13_443)));
    let balance = client.ask("blockchain.scripthash.get_balance", asked.clone());
    assert_eq!(balance, json!({"confirmed": 2_317_533_000_000_u64, "unconfirmed": 0}));
    let unspent = client.ask("blockchain.scripthash.listunspent", asked.clone());
    let sum: u64 = unspent.as_array().unwrap().iter().map(|output| output["value"].as_u64().unwrap()).sum();
    assert_eq!(sum, 2_317_533_000_000);
    assert_eq!(client.ask("blockchain.scripthash.get_mempool", asked.clone()), json!([]));
    // Once cold, and once from the cache.
    for _ in 0..2 {
        assert_eq!(client.ask("blockchain.scripthash.subscribe", asked.clone()), status_of(&history));
    }
    assert_eq!(service.shares().subscriptions(), 1);
    assert_eq!(client.ask("blockchain.scripthash.unsubscribe", asked.clone()), true);
    assert_eq!(client.ask("blockchain.scripthash.unsubscribe", asked.clone()), false);
    assert_eq!(service.shares().subscriptions(), 0);
    let nobody = json!(["00".repeat(32)]);
    assert_eq!(client.ask("blockchain.scripthash.subscribe", nobody.clone()), Value::Null);
    assert_eq!(client.ask("blockchain.scripthash.get_history", nobody), json!([]));

    let mut client = Client::speaking(service, "1.7");
    let asked = json!([BUSIEST]);
    assert_eq!(client.ask("blockchain.scriptpubkey.get_history", asked.clone()), json!({"history": history}));
    assert_eq!(client.ask("blockchain.scriptpubkey.listunspent", asked.clone()), json!({"utxos": unspent}));
    assert_eq!(client.ask("blockchain.scriptpubkey.get_mempool", asked.clone()), json!({"history": []}));
    assert_eq!(client.ask("blockchain.scriptpubkey.get_balance", asked.clone()), balance);
    assert_eq!(client.ask("blockchain.scriptpubkey.subscribe", asked.clone()), status_of(&history));
    assert_eq!(client.ask("blockchain.scriptpubkey.unsubscribe", asked), true);
    // Genesis has no spendable output.
    let genesis = fixture_script(service);
    assert_eq!(client.ask("blockchain.scriptpubkey.get_history", json!([genesis])), json!({"history": []}));
}

/// The script of genesis's output, from the raw transaction.
fn fixture_script(service: &Arc<Service>) -> String {
    let mut client = Client::speaking(service, "1.4");
    let id = client.ask("blockchain.transaction.id_from_pos", json!([0, 0]));
    let raw = client.ask("blockchain.transaction.get", json!([id]));
    let raw = raw.as_str().unwrap().to_owned();
    // After the script are four bytes of lock time; before it is its length, 67.
    raw[raw.len() - 8 - 134..raw.len() - 8].to_owned()
}

fn transactions(fixture: &Fixture, service: &Arc<Service>) {
    let [mut client, mut newest] = ["1.4", "1.8"].map(|version| Client::speaking(service, version));
    // Twice: proved, and from the cache.
    for height in [0, 170, 728, 2812, 9535, 13_443].repeat(2) {
        let block = Block::parse(&fixture.blocks[height]).unwrap();
        let count = block.transactions().len() as u32;
        for (position, transaction) in (0..).zip(block.transactions()) {
            let leaf = transaction.hash();
            let mut reversed = leaf;
            reversed.reverse();
            let id = hex(&reversed);
            let raw = bytes(&client.ask("blockchain.transaction.get", json!([id, false])));
            assert_eq!(sha256d(&[&raw]), leaf);
            let proved = client.ask("blockchain.transaction.get_merkle", json!([id, height]));
            assert_eq!((&proved["pos"], &proved["block_height"]), (&json!(position), &json!(height)));
            let path: Vec<_> = proved["merkle"].as_array().unwrap().iter().map(hash).collect();
            assert_eq!(root_of_path(&leaf, position, count, &path), Ok(block.header().merkle_root));
            // These blocks predate witnesses, so the path is the same, with the coinbase's in addition.
            let witness = newest.ask("blockchain.transaction.get_merkle_witness", json!([id]));
            assert_eq!(witness, newest.ask("blockchain.transaction.get_merkle_witness", json!([id, height])));
            let Value::Object(mut witness) = witness else { panic!("{witness}") };
            let coinbase = sha256d(&[&bytes(&witness.remove("cb_tx").unwrap())]);
            let cb_proof = witness.remove("cb_proof").unwrap();
            let coinbase_path: Vec<_> = cb_proof.as_array().unwrap().iter().map(hash).collect();
            assert_eq!(root_of_path(&coinbase, 0, count, &coinbase_path), Ok(block.header().merkle_root));
            assert_eq!((witness.remove("wtxid"), witness.remove("block_hash").is_some()), (Some(json!(id)), true));
            assert_eq!(Value::Object(witness), proved);
            let by_place = client.ask("blockchain.transaction.id_from_pos", json!([height, position, true]));
            assert_eq!(by_place, json!({"tx_hash": id, "merkle": proved["merkle"]}));
            assert_eq!(client.ask("blockchain.transaction.id_from_pos", json!([height, position])), id);
        }
    }
}

/// The first payment of all: Satoshi's coinbase of block 9, spent in block 170.
fn outpoints(fixture: &Fixture, service: &Arc<Service>) {
    let block = Block::parse(&fixture.blocks[170]).unwrap();
    let spender = &block.transactions()[1];
    let input = spender.inputs().next().unwrap();
    let display = |hash: &[u8]| hex(&hash.iter().rev().copied().collect::<Vec<_>>());
    let (funder, spender) = (display(&input.outpoint[..32]), display(&spender.hash()));
    let mut client = Client::speaking(service, "1.7");
    let status = json!({"funder_height": 9, "spender_txhash": spender, "spender_height": 170});
    assert_eq!(client.ask("blockchain.outpoint.get_status", json!([funder, 0, ""])), status);
    assert_eq!(client.ask("blockchain.outpoint.subscribe", json!([funder, 0, "00"])), status);
    assert_eq!(client.ask("blockchain.outpoint.get_status", json!([funder, 1, ""])), json!({}));
    assert_eq!(client.ask("blockchain.outpoint.get_status", json!(["11".repeat(32), 0, ""])), json!({}));
    assert_eq!(client.ask("blockchain.outpoint.unsubscribe", json!([funder, 0])), true);
    assert_eq!(client.ask("blockchain.outpoint.unsubscribe", json!([funder, 0])), false);
    // Its change is spent in block 181.
    let status = client.ask("blockchain.outpoint.get_status", json!([spender, 1, ""]));
    assert_eq!((&status["funder_height"], &status["spender_height"]), (&json!(170), &json!(181)));
}

fn texts_and_fees(service: &Arc<Service>) {
    for version in ["1.4", "1.4.2", "1.6", "1.7", "1.8"] {
        let mut client = Client::speaking(service, version);
        let features = client.ask("server.features", json!([]));
        let genesis = "000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f";
        assert_eq!((&features["genesis_hash"], &features["protocol_max"]), (&json!(genesis), &json!("1.8")));
        assert_eq!(features.get("hash_function").is_some(), version < "1.7");
        assert_eq!(client.ask("server.banner", json!([])), "hello \"you\"");
        assert_eq!(client.ask("server.donation_address", json!([])), "");
        assert_eq!(client.ask("server.peers.subscribe", json!([])), json!([]));
        assert_eq!(client.ask("server.add_peer", json!([{"hosts": {}}])), false);
        assert_eq!(client.ask("blockchain.estimatefee", json!([6])), -1);
        assert_eq!(client.ask("blockchain.estimatefee", json!([6, "economical"])), -1);
        assert_eq!(client.ask("mempool.get_fee_histogram", json!([])), json!([]));
        let unknown = |method: &str| (-32601, format!("unknown method \"{method}\""));
        if version < "1.6" {
            assert_eq!(client.ask("blockchain.relayfee", json!([])), 0.00001);
            assert_eq!(client.fail("mempool.get_info", json!([])), unknown("mempool.get_info"));
        } else {
            assert_eq!(client.ask("mempool.get_info", json!([]))["minrelaytxfee"], 0.00001);
            assert_eq!(client.fail("blockchain.relayfee", json!([])), unknown("blockchain.relayfee"));
        }
        let unsubscribe = "blockchain.scripthash.unsubscribe";
        if ["1.4", "1.7", "1.8"].contains(&version) {
            assert_eq!(client.fail(unsubscribe, json!(["00".repeat(32)])), unknown(unsubscribe));
        }
        if version >= "1.7" {
            assert_eq!(client.ask("server.ping", json!([5, "abc"])), json!({"data": "00000"}));
            assert_eq!(client.fail("server.ping", json!([100_000_000])).0, 1);
            assert_eq!(client.ask("mempool.recent", json!([])), json!([]));
        } else {
            assert_eq!(client.ask("server.ping", json!([])), Value::Null);
        }
        assert_eq!(client.fail("blockchain.transaction.broadcast", json!(["00"])).0, 1);
    }
}

fn errors(service: &Arc<Service>) {
    let mut client = Client::speaking(service, "1.4");
    let one = "blockchain.scripthash.get_balance";
    let id = "11".repeat(32);
    for (method, parameters, code, text) in [
        (one, json!(["abc"]), 1, "abc is not a valid script hash"),
        (one, json!([]), -32602, "0 arguments passed to method"),
        (one, json!([1, 2]), -32602, "2 arguments passed to method"),
        ("blockchain.block.header", json!([-1]), 1, "-1 should be a non-negative integer"),
        ("blockchain.block.header", json!([14_132]), 1, "height 14,132 out of range"),
        (
            "blockchain.block.header",
            json!([5, 14_132]),
            1,
            "require header height 5 <= cp_height 14,132 <= chain height 14,131",
        ),
        ("blockchain.transaction.get", json!([id]), 2, "No such mempool or blockchain transaction"),
        ("blockchain.transaction.get", json!(["11"]), 1, "11 should be a transaction hash"),
        ("blockchain.transaction.get_merkle", json!([id, 5]), 1, "not in block at height 5"),
        ("blockchain.transaction.get_merkle", json!([id, 20_000]), 1, "height 20,000 out of range"),
        ("blockchain.transaction.get_merkle_witness", json!([id]), -32601, "unknown method"),
        ("blockchain.transaction.id_from_pos", json!([5, 1]), 1, "no tx at position 1 in block at height 5"),
        ("blockchain.transaction.id_from_pos", json!([5, 1, true]), 1, "no tx at position 1 in block at height 5"),
        ("blockchain.transaction.id_from_pos", json!([20_000, 1]), 1, "block 20,000 not on disk (>14,131)"),
        ("blockchain.transaction.id_from_pos", json!([5, 0, 7]), 1, "\"merkle\" must be a boolean"),
        ("blockchain.estimatefee", json!([6, "x"]), 1, "unknown estimatefee mode: X"),
        ("server.version", json!([]), 1, "server.version already sent"),
        ("nothing", json!([]), -32601, "unknown method \"nothing\""),
    ] {
        let (found, message) = client.fail(method, parameters.clone());
        assert!(found == code && message.contains(text), "{method} {parameters}: {found} {message}");
    }
    // The version must come first, and an unsupported one ends the session.
    let mut client = Client::new(service, STRANGER);
    let (replies, next) = client.send("{\"id\":1,\"method\":\"server.ping\"}\n{\"id\":2,\"method\":\"server.ping\"}\n");
    assert_eq!((replies.len(), next), (1, NextStep::Close));
    assert_eq!(replies[0]["error"]["message"], "use server.version to identify client");
    let mut client = Client::new(service, STRANGER);
    let asked = json!({"id": 1, "method": "server.version", "params": ["x", ["1.9", "1.10"]]});
    let (replies, next) = client.send(&format!("{asked}\n"));
    assert_eq!((&replies[0]["error"]["code"], next), (&json!(1), NextStep::Close));
    let mut client = Client::new(service, STRANGER);
    assert_eq!(client.ask("server.version", json!(["", ["1.4", "1.6"]]))[1], "1.6");
}

#[test]
fn batches_pieces_and_limits() {
    let Some(fixture) = Fixture::new(200) else { return };
    let limits = Limits { prefix_subscriptions: 3, request: 10_000, reply: 400_000, ..Limits::default() };
    let service = fixture.service(Settings { limits, ..Settings::default() });
    let greeting = json!({"id": 0, "method": "server.version", "params": ["", "1.4"]});
    // A batch with a notification and nonsense in it; then one of notifications only.
    let mut client = Client::new(&service, STRANGER);
    let batch = json!([
        greeting,
        {"id": "a", "method": "server.ping"},
        {"method": "server.ping"},
        5,
        {"id": "b", "method": "none", "params": []},
    ]);
    let (replies, _) = client.send(&format!("{batch}\n[{{\"method\":\"server.ping\"}}]\n[]\n{{\n"));
    assert_eq!(replies.len(), 3, "{replies:?}");
    assert_eq!(replies[0].as_array().unwrap().len(), 4);
    assert_eq!((&replies[0][1]["id"], &replies[0][3]["error"]["code"]), (&json!("a"), &json!(-32601)));
    assert_eq!((&replies[1]["error"]["code"], &replies[2]["error"]["code"]), (&json!(-32600), &json!(-32700)));
    // The replies do not depend on how the bytes are split.
    let requests: String = std::iter::once(greeting.to_string())
        .chain((0..50).map(|n| json!({"id": n, "method": "blockchain.block.header", "params": [n]}).to_string()))
        .map(|line| line + "\n")
        .collect();
    let whole = Client::new(&service, STRANGER).send(&requests).0;
    assert_eq!(whole.len(), 51);
    for size in [1, 7, 100] {
        let mut client = Client::new(&service, STRANGER);
        let (mut pending, mut output) = (Vec::new(), Vec::new());
        for piece in requests.as_bytes().chunks(size) {
            pending.extend_from_slice(piece);
            let progress = client.session.feed(&pending, &mut output, client.now);
            pending.drain(..progress.consumed);
        }
        let lines: Vec<Value> = output
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
            .map(|line| serde_json::from_slice(line).unwrap())
            .collect();
        assert_eq!(lines, whole);
    }
    // Subscriptions, long requests and long replies have limits, which are counted.
    let subscribe = "blockchain.scripthash.subscribe";
    for n in 0..3 {
        assert_eq!(client.ask(subscribe, json!([format!("{n:064x}")])), Value::Null);
    }
    assert_eq!(client.fail(subscribe, json!([format!("{:064x}", 4)])).0, -101);
    assert_eq!(client.ask(subscribe, json!([format!("{:064x}", 1)])), Value::Null);
    let header = json!({"id": 1, "method": "blockchain.block.headers", "params": [0, 200]});
    let many = vec![header; 100];
    let (replies, _) = client.send(&format!("{}\n", json!(many)));
    assert_eq!((replies.len(), &replies[0]["error"]["code"]), (1, &json!(-101)));
    // With the end of the line or without.
    for long in ["x".repeat(10_001), "x".repeat(10_001) + "\n"] {
        let (replies, next) = client.send(&long);
        assert_eq!((&replies[0]["error"]["code"], next), (&json!(-101), NextStep::Close));
    }
    let counts = &service.counts;
    let limited = [&counts.refused_subscriptions, &counts.refused_replies, &counts.refused_requests];
    assert_eq!(limited.map(|count| count.load(std::sync::atomic::Ordering::Relaxed)), [1, 1, 2]);
    drop(client);
    assert_eq!((service.shares().subscriptions(), service.shares().connections()), (0, 0));
}

#[test]
fn who_asks_for_too_much_waits() {
    let Some(fixture) = Fixture::new(200) else { return };
    let limits = Limits { prefix_cost: 1000, ..Limits::default() };
    let service = fixture.service(Settings { limits, ..Settings::default() });
    let mut client = Client::new(&service, STRANGER);
    client.ask("server.version", json!(["", "1.4"]));
    let request = json!({"id": 1, "method": "server.ping"}).to_string() + "\n";
    let (replies, next) = client.send(&request.repeat(1000));
    let NextStep::Wait(debt) = next else { panic!("{next:?}") };
    assert!(replies.len() > 100 && replies.len() < 1000, "{}", replies.len());
    assert!(matches!(client.send(&request), (none, NextStep::Wait(_)) if none.is_empty()));
    client.now += debt + std::time::Duration::from_millis(1);
    assert!(matches!(client.send(&request), (one, NextStep::More) if one.len() == 1));
    // A trusted client does not wait.
    let mut client = Client::speaking(&service, "1.4");
    assert_eq!(client.send(&request.repeat(1000)).0.len(), 1000);
}

/// New blocks: each change is reported once, with the correct status, in the form of the version.
#[test]
fn clients_are_told_of_new_blocks() {
    #[derive(Default)]
    struct Seen(Vec<Change>);
    impl Observer for Seen {
        fn changed(&mut self, change: &Change) {
            self.0.push(change.clone());
        }
    }
    let Some(fixture) = Fixture::new(170) else { return };
    let service = fixture.service(Settings::default());
    let block = Block::parse(&fixture.blocks[170]).unwrap();
    let spender = &block.transactions()[1];
    let input = spender.inputs().next().unwrap();
    let funder = hex(&input.outpoint[..32].iter().rev().copied().collect::<Vec<_>>());
    let scripts: Vec<Vec<u8>> = spender.outputs().map(|output| output.script.to_vec()).collect();
    let [mut old, mut new] = ["1.4", "1.7"].map(|version| Client::speaking(&service, version));
    old.ask("blockchain.headers.subscribe", json!([]));
    let before = scripts
        .iter()
        .map(|script| script_hash(script))
        .map(|hash| old.ask("blockchain.scripthash.subscribe", json!([hash])));
    let before: Vec<Value> = before.collect();
    assert_eq!(before[0], Value::Null);
    assert!(before[1].is_string(), "Satoshi's own key was paid in block 9");
    old.ask("blockchain.scripthash.subscribe", json!(["22".repeat(32)]));
    new.ask("blockchain.scriptpubkey.subscribe", json!([hex(&scripts[1])]));
    assert_eq!(new.ask("blockchain.outpoint.subscribe", json!([funder, 0, ""])), json!({"funder_height": 9}));
    // An outpoint that does not exist has an empty status.
    assert_eq!(new.ask("blockchain.outpoint.subscribe", json!(["33".repeat(32), 0, ""])), json!({}));

    let mut importer = Importer::new(&fixture.chain, Seen::default()).unwrap();
    importer.add(&fixture.blocks[170], &Origin::File { path: "block".into(), offset: 0 }).unwrap();
    importer.commit().unwrap();
    let branch = Branch::load(fixture.chain.view()).unwrap().unwrap();
    let announcement = service.follow(branch, &importer.observer().0, Update::default());
    let told = |client: &mut Client| -> Vec<Value> {
        let mut output = Vec::new();
        client.session.notify(&announcement, &mut output, client.now).unwrap();
        let lines = output.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        lines.map(|line| serde_json::from_slice(line).unwrap()).collect()
    };
    let notifications = told(&mut old);
    assert_eq!(notifications.len(), 3, "{notifications:?}");
    let tip = json!({"hex": hex(&fixture.blocks[170][..80]), "height": 170});
    assert_eq!(notifications[0]["method"], "blockchain.headers.subscribe");
    assert_eq!(notifications[0]["params"], json!([tip]));
    for script in &scripts {
        let hash = script_hash(script);
        let history = old.ask("blockchain.scripthash.get_history", json!([hash]));
        let told = notifications[1..].iter().find(|told| told["params"][0] == hash.as_str()).unwrap();
        assert_eq!(told["method"], "blockchain.scripthash.subscribe");
        assert_eq!(told["params"][1], status_of(&history));
    }
    let notifications = told(&mut new);
    assert_eq!(notifications.len(), 2, "{notifications:?}");
    assert_eq!(notifications[0]["method"], "blockchain.scriptpubkey.subscribe");
    assert_eq!(notifications[0]["params"][0], script_hash(&scripts[1]));
    let spender = hex(&spender.hash().iter().rev().copied().collect::<Vec<_>>());
    let status = json!({"funder_height": 9, "spender_txhash": spender, "spender_height": 170});
    assert_eq!(notifications[1]["method"], "blockchain.outpoint.subscribe");
    assert_eq!(notifications[1]["params"], json!([funder, 0, status]));
}

/// A store that begins above genesis serves proofs; for Electrum there is an error with the reason.
#[test]
fn a_store_that_begins_above_genesis_serves_proofs_alone() {
    const FIRST: u32 = 1000;
    let Some(fixture) = Fixture::from(FIRST, 100) else { return };
    let source = proof::BitcoinSource::new(fixture.chain.clone());
    let block = Block::parse(&fixture.blocks[FIRST as usize + 50]).unwrap();
    let hash = block.transactions()[0].hash();
    let mut body = Vec::new();
    source.prove(Query::Transaction, &hash, &mut body).unwrap();
    assert!(body.windows(hash.len()).any(|bytes| bytes == hash));
    let refused = Service::new(fixture.chain.clone(), None, Settings::default()).unwrap_err();
    assert!(matches!(refused, Error::NotFromGenesis(FIRST)));
    let text = refused.to_string();
    assert!(text.contains("begin at height 1000") && text.contains("import the chain from its first block"), "{text}");
    assert!(Branch::load(fixture.chain.view()).unwrap().is_none());
}
