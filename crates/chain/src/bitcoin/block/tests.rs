use super::*;
use proptest::prelude::*;
use spv::bitcoin::Network;
use zerocopy::IntoBytes;

/// A transaction as a plain structure, to encode.
#[derive(Clone, Debug)]
struct Model {
    inputs: Vec<([u8; 36], Vec<u8>)>,
    outputs: Vec<Vec<u8>>,
    witness: Option<Vec<Vec<Vec<u8>>>>,
}

fn size(bytes: &mut Vec<u8>, value: usize) {
    match value {
        0..0xfd => bytes.push(value as u8),
        0xfd..0x1_0000 => bytes.extend([&[0xfd][..], &(value as u16).to_le_bytes()].concat()),
        _ => bytes.extend([&[0xfe][..], &(value as u32).to_le_bytes()].concat()),
    }
}

fn string(bytes: &mut Vec<u8>, string: &[u8]) {
    size(bytes, string.len());
    bytes.extend(string);
}

impl Model {
    fn coinbase() -> Self {
        let null = [&[0; 32][..], &[0xff; 4]].concat().try_into().unwrap();
        Self { inputs: vec![(null, vec![1, 2, 3])], outputs: vec![vec![0x51; 30]], witness: None }
    }

    fn encode(&self) -> Vec<u8> {
        self.encode_with(self.witness.as_deref())
    }

    fn encode_with(&self, witness: Option<&[Vec<Vec<u8>>]>) -> Vec<u8> {
        let mut bytes = vec![2, 0, 0, 0];
        if witness.is_some() {
            bytes.extend([0, 1]);
        }
        size(&mut bytes, self.inputs.len());
        for (outpoint, script) in &self.inputs {
            bytes.extend(outpoint);
            string(&mut bytes, script);
            bytes.extend([0xff; 4]);
        }
        size(&mut bytes, self.outputs.len());
        for script in &self.outputs {
            bytes.extend([1; 8]);
            string(&mut bytes, script);
        }
        for stack in witness.unwrap_or_default() {
            size(&mut bytes, stack.len());
            stack.iter().for_each(|item| string(&mut bytes, item));
        }
        bytes.extend([9, 0, 0, 0]);
        bytes
    }
}

fn model() -> impl Strategy<Value = Model> {
    let script = || prop::collection::vec(any::<u8>(), 0..300);
    let outpoint = any::<[[u8; 18]; 2]>().prop_map(|halves| halves.as_flattened().try_into().unwrap());
    let inputs = prop::collection::vec((outpoint, script()), 1..4);
    (inputs, prop::collection::vec(script(), 1..4), any::<bool>()).prop_map(|(inputs, outputs, has_witness)| {
        let witness = has_witness.then(|| inputs.iter().map(|(_, script)| vec![script.clone(), vec![7; 70]]).collect());
        Model { inputs, outputs, witness }
    })
}

fn encode(transactions: &[Model]) -> Vec<u8> {
    let mut bytes = Network::Regtest.genesis().as_bytes().to_vec();
    size(&mut bytes, transactions.len());
    transactions.iter().for_each(|transaction| bytes.extend(transaction.encode()));
    bytes
}

proptest! {
    #[test]
    fn blocks_are_read_as_they_were_written(mut transactions in prop::collection::vec(model(), 0..6)) {
        transactions.insert(0, Model::coinbase());
        let bytes = encode(&transactions);
        let block = Block::parse(&bytes).unwrap();
        prop_assert_eq!(block.bytes(), &bytes[..]);
        prop_assert_eq!(block.transactions().len(), transactions.len());
        for (found, model) in block.transactions().iter().zip(&transactions) {
            let stripped = model.encode_with(None);
            prop_assert_eq!(found.hash(), sha256d(&[&stripped]));
            prop_assert_eq!(found.stripped_size(), stripped.len());
            prop_assert_eq!(found.stripped(), stripped);
            let inputs: Vec<[u8; 36]> = found.inputs().map(|input| *input.outpoint).collect();
            prop_assert_eq!(inputs, model.inputs.iter().map(|input| input.0).collect::<Vec<_>>());
            let outputs: Vec<&[u8]> = found.outputs().map(|output| output.script).collect();
            prop_assert_eq!(outputs, model.outputs.iter().collect::<Vec<_>>());
        }
        prop_assert_eq!(coinbase(&bytes).unwrap().stripped(), transactions[0].encode());
        for end in 0..bytes.len() {
            prop_assert!(Block::parse(&bytes[..end]).is_err());
        }
        let longer = [&bytes[..], &[0]].concat();
        prop_assert_eq!(Block::parse(&longer).err(), Some(EncodingError::Trailing(bytes.len()).into()));
    }

    #[test]
    fn changed_bytes_are_taken_without_panic(transaction in model(), at: prop::sample::Index, byte: u8) {
        let mut bytes = encode(&[Model::coinbase(), transaction]);
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if let Ok(block) = Block::parse(&bytes) {
            for transaction in block.transactions() {
                prop_assert!(transaction.inputs().count() > 0 && transaction.outputs().count() > 0);
            }
        }
    }
}

#[test]
fn every_rule_has_its_error() {
    let check = |transactions: &[Model]| Block::parse(&encode(transactions)).map(|_| ()).unwrap_err();
    let at = |position, error: TransactionError| BlockError::Transaction { position, error };
    let plain = Model { inputs: vec![([1; 36], vec![])], outputs: vec![vec![]], witness: None };
    assert_eq!(check(&[]), BlockError::NoTransactions);
    assert_eq!(check(std::slice::from_ref(&plain)), at(0, CoinbaseError::Spends.into()));
    assert_eq!(check(&[Model::coinbase(), Model::coinbase()]), at(1, TransactionError::CoinbaseAgain));
    let no_outputs = Model { outputs: vec![], inputs: vec![([1; 36], vec![0; 30])], ..plain.clone() };
    assert_eq!(check(&[Model::coinbase(), no_outputs]), at(1, TransactionError::NoOutputs));
    let empty = Model { witness: Some(vec![vec![]]), ..plain.clone() };
    assert_eq!(check(&[Model::coinbase(), empty]), at(1, TransactionError::EmptyWitness));
    let inputs = Model { inputs: vec![], outputs: vec![vec![0; 60]], witness: None };
    assert!(matches!(check(&[Model::coinbase(), inputs]), BlockError::Transaction { position: 1, .. }));
    assert_eq!(Block::parse(&[0; 79]).err(), Some(BlockError::Short(79)));
    assert_eq!(Block::parse(&vec![0; MAX_BLOCK_SIZE + 1]).err(), Some(BlockError::TooLarge));
    // A million bytes without witness weigh four million.
    let heavy = |script| Model { outputs: vec![vec![0; script]], ..plain.clone() };
    assert_eq!(check(&[Model::coinbase(), heavy(999_900)]), BlockError::TooLarge);
    assert!(Block::parse(&encode(&[Model::coinbase(), heavy(999_700)])).is_ok());
    let mut flag = encode(&[Model { witness: Some(vec![vec![vec![1]]]), ..plain.clone() }]);
    flag[81 + 5] = 2;
    assert_eq!(Block::parse(&flag).err(), Some(at(0, TransactionError::Flag(2))));
}

#[test]
fn a_transaction_of_the_size_of_a_node_is_told() {
    let model = Model { inputs: vec![([1; 36], vec![])], outputs: vec![vec![0x51; 4]], witness: None };
    let with_witness = Model { witness: Some(vec![vec![vec![1]]]), ..model.clone() };
    let longer = Model { outputs: vec![vec![0x51; 5]], ..model.clone() };
    let bytes = encode(&[Model::coinbase(), model, with_witness, longer]);
    let block = Block::parse(&bytes).unwrap();
    let found: Vec<bool> = block.transactions().iter().map(Transaction::is_node_sized).collect();
    assert_eq!(found, [false, true, true, false]);
}
