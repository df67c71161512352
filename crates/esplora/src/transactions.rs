//! Transactions and their spenders, as JSON.
use bitcoin::{Address, Network, Script, script::Instruction};
use chain::bitcoin::{Input, Output, Transaction};
use electrum::Outpoint;
use spv::{Hash, Locator};

use crate::{
    reader::{Reader, parse},
    reply::Failure,
    values::{Id, InputValue, OutputValue, SpendingValue, Status, TransactionValue, hex},
};

/// The transaction at a place, with the outputs that its inputs spend.
pub fn value(reader: &mut Reader<'_>, network: Network, locator: Locator) -> Result<TransactionValue, Failure> {
    let (hash, bytes) = reader.transaction(locator)?;
    let status = reader.status(locator)?;
    value_of(reader, network, (&hash, &bytes), status)
}

/// A transaction, with the outputs that its inputs spend.
pub fn value_of(
    reader: &mut Reader<'_>,
    network: Network,
    (hash, bytes): (&Hash, &[u8]),
    status: Status,
) -> Result<TransactionValue, Failure> {
    let transaction = parse(bytes).ok_or_else(|| Failure::not_found("Transaction not found"))?;
    let mut witnesses = transaction.witnesses();
    let mut vin = Vec::new();
    for input in transaction.inputs() {
        vin.push(input_value(reader, network, input, &witnesses.next().unwrap_or_default())?);
    }
    let vout: Vec<OutputValue> = transaction.outputs().map(|output| output_value(network, output)).collect();
    let sum = |values: &mut dyn Iterator<Item = u64>| values.fold(0, u64::saturating_add);
    let paid = sum(&mut vout.iter().map(|output| output.value));
    let spent = sum(&mut vin.iter().filter_map(|input| input.prevout.as_ref()).map(|output| output.value));
    Ok(TransactionValue {
        txid: Id(*hash),
        version: u32::from_le_bytes(*transaction.version()),
        locktime: u32::from_le_bytes(*transaction.lock_time()),
        // A coinbase spends nothing.
        fee: spent.saturating_sub(paid),
        vin,
        vout,
        size: bytes.len(),
        weight: weight(&transaction, bytes.len()),
        status,
    })
}

/// The weight of a transaction of `size` bytes: witness bytes count once, all others four times.
pub fn weight(transaction: &Transaction<'_>, size: usize) -> usize {
    3 * transaction.stripped_size() + size
}

fn input_value(
    reader: &mut Reader<'_>,
    network: Network,
    input: Input<'_>,
    witness: &[&[u8]],
) -> Result<InputValue, Failure> {
    let is_coinbase = input.is_null();
    let prevout = match is_coinbase {
        true => None,
        false => reader.spent_output(input.spent(), |output| {
            let scripts = inner_scripts(Script::from_bytes(output.script), input.script, witness);
            (output_value(network, output), scripts)
        })?,
    };
    let (prevout, [redeem_script, witness_script]) =
        prevout.map(|(output, scripts)| (Some(output), scripts)).unwrap_or_default();
    let (hash, number) = input.spent();
    Ok(InputValue {
        txid: Id(hash),
        vout: number,
        prevout,
        scriptsig: hex(input.script),
        scriptsig_asm: assembler(input.script),
        witness: witness.iter().map(|item| hex(item)).collect(),
        is_coinbase,
        sequence: u32::from_le_bytes(*input.sequence),
        inner_redeemscript_asm: redeem_script,
        inner_witnessscript_asm: witness_script,
    })
}

/// The scripts that an output names by hash, as its spender reveals them.
fn inner_scripts(output: &Script, input: &[u8], witness: &[&[u8]]) -> [Option<String>; 2] {
    let last = || match Script::from_bytes(input).instructions().last() {
        Some(Ok(Instruction::PushBytes(pushed))) => Some(pushed.as_bytes()),
        _ => None,
    };
    let redeem = if output.is_p2sh() { last() } else { None };
    let is_by_witness = output.is_p2wsh() || redeem.is_some_and(|redeem| Script::from_bytes(redeem).is_p2wsh());
    let by_witness = if is_by_witness { witness.last().copied() } else { None };
    [redeem, by_witness].map(|script| script.map(assembler))
}

fn assembler(script: &[u8]) -> String {
    Script::from_bytes(script).to_asm_string()
}

fn output_value(network: Network, output: Output<'_>) -> OutputValue {
    let script = Script::from_bytes(output.script);
    OutputValue {
        scriptpubkey: hex(output.script),
        scriptpubkey_asm: script.to_asm_string(),
        scriptpubkey_type: kind(script),
        scriptpubkey_address: Address::from_script(script, network).ok().map(|address| address.to_string()),
        value: output.amount,
    }
}

/// The script that anybody can spend without a witness, so that a child can pay for its parent (pay to anchor, P2A).
const PAY_TO_ANCHOR: &[u8] = &[0x51, 0x02, 0x4e, 0x73];

fn kind(script: &Script) -> &'static str {
    match () {
        () if script.is_empty() => "empty",
        () if script.is_op_return() => "op_return",
        () if script.is_p2pk() => "p2pk",
        () if script.is_p2pkh() => "p2pkh",
        () if script.is_p2sh() => "p2sh",
        () if script.is_p2wpkh() => "v0_p2wpkh",
        () if script.is_p2wsh() => "v0_p2wsh",
        () if script.is_p2tr() => "v1_p2tr",
        () if script.as_bytes() == PAY_TO_ANCHOR => "anchor",
        () => "unknown",
    }
}

/// Who spends an output. An output that does not exist counts as unspent.
pub fn spending(reader: &mut Reader<'_>, transaction: &Hash, output: u32) -> Result<SpendingValue, Failure> {
    let locator = reader.locate(transaction)?;
    spending_at(reader, locator, (*transaction, output))
}

/// Who spends each output of a transaction.
pub fn spendings(
    reader: &mut Reader<'_>,
    locator: Option<Locator>,
    (hash, bytes): (&Hash, &[u8]),
) -> Result<Vec<SpendingValue>, Failure> {
    let count = parse(bytes).map_or(0, |transaction| transaction.outputs().count());
    (0..count as u32).map(|output| spending_at(reader, locator, (*hash, output))).collect()
}

fn spending_at(
    reader: &mut Reader<'_>,
    locator: Option<Locator>,
    outpoint: Outpoint,
) -> Result<SpendingValue, Failure> {
    // Pays for an index entry, the hash and the header.
    reader.charge(size_of::<Hash>())?;
    if let Some(locator) = locator
        && let Some((spender, input)) = reader.branch.view().spender(locator, outpoint.1)?
    {
        let (txid, status) = (reader.branch.transaction_hash(spender)?.map(Id), Some(reader.status(spender)?));
        return Ok(SpendingValue { spent: true, txid, vin: Some(input), status });
    }
    let mempool = reader.service.mempool();
    let Some(waiting) = mempool.spender(&outpoint) else { return Ok(SpendingValue::default()) };
    let input = waiting.spent.iter().position(|(spent, _)| *spent == outpoint).map(|input| input as u32);
    Ok(SpendingValue { spent: true, txid: Some(Id(waiting.hash)), vin: input, status: Some(Status::default()) })
}
