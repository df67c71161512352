//! The cache against a plain model of two chains, with events in any order: it never returns a stale reply, nor another
//! key's.
#![allow(missing_docs, clippy::unwrap_used)]

use std::collections::{BTreeMap, VecDeque};

use proptest::{prelude::*, sample::Index};
use turnpike_proof::{Cache, Config, Lookup, Tip};
use wire::{Chain, Query};

/// How many addresses, transactions and locators there are.
const KEYS: u8 = 12;

/// A chain at one tip.
///
/// The true answer for a key is when it was last touched; answers about the index change with every state.
#[derive(Clone, Debug, PartialEq)]
struct ModelChain {
    id: u16,
    height: u64,
    /// Counts the reorganisations after which older answers can no longer be proved.
    branch: u16,
    touched: BTreeMap<u8, u16>,
}

impl ModelChain {
    fn tip(&self) -> Tip {
        let id = self.id.to_be_bytes();
        Tip { hash: std::array::from_fn(|at| id[at % 2]), height: self.height | u64::from(self.id) << 32 }
    }

    /// The body of the true reply.
    fn body(&self, chain: Chain, query: Query, key: u8) -> Vec<u8> {
        let mut body = self.tip().hash.to_vec();
        body.extend_from_slice(&self.tip().height.to_be_bytes());
        body.extend_from_slice(&[chain.code(), query.code(), key]);
        let truth = match query {
            Query::Latest => self.touched.get(&key).copied().unwrap_or(0),
            Query::Transaction | Query::Locator => self.branch,
            Query::Index => self.id,
        };
        body.extend_from_slice(&truth.to_be_bytes());
        // Some are longer, so that values have many sizes.
        body.resize(60 + usize::from(key) * 90 + usize::from(truth % 7) * 20, truth as u8);
        body
    }
}

#[derive(Clone, Debug)]
enum Step {
    /// A block is built; its announcement is on its way.
    Build(Chain, Vec<u8>),
    /// The next announcement arrives.
    Announce(Chain),
    /// The next announcement is lost.
    Lose(Chain),
    /// The chain goes back to an earlier state, or to a new branch from there.
    Reorganise(Chain, Index, bool),
    /// A reply is computed.
    Compute(Chain, Query, u8),
    /// One of the replies computed at any time before arrives at the cache.
    Fill(Index),
    /// A request.
    Get(Chain, Query, u8),
}

fn step() -> impl Strategy<Value = Step> {
    let chain = prop::sample::select(vec![Chain::Own, Chain::Own, Chain::Bitcoin]);
    let query =
        prop::sample::select(vec![Query::Latest, Query::Latest, Query::Transaction, Query::Locator, Query::Index]);
    let touched = prop::collection::vec(0..KEYS, 0..4);
    prop_oneof![
        2 => (chain.clone(), touched).prop_map(|(chain, touched)| Step::Build(chain, touched)),
        2 => chain.clone().prop_map(Step::Announce),
        1 => (chain.clone(), 0..4_u8)
            .prop_map(|(chain, dice)| if dice == 0 { Step::Lose(chain) } else { Step::Announce(chain) }),
        1 => (chain.clone(), any::<Index>(), any::<bool>())
            .prop_map(|(chain, to, same)| Step::Reorganise(chain, to, same)),
        6 => (chain.clone(), query.clone(), 0..KEYS).prop_map(|(chain, query, key)| Step::Compute(chain, query, key)),
        6 => any::<Index>().prop_map(Step::Fill),
        8 => (chain, query, 0..KEYS).prop_map(|(chain, query, key)| Step::Get(chain, query, key)),
    ]
}

/// A chain as its store has it, what was announced of it, and what is on its way.
struct Model {
    store: ModelChain,
    announced: ModelChain,
    coming: VecDeque<(ModelChain, Vec<u8>)>,
    past: Vec<ModelChain>,
}

fn run(config: &Config, steps: Vec<Step>) {
    let cache = Cache::new(config).unwrap();
    let mut models = [Chain::Own, Chain::Bitcoin].map(|chain| {
        let genesis = ModelChain { id: u16::from(chain.code()) + 1, height: 0, branch: 0, touched: BTreeMap::new() };
        assert_eq!(cache.tip(chain), None);
        cache.fill(chain, Query::Latest, &[0; 32], &genesis.body(chain, Query::Latest, 0));
        assert_eq!(cache.get(chain, Query::Latest, &[0; 32], &mut [0; 1500]), Lookup::Miss);
        cache.reorganise(chain, genesis.tip());
        Model { store: genesis.clone(), announced: genesis.clone(), coming: VecDeque::new(), past: vec![genesis] }
    });
    let mut next = 10;
    let mut computed: Vec<(Chain, Query, u8, Vec<u8>)> = Vec::new();
    for step in steps {
        match step {
            Step::Build(chain, touched) => {
                let model = &mut models[usize::from(chain.code())];
                next += 1;
                model.store.id = next;
                model.store.height += 1;
                model.store.touched.extend(touched.iter().map(|key| (*key, next)));
                model.coming.push_back((model.store.clone(), touched));
            }
            Step::Announce(chain) | Step::Lose(chain) => {
                let lost = matches!(step, Step::Lose(_));
                let model = &mut models[usize::from(chain.code())];
                let parent = |id: u16, model: &Model| {
                    model.past.iter().rfind(|state| state.id == id).unwrap_or(&model.announced).tip().hash
                };
                if lost {
                    if let Some((state, _)) = model.coming.pop_front() {
                        model.past.push(state);
                    }
                    continue;
                }
                let Some((state, touched)) = model.coming.pop_front() else { continue };
                // The block before this one, announced or not.
                let before = model.past.last().map_or(0, |state| state.id);
                let parent = parent(before, model);
                cache.announce(chain, &parent, state.tip(), touched.iter().map(|key| [*key; 32]));
                model.announced = state.clone();
                model.past.push(state);
            }
            Step::Reorganise(chain, to, same) => {
                let model = &mut models[usize::from(chain.code())];
                let mut state = model.past[to.index(model.past.len())].clone();
                if !same {
                    next += 1;
                    state.id = next;
                    state.branch = next;
                    state.touched.insert(next as u8 % KEYS, next);
                }
                model.coming.clear();
                cache.reorganise(chain, state.tip());
                model.past.push(state.clone());
                model.store = state.clone();
                model.announced = state;
            }
            Step::Compute(chain, query, key) => {
                let body = models[usize::from(chain.code())].store.body(chain, query, key);
                computed.push((chain, query, key, body));
            }
            Step::Fill(which) => {
                if let Some((chain, query, key, body)) = computed.get(which.index(computed.len().max(1))) {
                    let before = cache.counters();
                    cache.fill(*chain, *query, &[*key; 32], body);
                    let announced = &models[usize::from(chain.code())].announced;
                    let current =
                        body[..32] == announced.tip().hash && body[32..40] == announced.tip().height.to_be_bytes();
                    let after = cache.counters();
                    assert_eq!(after.late_fills - before.late_fills, u64::from(!current));
                    if current && config.bytes > 1 << 20 {
                        assert_eq!(after.fills - before.fills, 1);
                        check(&cache, &models[usize::from(chain.code())], *chain, *query, *key, true);
                    }
                }
            }
            Step::Get(chain, query, key) => check(&cache, &models[usize::from(chain.code())], chain, query, key, false),
        }
    }
    for (chain, model) in [Chain::Own, Chain::Bitcoin].into_iter().zip(&models) {
        assert_eq!(cache.tip(chain), Some(model.announced.tip()));
        for query in [Query::Latest, Query::Transaction, Query::Locator, Query::Index] {
            (0..KEYS).for_each(|key| check(&cache, model, chain, query, key, false));
        }
    }
}

/// Whatever the cache returns must be true as of the last announcement.
fn check(cache: &Cache, model: &Model, chain: Chain, query: Query, key: u8, present: bool) {
    let body = model.announced.body(chain, query, key);
    let mut room = [0; 1500];
    match cache.get(chain, query, &[key; 32], &mut room) {
        Lookup::Hit(len) => {
            assert_eq!(&room[..len], &body[..], "{chain} {query} {key}");
            assert!(room[len..].iter().all(|byte| *byte == 0));
            let mut short = [0; 50];
            assert_eq!(cache.get(chain, query, &[key; 32], &mut short), Lookup::TooLarge(len));
            assert_eq!(short, [0; 50]);
        }
        Lookup::Miss => {
            assert!(!present, "{chain} {query} {key} was filled and is not there");
            assert_eq!(room, [0; 1500]);
        }
        Lookup::TooLarge(len) => panic!("a body of {len} bytes was never filled"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn never_stale_nor_anothers(steps in prop::collection::vec(step(), 0..200)) {
        run(&Config { bytes: 2 << 20, ..Config::default() }, steps);
    }

    #[test]
    fn never_stale_while_there_is_no_room(steps in prop::collection::vec(step(), 0..200)) {
        run(&Config { bytes: 40 << 10, ..Config::default() }, steps);
    }
}

#[test]
fn a_reply_that_is_no_body_is_refused() {
    let cache = Cache::new(&Config { bytes: 1 << 20, ..Config::default() }).unwrap();
    let tip = Tip { hash: [5; 32], height: 7 };
    cache.reorganise(Chain::Own, tip);
    for body in [&[][..], &[5; 39], &[5; 40], &[5; 2000]] {
        cache.fill(Chain::Own, Query::Latest, &[1; 32], body);
    }
    let mut long = [0; 2000];
    long[..32].fill(5);
    long[39] = 7;
    cache.fill(Chain::Own, Query::Latest, &[1; 32], &long);
    assert_eq!((cache.counters().fills, cache.counters().late_fills, cache.counters().refused_fills), (0, 4, 1));
    cache.fill(Chain::Own, Query::Latest, &[1; 32], &long[..1424]);
    assert_eq!(cache.get(Chain::Own, Query::Latest, &[1; 32], &mut long), Lookup::Hit(1424));
    assert_eq!(cache.get(Chain::Own, Query::Transaction, &[1; 32], &mut long), Lookup::Miss);
    assert_eq!(cache.get(Chain::Bitcoin, Query::Latest, &[1; 32], &mut long), Lookup::Miss);
}

#[test]
fn the_least_used_go_first_when_there_is_no_room() {
    let cache = Cache::new(&Config { bytes: 512 << 10, ..Config::default() }).unwrap();
    let tip = Tip { hash: [5; 32], height: 7 };
    cache.reorganise(Chain::Own, tip);
    let key = |number: u32| std::array::from_fn(|i| (number >> (i % 4 * 8)) as u8);
    let mut body = [0; 600];
    body[..32].fill(5);
    body[39] = 7;
    let mut hot = 0;
    for number in 0..20_000 {
        body[40..44].copy_from_slice(&u32::to_be_bytes(number));
        cache.fill(Chain::Own, Query::Latest, &key(number), &body);
        for number in 0..10_u32 {
            let mut room = [0; 600];
            if cache.get(Chain::Own, Query::Latest, &key(number), &mut room) == Lookup::Hit(600) {
                assert_eq!(room[40..44], number.to_be_bytes());
                hot += 1;
            }
        }
    }
    let counters = cache.counters();
    assert_eq!(counters.fills + counters.refused_fills, 20_000);
    assert!(counters.evictions > 15_000 && counters.refused_fills == 0, "{counters:?}");
    assert!(hot > 190_000, "ten replies that are asked for all the time were there {hot} times of 200,000");
}
