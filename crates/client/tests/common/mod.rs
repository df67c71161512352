//! A node for tests: a simple ledger with idempotent operations, a chain of blocks, and a network that loses,
//! duplicates and reorders datagrams in both directions.
#![allow(dead_code)]

use std::collections::HashMap;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use model::{Model, Outcome};
use spv::bitcoin;
use spv::hash::{index_leaf, transaction_leaf, transaction_node};
use spv::{BlockHeader, SealingKey, account_path, tree_depth};
use wire::{
    AssetTotal, AssetsFrame, BatchEntriesMut, BatchMut, Chain, ChangeFrame, Command, ErrorFrame, FinalityFrame, Frame,
    FrameMut, FullReply, HeadersFrame, HistoryFrame, IndexEntry, IndexReply, InfoFrame, Operation, ParseError, Promise,
    ProofReply, ProofRequest, Query, Status, U16, U32, U64,
};
use zerocopy::{FromBytes, IntoBytes};

/// The faults of a network, in 1/256.
#[derive(Clone, Copy, Default)]
pub struct Faults {
    pub loss: u8,
    pub doubling: u8,
    pub reordering: u8,
    pub busy: u8,
}

/// A block of the node.
#[derive(Clone)]
pub struct Block {
    pub header: BlockHeader,
    pub operations: Vec<Operation>,
}

/// The keys of a generation of replicas, and its certificate or the change that ended it.
pub type Generation = (Vec<[u8; 32]>, Vec<u8>);

/// State of a node.
#[derive(Default)]
pub struct NodeModel {
    pub ledger: Model,
    pub blocks: Vec<Block>,
    pub bitcoin: Vec<BitcoinBlock>,
    /// The generations of replicas; empty if one key seals the blocks.
    pub generations: Vec<Generation>,
    /// The requested generations.
    pub asked: Vec<u32>,
    /// The received approvals, each once.
    pub approvals: Vec<[u8; ChangeFrame::APPROVAL]>,
    /// Modifies replies before they are sent.
    pub forge: Option<fn(&mut Vec<u8>)>,
}

/// A block of Bitcoin with its coinbase transaction and one more.
#[derive(Clone)]
pub struct BitcoinBlock {
    pub header: bitcoin::BlockHeader,
    pub coinbase: Vec<u8>,
    pub transaction: [u8; 32],
}

/// A running node.
pub struct TestNode {
    pub address: SocketAddr,
    pub state: Arc<Mutex<NodeModel>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl TestNode {
    pub fn start(faults: Faults) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(5))).unwrap();
        let address = socket.local_addr().unwrap();
        let state = Arc::new(Mutex::new(NodeModel { blocks: vec![genesis()], ..NodeModel::default() }));
        let stop = Arc::new(AtomicBool::new(false));
        let (shared, ended) = (Arc::clone(&state), Arc::clone(&stop));
        let thread = std::thread::spawn(move || serve(&socket, faults, &shared, &ended));
        Self { address, state, stop, thread: Some(thread) }
    }

    /// Appends a block of operations to the node's chain.
    pub fn add_block(&self, operations: Vec<Operation>) {
        let mut state = self.state.lock().unwrap();
        let block = next_block(&state.blocks, operations);
        state.blocks.push(block);
    }
}

impl Drop for TestNode {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if self.thread.take().unwrap().join().is_err() && !std::thread::panicking() {
            panic!("the test node failed");
        }
    }
}

fn serve(socket: &UdpSocket, faults: Faults, state: &Mutex<NodeModel>, stop: &AtomicBool) {
    let mut random = 1u64;
    let mut chance = move |of: u8| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((random >> 56) as u8) < of
    };
    let mut buffer = vec![0; 1 << 16];
    let mut held: Option<(Vec<u8>, SocketAddr)> = None;
    while !stop.load(Ordering::Relaxed) {
        let Ok((length, from)) = socket.recv_from(&mut buffer) else {
            if let Some((reply, to)) = held.take() {
                let _ = socket.send_to(&reply, to);
            }
            continue;
        };
        for _ in 0..1 + usize::from(chance(faults.doubling)) {
            if chance(faults.loss) {
                continue;
            }
            let mut datagram = buffer[..length].to_vec();
            let mut state = state.lock().unwrap();
            let busy = chance(faults.busy);
            let length = answer(&mut datagram, &mut state, busy);
            datagram.truncate(length);
            if let Some(forge) = state.forge {
                forge(&mut datagram);
            }
            if datagram.is_empty() || chance(faults.loss) {
                continue;
            }
            if held.is_none() && chance(faults.reordering) {
                held = Some((datagram, from));
                continue;
            }
            let _ = socket.send_to(&datagram, from);
            if let Some((reply, to)) = held.take_if(|_| chance(128)) {
                let _ = socket.send_to(&reply, to);
            }
        }
    }
}

fn answer(datagram: &mut Vec<u8>, state: &mut NodeModel, busy: bool) -> usize {
    match FrameMut::parse(datagram) {
        Err(error) => error.write_reply(datagram),
        Ok(FrameMut::Compact(frame)) => {
            let (status, value) = state.execute(&frame.to_operation());
            frame.set_reply(status, value);
            22
        }
        Ok(FrameMut::Full(frame)) => {
            let (status, value) = state.execute(&frame.signed.operation);
            frame.set_reply(status, value, Promise::Durable);
            FullReply::LENGTH
        }
        Ok(FrameMut::Batch(BatchMut { header, mut entries })) => {
            if busy {
                header.set_reply(Status::Busy, Promise::Default);
                return 16;
            }
            header.set_reply(Status::Ok, Promise::Durable);
            for index in 0..entries.as_ref().len() {
                let operation = entries.as_ref().operation(index).unwrap();
                let (status, value) = state.execute(&operation);
                entries.set_reply(index, status, value, Promise::Durable);
            }
            if let BatchEntriesMut::Operation(_) = entries { header.frame_length().unwrap() } else { datagram.len() }
        }
        Ok(FrameMut::Info(frame)) => {
            *frame = state.info(frame);
            InfoFrame::LENGTH
        }
        Ok(FrameMut::Verify(frame)) => {
            // Verdicts are the indices, which shows which request each answers.
            let Ok(Frame::Verify(verify)) = Frame::parse(frame) else { return 0 };
            let indices: Vec<u64> = verify.messages().map(|(message, _)| message.index.get()).collect();
            wire::write_verify_reply(frame, indices.into_iter().map(|index| (index, 1)))
        }
        Ok(FrameMut::Headers(request, _)) => {
            let reply = state.headers(*request, datagram.len());
            *datagram = reply;
            datagram.len()
        }
        Ok(FrameMut::Finality(request, room)) => state.finality(request, room),
        // It keeps no histories, and claims that the page after a cursor begins there.
        Ok(FrameMut::History(request, _)) if request.flags & HistoryFrame::CURSOR != 0 => {
            request.header.set_reply();
            request.count.set(0);
            HistoryFrame::LENGTH
        }
        Ok(FrameMut::History(request, _)) => {
            request.set_refusal(Status::NotFound);
            HistoryFrame::LENGTH
        }
        Ok(FrameMut::Assets(request, room)) => {
            let (total, rest) = AssetTotal::mut_from_prefix(room).unwrap();
            rest.fill(0);
            *total = AssetTotal::new(0, 7);
            request.header.set_reply();
            request.count.set(1);
            // Nothing follows the last asset, whatever a node claims.
            request.next_asset.set(request.first_asset.get());
            AssetsFrame::LENGTH + AssetTotal::LENGTH
        }
        // Feeds are served over TCP only.
        Ok(FrameMut::Feed(frame)) => {
            let id = frame.header.id.get();
            ParseError::unknown_type(id).write_reply(datagram)
        }
        Ok(FrameMut::Change(frame)) => {
            let status = match busy {
                true => Status::Busy,
                false if frame.approval[0] == 0 => Status::StaleGeneration,
                false => Status::Ok,
            };
            if status.is_ok() && !state.approvals.contains(&frame.approval) {
                state.approvals.push(frame.approval);
            }
            frame.set_reply(status);
            ChangeFrame::LENGTH
        }
        Ok(FrameMut::Proof(request, _)) => {
            let reply = state.proof(*request, datagram.len());
            *datagram = reply;
            datagram.len()
        }
    }
}

impl NodeModel {
    fn execute(&mut self, operation: &Operation) -> (Status, u64) {
        let Outcome { status, value, .. } = self.ledger.execute(operation);
        (status, value)
    }

    fn tip(&self) -> &BlockHeader {
        &self.blocks.last().unwrap().header
    }

    fn info(&self, request: &InfoFrame) -> InfoFrame {
        let mut reply = *request;
        reply.header.set_reply();
        reply.promise = Promise::Durable.code();
        reply.network = self.blocks[0].header.hash();
        reply.tip_height = U64::new(self.blocks.len() as u64 - 1);
        reply.tip_hash = self.tip().hash();
        reply.program = InfoFrame::program_field("test");
        reply
    }

    fn finality(&mut self, request: &mut FinalityFrame, room: &mut [u8]) -> usize {
        let generation = request.generation.get();
        self.asked.push(generation);
        let Some((keys, certificate)) = self.generations.get(generation as usize) else {
            request.set_refusal(Status::NotFound);
            return FinalityFrame::LENGTH;
        };
        let body = [keys.as_flattened(), certificate].concat();
        let Some(room) = room.get_mut(..body.len()) else {
            let needed = (FinalityFrame::LENGTH + body.len()) as u32;
            let error = ErrorFrame::new(request.header.id.get(), Status::ReplyTooLarge, needed);
            return error.write_over(request.as_mut_bytes());
        };
        room.copy_from_slice(&body);
        request.certificate_size = U16::new(certificate.len() as u16);
        request.replicas = keys.len() as u8;
        request.leader = 1;
        request.view = U64::new(7);
        request.generations = U32::new(self.generations.len() as u32 - 1);
        request.header.set_reply();
        request.frame_length()
    }

    fn headers(&self, mut request: HeadersFrame, room: usize) -> Vec<u8> {
        let chain = request.chain().unwrap();
        let size = HeadersFrame::size_of_header(chain);
        let most = ((room - HeadersFrame::LENGTH) / size).min(usize::from(request.count.get()));
        // Few at a time, so that tests need several requests.
        let (first, most) = (request.first_height.get() as usize, most.min(7));
        let own = self.blocks.iter().skip(first).take(most);
        let bitcoin = self.bitcoin.iter().skip(first).take(most);
        let (given, tip): (Vec<Vec<u8>>, usize) = match chain {
            Chain::Own => {
                (own.map(|block| key().seal(&block.header).as_bytes().to_vec()).collect(), self.blocks.len() - 1)
            }
            Chain::Bitcoin => (bitcoin.map(|block| block.header.as_bytes().to_vec()).collect(), self.bitcoin.len() - 1),
        };
        request.set_reply(chain, given.len() as u16, tip as u64, [0; 32]);
        let mut reply = request.as_bytes().to_vec();
        given.iter().for_each(|header| reply.extend_from_slice(header));
        reply
    }

    fn proof(&self, mut request: ProofRequest, room: usize) -> Vec<u8> {
        let (id, query) = (request.header.id.get(), request.query().unwrap());
        let body = match (request.chain().unwrap(), query) {
            (Chain::Own, Query::Index) => self.index_proof(request),
            (Chain::Own, _) => self.transaction_proof(request),
            (Chain::Bitcoin, _) => self.bitcoin_proof(request),
        };
        let Some(mut reply) = body else {
            request.set_reply(Status::NotFound, 0);
            return request.as_bytes().to_vec();
        };
        if reply.len() > room {
            return ErrorFrame::new(id, Status::ReplyTooLarge, reply.len() as u32).as_bytes().to_vec();
        }
        request.set_reply(Status::Ok, (reply.len() - ProofRequest::LENGTH) as u32);
        reply[..ProofRequest::LENGTH].copy_from_slice(request.as_bytes());
        reply
    }

    fn transaction_proof(&self, request: ProofRequest) -> Option<Vec<u8>> {
        let places = self.blocks.iter().enumerate().rev().flat_map(|(height, block)| {
            block.operations.iter().enumerate().rev().map(move |(position, operation)| (height, position, operation))
        });
        let (height, position, operation) =
            places.into_iter().find(|(height, position, operation)| match request.query().unwrap() {
                Query::Latest => {
                    let account = request.account().unwrap();
                    operation.source == account || operation.destination == account
                }
                Query::Transaction => request.transaction() == (operation.transaction, operation.source),
                _ => request.locator() == Ok((*height as u64, *position as u32)),
            })?;
        let block = &self.blocks[height];
        let path = path(&leaves(&block.operations), position);
        let fixed = ProofReply {
            request,
            tip_hash: self.tip().hash(),
            tip_height: U64::new(self.blocks.len() as u64 - 1),
            block_hash: block.header.hash(),
            block_height: U64::new(height as u64),
            transaction_count: U32::new(block.operations.len() as u32),
            position: U32::new(position as u32),
            depth: path.len() as u8,
            reserved: 0,
            transaction_length: U16::new(64),
            coinbase_length: U16::ZERO,
            reserved_end: U16::ZERO,
            leaf: transaction_leaf(operation.as_bytes()),
        };
        Some([fixed.as_bytes(), path.as_bytes(), operation.as_bytes()].concat())
    }

    fn index_proof(&self, request: ProofRequest) -> Option<Vec<u8>> {
        let entries = index_entries(&self.blocks);
        let fixed = IndexReply {
            request,
            block_hash: self.tip().hash(),
            block_height: U64::new(self.blocks.len() as u64 - 1),
            reserved: U64::ZERO,
            depth: 0,
            entry_count: entries.len() as u8,
            reserved_end: [0; 6],
        };
        Some([fixed.as_bytes(), entries.as_bytes()].concat())
    }

    fn bitcoin_proof(&self, request: ProofRequest) -> Option<Vec<u8>> {
        let (height, block) = self.bitcoin.iter().enumerate().find(|(_, block)| block.transaction == request.key)?;
        let coinbase = bitcoin::transaction_hash(&block.coinbase);
        let fixed = ProofReply {
            request,
            tip_hash: self.bitcoin.last().unwrap().header.hash(),
            tip_height: U64::new(self.bitcoin.len() as u64 - 1),
            block_hash: block.header.hash(),
            block_height: U64::new(height as u64),
            transaction_count: U32::new(2),
            position: U32::new(1),
            depth: 1,
            reserved: 0,
            transaction_length: U16::ZERO,
            coinbase_length: U16::new(block.coinbase.len() as u16),
            reserved_end: U16::ZERO,
            leaf: block.transaction,
        };
        Some([fixed.as_bytes(), &coinbase, &block.transaction, &block.coinbase].concat())
    }
}

/// The key of the node's chain.
pub fn key() -> SealingKey {
    SealingKey::from_bytes(&[1; 32]).unwrap()
}

fn genesis() -> Block {
    Block { header: BlockHeader::genesis("test", &[1; 16], 1000, &key().public()), operations: Vec::new() }
}

/// The block after the last of `blocks`.
pub fn next_block(blocks: &[Block], operations: Vec<Operation>) -> Block {
    let previous = &blocks.last().unwrap().header;
    let mut header = BlockHeader {
        transactions: (operations.len() as u32).into(),
        height: (previous.height.get() + 1).into(),
        timestamp: (previous.timestamp.get() + 1).into(),
        previous: previous.hash(),
        transaction_root: root(&leaves(&operations)),
        ..*previous
    };
    let entries = index_entries(&[blocks, &[Block { header, operations: operations.clone() }]].concat());
    header.accounts = (entries.len() as u64).into();
    header.index_root = index_leaf(entries.as_bytes());
    Block { header, operations }
}

/// The index of at most 16 accounts: one leaf.
fn index_entries(blocks: &[Block]) -> Vec<IndexEntry> {
    let mut entries: HashMap<u128, IndexEntry> = HashMap::new();
    for (height, block) in blocks.iter().enumerate() {
        for (position, operation) in block.operations.iter().enumerate() {
            let transfer = operation.command() == Ok(Command::Transfer);
            let destination = transfer.then_some((operation.destination, operation.amount()));
            let change = if transfer { operation.amount().wrapping_neg() } else { operation.amount() };
            for (account, change) in [Some((operation.source, change)), destination].into_iter().flatten() {
                let entry = entries.entry(account.to_u128()).or_default();
                entry.account = account;
                entry.balance = U64::new(entry.balance.get().wrapping_add(change));
                entry.height = U32::new(height as u32);
                entry.position = U32::new(position as u32);
            }
        }
    }
    assert!(entries.len() <= 16, "more accounts than a leaf of the index takes");
    let mut entries: Vec<IndexEntry> = entries.into_values().collect();
    entries.sort_by_key(|entry| (account_path(&entry.account.0), entry.account));
    entries
}

fn leaves(operations: &[Operation]) -> Vec<[u8; 32]> {
    operations.iter().map(|operation| transaction_leaf(operation.as_bytes())).collect()
}

fn level_above(level: &[[u8; 32]]) -> Vec<[u8; 32]> {
    level.chunks(2).map(|pair| transaction_node(&pair[0], pair.get(1).unwrap_or(&[0; 32]))).collect()
}

fn root(leaves: &[[u8; 32]]) -> [u8; 32] {
    let mut level = leaves.to_vec();
    while level.len() > 1 {
        level = level_above(&level);
    }
    level.first().copied().unwrap_or([0; 32])
}

fn path(leaves: &[[u8; 32]], position: usize) -> Vec<[u8; 32]> {
    let (mut level, mut index, mut path) = (leaves.to_vec(), position, Vec::new());
    while level.len() > 1 {
        path.push(level.get(index ^ 1).copied().unwrap_or([0; 32]));
        (level, index) = (level_above(&level), index / 2);
    }
    assert_eq!(path.len(), usize::from(tree_depth(leaves.len() as u32)));
    path
}

/// Mines blocks of Bitcoin's regtest after `blocks`, which may be empty.
pub fn mine(blocks: &mut Vec<BitcoinBlock>, count: usize, salt: u8) {
    let network = bitcoin::Network::Regtest;
    if blocks.is_empty() {
        blocks.push(BitcoinBlock { header: network.genesis(), coinbase: Vec::new(), transaction: [0; 32] });
    }
    for _ in 0..count {
        let previous = &blocks.last().unwrap().header;
        let height = blocks.len() as u8;
        let mut coinbase = vec![1, 0, 0, 0, 1];
        coinbase.extend([0; 32]);
        coinbase.extend([0xff; 4]);
        // A script of height and salt, and one output of zero satoshis.
        coinbase.extend([2, height, salt, 0xff, 0xff, 0xff, 0xff, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0x51, 0, 0, 0, 0]);
        let transaction = bitcoin::transaction_hash(&[height, salt]);
        let mut header = bitcoin::BlockHeader {
            version: 4.into(),
            previous: previous.hash(),
            merkle_root: bitcoin::node_hash(&bitcoin::transaction_hash(&coinbase), &transaction),
            time: (previous.time.get() + 600).into(),
            ..network.genesis()
        };
        // Half of all hashes meet the target of regtest: those whose top bit is 0.
        while header.hash()[31] >= 0x7f {
            header.nonce += 1;
        }
        blocks.push(BitcoinBlock { header, coinbase, transaction });
    }
}
