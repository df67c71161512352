use verify::{BatchVerifier, RuleCode};

use crate::code;

/// Parses and verifies as many items as there are codes.
pub(crate) fn verify_parsed<B: BatchVerifier<Rule: Clone + Into<RuleCode>>>(
    batch: &mut B,
    codes: &mut [u8],
    parse: impl Fn(usize) -> Result<B::Item, B::Rule>,
) {
    let verify = |items: Vec<B::Item>| {
        items.into_iter().for_each(|item| batch.push(item));
        batch.verify_each().to_vec()
    };
    for (item, verdict) in each_parsed(codes, parse, verify) {
        codes[item] = code(verdict.map_err(Into::into));
    }
}

/// Parses as many items as there are codes, and calls `work` with those that can be. Returns where they are, and what came of them.
pub(crate) fn each_parsed<T, E: Into<RuleCode>, R>(
    codes: &mut [u8],
    parse: impl Fn(usize) -> Result<T, E>,
    work: impl FnOnce(Vec<T>) -> Vec<R>,
) -> Vec<(usize, R)> {
    let mut parsed = Vec::with_capacity(codes.len());
    let mut places = Vec::with_capacity(codes.len());
    for (place, code) in codes.iter_mut().enumerate() {
        match parse(place) {
            Ok(item) => {
                parsed.push(item);
                places.push(place);
            }
            Err(rule) => *code = rule.into() as u8,
        }
    }
    places.into_iter().zip(work(parsed)).collect()
}
