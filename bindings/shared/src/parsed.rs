use verify::{BatchVerifier, RuleCode};

use crate::code;

/// Verifies the items that could be parsed; there are as many items as codes.
pub(crate) fn verify_parsed<B: BatchVerifier<Rule: Clone + Into<RuleCode>>>(
    batch: &mut B,
    codes: &mut [u8],
    parsed: impl IntoIterator<Item = Result<B::Item, B::Rule>>,
) {
    let verify = |items: Vec<B::Item>| {
        items.into_iter().for_each(|item| batch.push(item));
        batch.verify_each().to_vec()
    };
    for (item, verdict) in each_parsed(codes, parsed, verify) {
        codes[item] = code(verdict.map_err(Into::into));
    }
}

/// Calls `work` with the items that could be parsed, out of as many as there are codes. Returns their positions and
/// results.
pub(crate) fn each_parsed<T, E: Into<RuleCode>, R>(
    codes: &mut [u8],
    parsed: impl IntoIterator<Item = Result<T, E>>,
    work: impl FnOnce(Vec<T>) -> Vec<R>,
) -> Vec<(usize, R)> {
    let mut items = Vec::with_capacity(codes.len());
    let mut places = Vec::with_capacity(codes.len());
    for ((place, code), parsed) in codes.iter_mut().enumerate().zip(parsed) {
        match parsed {
            Ok(item) => {
                items.push(item);
                places.push(place);
            }
            Err(rule) => *code = rule.into() as u8,
        }
    }
    places.into_iter().zip(work(items)).collect()
}
