use super::*;
use proptest::prelude::*;

const LATER: u64 = 4_000_000_000;

/// Increments the nonce until there is enough proof of work; on regtest, that takes two tries.
fn mine(mut header: BlockHeader) -> BlockHeader {
    let target = header.target().unwrap();
    while U256::from_le_bytes(&header.hash()) > target {
        header.nonce = (header.nonce.get() + 1).into();
    }
    header
}

fn after(previous: &BlockHeader, salt: u8) -> BlockHeader {
    let time = (previous.time.get() + 600).into();
    mine(BlockHeader { previous: previous.hash(), merkle_root: [salt; 32], time, nonce: 0.into(), ..*previous })
}

fn branch(from: &BlockHeader, length: usize, salt: u8) -> Vec<BlockHeader> {
    std::iter::successors(Some(after(from, salt)), |last| Some(after(last, salt))).take(length).collect()
}

fn regtest() -> (HeaderChain, BlockHeader) {
    (HeaderChain::new(Network::Regtest), Network::Regtest.genesis())
}

#[test]
fn follows_the_branch_with_the_most_work() {
    let (mut chain, genesis) = regtest();
    let (first, second) = (branch(&genesis, 3, 1), branch(&genesis, 4, 2));
    for (i, header) in first.iter().enumerate() {
        assert_eq!(chain.insert(*header, LATER), Ok(Inserted::Extended { height: i as u32 + 1 }));
    }
    for (i, header) in second[..3].iter().enumerate() {
        assert_eq!(chain.insert(*header, LATER), Ok(Inserted::Side { height: i as u32 + 1 }));
    }
    assert_eq!(chain.tip(), &first[2]);
    assert!(!chain.is_active(&second[2].hash()));
    let hashes = |headers: &[BlockHeader]| headers.iter().map(BlockHeader::hash).collect::<Vec<_>>();
    let expected = Inserted::Reorganised { fork: 0, disconnected: hashes(&first), connected: hashes(&second) };
    assert_eq!(chain.insert(second[3], LATER), Ok(expected));
    assert_eq!(chain.insert(first[1], LATER), Ok(Inserted::Known));
    assert_eq!((chain.height(), chain.header(2), chain.header(5)), (4, Some(&second[1]), None));
    assert!(chain.is_active(&second[2].hash()) && !chain.is_active(&first[2].hash()));
    assert_eq!(chain.find(&first[2].hash()), Some((3, &first[2])));
    let back = branch(&first[2], 2, 3);
    assert_eq!(chain.insert(back[0], LATER), Ok(Inserted::Side { height: 4 }));
    let connected = hashes(&[&first[..], &back[..]].concat());
    let expected = Inserted::Reorganised { fork: 0, disconnected: hashes(&second), connected };
    assert_eq!(chain.insert(back[1], LATER), Ok(expected));
}

#[test]
fn every_rule_has_its_error() {
    let (mut chain, genesis) = regtest();
    let headers = branch(&genesis, 12, 1);
    for header in &headers {
        chain.insert(*header, LATER).unwrap();
    }
    let tip = headers[11];
    let next = after(&tip, 1);
    let insert = |header: BlockHeader, now| chain.clone().insert(header, now);
    assert_eq!(chain.check(&next, LATER), Ok(13));

    let mut lazy = next;
    while U256::from_le_bytes(&lazy.hash()) <= lazy.target().unwrap() {
        lazy.nonce = (lazy.nonce.get() + 1).into();
    }
    assert_eq!(insert(lazy, LATER), Err(HeaderError::ProofOfWork { hash: lazy.hash() }));
    let orphan = mine(BlockHeader { previous: [3; 32], ..next });
    assert_eq!(insert(orphan, LATER), Err(HeaderError::Unlinked { hash: orphan.hash(), previous: [3; 32] }));
    for (bits, error) in
        [(0, TargetError::Zero), (0x2180_ffff, TargetError::Negative), (0xff00_ffff, TargetError::Overflow)]
    {
        let header = BlockHeader { bits: bits.into(), ..next };
        assert_eq!(insert(header, LATER), Err(HeaderError::Target { bits, error }));
    }
    let easy = BlockHeader { bits: 0x2100_ffff.into(), ..next };
    assert_eq!(insert(easy, LATER), Err(HeaderError::TooEasy { bits: 0x2100_ffff }));
    let harder = mine(BlockHeader { bits: 0x2070_ffff.into(), ..next });
    let error = HeaderError::Difficulty { height: 13, found: 0x2070_ffff, expected: 0x207f_ffff };
    assert_eq!(insert(harder, LATER), Err(error));

    let median = headers[6].time.get();
    let early = mine(BlockHeader { time: median.into(), ..next });
    assert_eq!(insert(early, LATER), Err(HeaderError::TooEarly { height: 13, time: median, median }));
    assert!(insert(mine(BlockHeader { time: (median + 1).into(), ..next }), LATER).is_ok());
    let now = u64::from(next.time.get() - 7_200);
    assert!(insert(next, now).is_ok());
    assert_eq!(insert(next, now - 1), Err(HeaderError::FromTheFuture { height: 13, time: next.time.get() }));
    // None of this changed the chain.
    assert_eq!((chain.height(), chain.tip()), (12, &tip));
}

/// The cases of Bitcoin Core's `pow_tests`.
#[test]
fn retargets_as_bitcoin_core() {
    let chain = HeaderChain::new(Network::Mainnet);
    for (bits, first, last, expected) in [
        (0x1d00_ffff, 1_261_130_161, 1_262_152_739, 0x1d00_d86a),
        (0x1d00_ffff, 1_231_006_505, 1_233_061_996, 0x1d00_ffff),
        (0x1c05_a3f4, 1_279_008_237, 1_279_297_671, 0x1c01_68fd),
        (0x1c38_7f6f, 1_263_163_443, 1_269_211_443, 0x1d00_e1fd),
    ] {
        assert_eq!(chain.retarget(Compact(bits), first, last), Some(Compact(expected)));
    }
    assert_eq!(chain.retarget(Compact(0x1c05_a3f4), 2, 1), chain.retarget(Compact(0x1c05_a3f4), 1, 2));
    assert!(chain.is_permitted_step(0x1c05_a3f4, 0x1c01_68fd));
    assert!(!chain.is_permitted_step(0x1c05_a3f4, 0x1c01_68fc));
    assert!(chain.is_permitted_step(0x1c38_7f6f, 0x1d00_e1fd));
    assert!(!chain.is_permitted_step(0x1c38_7f6f, 0x1d00_e1fe));
}

/// The interval is measured from its first block to its last, so the step before it does not count.
#[test]
fn retarget_leaves_a_step_out() {
    let genesis = Network::Mainnet.genesis();
    let bits = 0x1c05_a3f4;
    let mut chain = HeaderChain::new(Network::Mainnet);
    // Headers without proof of work, inserted directly: a test cannot mine them.
    for height in 1..RETARGET_INTERVAL * 2 {
        let time = (1_300_000_000 + height * 600 + if height < RETARGET_INTERVAL { 0 } else { 5_000 }).into();
        let header = BlockHeader { time, bits: bits.into(), nonce: height.into(), ..genesis };
        let hash = header.hash();
        chain.nodes.push(Node { header, hash, height, parent: height - 1, work: U256::ZERO });
        chain.active.push(height);
    }
    let last = RETARGET_INTERVAL * 2 - 1;
    let expected = chain.retarget(Compact(bits), 0, 600 * (RETARGET_INTERVAL - 1));
    assert_eq!(chain.next_bits(0, last), expected);
    assert_ne!(expected, chain.retarget(Compact(bits), 0, 600 * RETARGET_INTERVAL));
    assert_eq!(chain.next_bits(0, last - 1), Some(Compact(bits)));
    // A chain that starts inside the interval only knows the bounds.
    let mut late = HeaderChain::start(Network::Mainnet, genesis, last);
    late.nodes[0].header.bits = bits.into();
    assert_eq!(late.next_bits(0, 0), None);
    let header = BlockHeader { bits: 0x1c00_ffff.into(), ..genesis };
    let error = HeaderError::DifficultyStep { height: last + 1, found: 0x1c00_ffff };
    assert_eq!(late.check_difficulty(&header, 0), Err(error));
    let header = BlockHeader { bits: 0x1c01_68fd.into(), ..genesis };
    assert_eq!(late.check_difficulty(&header, 0), Ok(()));
}

/// BIP34, BIP66 and BIP65 retire versions at certain heights; negative versions are below all of them.
#[test]
fn versions_are_retired() {
    let genesis = Network::Mainnet.genesis();
    for (height, version, least) in [
        (227_930, -1, None),
        (227_931, 1, Some(2)),
        (227_931, 2, None),
        (363_725, 2, Some(3)),
        (363_725, 3, None),
        (388_381, -1, Some(4)),
        (388_381, 4, None),
        (388_381, 0x2000_0000, None),
    ] {
        let header = BlockHeader { version: (version as u32).into(), ..genesis };
        let error = least.map(|least| HeaderError::Version { height, version, least });
        assert_eq!(check_version(Network::Mainnet, &header, height).err(), error);
    }
}

/// A target may equal the limit, as Signet's does, and a hash may equal the target.
#[test]
fn work_is_enough_at_the_limit() {
    for network in Network::ALL {
        let genesis = network.genesis();
        assert_eq!(check_proof_of_work(network, &genesis), Ok(genesis.hash()));
    }
    let hash = [7; 32];
    let target = U256::from_le_bytes(&hash);
    assert_eq!(check_hash(&hash, target), Ok(()));
    let mut above = hash;
    above[0] += 1;
    assert_eq!(check_hash(&above, target), Err(HeaderError::ProofOfWork { hash: above }));
}

/// On regtest, the difficulty never changes, whatever the times are.
#[test]
fn regtest_never_changes_its_difficulty() {
    let (mut chain, genesis) = regtest();
    for header in branch(&genesis, RETARGET_INTERVAL as usize, 1) {
        chain.insert(header, LATER).unwrap();
    }
    assert_eq!((chain.height(), chain.tip().bits), (RETARGET_INTERVAL, genesis.bits));
}

#[test]
fn an_ancestor_is_that_of_its_branch() {
    let (mut chain, genesis) = regtest();
    let (first, second) = (branch(&genesis, 5, 1), branch(&genesis, 4, 2));
    for header in first.iter().chain(&second) {
        chain.insert(*header, LATER).unwrap();
    }
    for (headers, begins) in [(&first, 1), (&second, 6)] {
        for (from, to) in (0..headers.len()).flat_map(|from| (0..=from).map(move |to| (from, to))) {
            let found = chain.ancestor(begins + from as u32, to as u32 + 1).map(|node| node.header);
            assert_eq!(found, Some(headers[to]), "{from} {to}");
        }
        assert_eq!(chain.ancestor(begins, 0).map(|node| node.header), Some(genesis));
    }
    let late = HeaderChain::start(Network::Regtest, genesis, 7);
    assert!(late.ancestor(0, 6).is_none() && late.ancestor(0, 7).is_some());
}

#[test]
fn testnet_allows_easy_blocks_after_twenty_minutes() {
    let genesis = Network::Testnet.genesis();
    let mut chain = HeaderChain::new(Network::Testnet);
    let easiest = Network::Testnet.easiest();
    for (height, bits) in [(1, 0x1c05_a3f4), (2, easiest.0), (3, easiest.0)] {
        let header = BlockHeader { bits: bits.into(), time: (1_400_000_000 + height).into(), ..genesis };
        chain.nodes.push(Node { header, hash: [height as u8; 32], height, parent: height - 1, work: U256::ZERO });
        chain.active.push(height);
    }
    let last = 1_400_000_003;
    assert_eq!(chain.next_bits(last + 1200, 3), Some(Compact(0x1c05_a3f4)));
    assert_eq!(chain.next_bits(last + 1201, 3), Some(easiest));
}

/// BIP94: an interval's difficulty follows from its first block, whatever easy blocks come after it, and that block's
/// time cannot be far back.
#[test]
fn testnet4_follows_the_first_block_of_an_interval() {
    let genesis = Network::Testnet4.genesis();
    let mut chain = HeaderChain::new(Network::Testnet4);
    let last = RETARGET_INTERVAL - 1;
    for height in 1..=last {
        let header = BlockHeader { time: (genesis.time.get() + 600 * height).into(), ..genesis };
        chain.nodes.push(Node { header, hash: [height as u8; 32], height, parent: height - 1, work: U256::ZERO });
        chain.active.push(height);
    }
    chain.nodes[0].header.bits = 0x1c05_a3f4.into();
    let expected = chain.retarget(Compact(0x1c05_a3f4), 0, 600 * last);
    assert_eq!(chain.next_bits(0, last), expected);
    // An interval starts at most 600 s before the time of the previous block; other blocks, and other networks, may go
    // back further.
    let time = chain.nodes[last as usize].header.time.get();
    let error = HeaderError::TimeWarp { height: last + 1, time: time - 601, least: time - 600 };
    assert_eq!(chain.check_time(time - 601, last, LATER), Err(error));
    assert_eq!(chain.check_time(time - 600, last, LATER), Ok(()));
    assert_eq!(chain.check_time(time - 600 - 601, last - 1, LATER), Ok(()));
    chain.network = Network::Testnet;
    assert_eq!(chain.check_time(time - 601, last, LATER), Ok(()));
    assert_ne!(chain.next_bits(0, last), expected);
}

#[test]
fn begins_at_a_trusted_header() {
    let genesis = Network::Regtest.genesis();
    let headers = branch(&genesis, 5, 1);
    let mut chain = HeaderChain::from_trusted(Network::Regtest, headers[1], 700_000).unwrap();
    for header in &headers[2..] {
        chain.insert(*header, LATER).unwrap();
    }
    assert_eq!((chain.first_height(), chain.height()), (700_000, 700_003));
    assert_eq!((chain.header(699_999), chain.hash(700_000)), (None, Some(&headers[1].hash())));
    assert!(matches!(chain.insert(headers[0], LATER), Err(HeaderError::Unlinked { .. })));
    assert!(HeaderChain::from_trusted(Network::Mainnet, headers[1], 5).is_err());
    for height in [(1 << 31) + 1, u32::MAX] {
        let too_high = HeaderChain::from_trusted(Network::Regtest, headers[1], height);
        assert_eq!(too_high.err(), Some(HeaderError::Height { height }));
    }
    assert!(HeaderChain::from_trusted(Network::Regtest, headers[1], 1 << 31).is_ok());
    // A branch that has more work only from its middle on.
    let better = branch(&headers[2], 3, 9);
    for header in &better[..2] {
        assert!(matches!(chain.insert(*header, LATER), Ok(Inserted::Side { .. })));
    }
    let hashes = |headers: &[BlockHeader]| headers.iter().map(BlockHeader::hash).collect::<Vec<_>>();
    let (disconnected, connected) = (hashes(&headers[3..]), hashes(&better));
    assert_eq!(chain.insert(better[2], LATER), Ok(Inserted::Reorganised { fork: 700_001, disconnected, connected }));
    assert_eq!((chain.first_height(), chain.height(), chain.header(700_002)), (700_000, 700_004, Some(&better[0])));
}

/// The number of headers beside the active branch is limited; the active branch still grows.
#[test]
fn side_headers_have_a_limit() {
    let (mut chain, genesis) = regtest();
    let active = branch(&genesis, 20, 1);
    for header in &active {
        chain.insert(*header, LATER).unwrap();
    }
    let side = |chain: &mut HeaderChain, number: u32| {
        let mut header = BlockHeader { previous: genesis.hash(), merkle_root: [2; 32], ..active[0] };
        header.merkle_root[..4].copy_from_slice(&number.to_le_bytes());
        chain.insert(mine(header), LATER)
    };
    for number in 0..MAX_SIDE_HEADERS as u32 {
        assert_eq!(side(&mut chain, number), Ok(Inserted::Side { height: 1 }));
    }
    assert_eq!(side(&mut chain, u32::MAX), Err(HeaderError::TooManySideHeaders));
    assert_eq!(chain.insert(after(&active[19], 1), LATER), Ok(Inserted::Extended { height: 21 }));
    assert_eq!(chain.height(), 21);
}

proptest! {
    /// The model: of all headers seen, the tip is the one with the most work; of equals, the first.
    #[test]
    fn tip_is_that_of_the_model(parents in prop::collection::vec(any::<prop::sample::Index>(), 1..40)) {
        let (mut chain, genesis) = regtest();
        let mut known = vec![(genesis, 0_u32)];
        for (salt, parent) in parents.iter().enumerate() {
            let (parent, height) = known[parent.index(known.len())];
            let header = after(&parent, salt as u8 + 1);
            let inserted = chain.insert(header, LATER).unwrap();
            known.push((header, height + 1));
            let best = known.iter().rev().max_by_key(|(_, height)| *height).unwrap();
            prop_assert_eq!(chain.tip(), &best.0);
            prop_assert_eq!(chain.height(), best.1);
            if let Inserted::Reorganised { fork, disconnected, connected } = inserted {
                prop_assert_eq!(chain.hash(fork + 1), connected.first());
                prop_assert!(disconnected.len() < connected.len());
                prop_assert_eq!(chain.tip_hash(), &connected[connected.len() - 1]);
            }
            let mut header = chain.tip();
            for height in (0..best.1).rev() {
                prop_assert_eq!(chain.hash(height), Some(&header.previous));
                header = chain.header(height).unwrap();
            }
        }
    }
}
