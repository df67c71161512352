use secp256k1::{Keypair, SECP256K1};

use super::*;
use crate::secp256k1::XOnlyKey;

/// The verdicts of all backends, which agree.
fn verdicts(items: &[Signed<'_>]) -> Vec<Result<(), Rule>> {
    let single: Vec<_> = items.iter().map(verify).collect();
    for backend in Backend::tested() {
        let mut verifier = Verifier::on(backend).unwrap();
        items.iter().for_each(|item| verifier.push(*item));
        assert_eq!(verifier.verify_each(), single, "{backend:?}");
        assert!(verifier.is_empty());
        items.iter().for_each(|item| verifier.push(*item));
        let first = single.iter().enumerate().find_map(|(position, verdict)| Some((position, verdict.err()?)));
        assert_eq!(verifier.verify_all(), first.map_or(Ok(()), Err), "{backend:?}");
        assert!(verifier.is_empty());
    }
    single
}

fn sign(secret: [u8; 32], message: &[u8]) -> Signed<'_> {
    let pair = Keypair::from_seckey_byte_array(SECP256K1, secret).unwrap();
    let signature = SECP256K1.sign_schnorr_no_aux_rand(message, &pair);
    Signed::parse(message, &signature.to_byte_array(), &pair.x_only_public_key().0.serialize()).unwrap()
}

fn from_hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.chars().map(|digit| digit.to_digit(16).unwrap() as u8).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

/// BIP340's own vectors. The comment of each invalid one says which rule it breaks.
#[test]
fn bip340() {
    let text = include_str!("../../../../../vectors/secp256k1/bip340.csv");
    let (mut run, mut items, mut expected) = (0, Vec::new(), Vec::new());
    let lines: Vec<Vec<&str>> = text.lines().skip(1).map(|line| line.splitn(8, ',').collect()).collect();
    let messages: Vec<Vec<u8>> = lines.iter().map(|fields| from_hex(fields[4])).collect();
    for (fields, message) in lines.iter().zip(&messages) {
        let [_, _, key, _, _, signature, valid, comment] = fields[..] else { panic!("eight fields a line") };
        let verdict = match comment {
            _ if valid == "TRUE" => Ok(()),
            "public key not on the curve" => Err(Rule::KeyNotOnCurve),
            "sig[0:32] is not an X coordinate on the curve" => Err(Rule::NonceNotOnCurve),
            "sig[0:32] is equal to field size" | "sig[32:64] is equal to curve order" => Err(Rule::Range),
            "public key is not a valid X coordinate because it exceeds the field size" => Err(Rule::KeyRange),
            "has_even_y(R) is false" | "negated message" | "negated s value" => Err(Rule::Mismatch),
            // There is no point with an x of 0.
            _ if comment.starts_with("sG - eP is infinite") && comment.ends_with("as 0") => Err(Rule::NonceNotOnCurve),
            _ if comment.starts_with("sG - eP is infinite") => Err(Rule::Mismatch),
            _ => panic!("comment {comment:?}"),
        };
        run += 1;
        match Signed::parse(message, &from_hex(signature), &from_hex(key)) {
            Ok(item) => {
                items.push(item);
                expected.push(verdict);
            }
            Err(rule) => assert_eq!(verdict, Err(rule), "{comment}"),
        }
    }
    assert_eq!((run, items.len()), (19, 16));
    assert_eq!(verdicts(&items), expected);
    // Each alone, too.
    for (item, verdict) in items.iter().zip(expected) {
        assert_eq!(verdicts(&[*item]), [verdict]);
    }
}

#[test]
fn lengths_are_checked() {
    let good = sign([1; 32], b"message");
    let (signature, key) = (good.signature.bytes(), *good.key.bytes());
    assert_eq!(Signed::parse(b"message", &signature, &key), Ok(good));
    assert_eq!(Signed::parse(b"message", &signature[1..], &key), Err(Rule::SignatureLength));
    assert_eq!(Signed::parse(b"message", &signature, &key[1..]), Err(Rule::KeyEncoding));
    assert_eq!(Signed::parse(b"message", &[&signature[..], &[0]].concat(), &key), Err(Rule::SignatureLength));
    assert_eq!(Signed::parse(b"message", &signature, &[&key[..], &[0]].concat()), Err(Rule::KeyEncoding));
}

/// Valid signatures with repeating keys, on messages of different lengths.
fn messages(count: usize) -> Vec<Vec<u8>> {
    (0..count).map(|number| vec![number as u8; 32 + number % 3]).collect()
}

fn good(messages: &[Vec<u8>]) -> Vec<Signed<'_>> {
    messages.iter().enumerate().map(|(at, message)| sign([1 + (at % 37) as u8; 32], message)).collect()
}

#[test]
fn batches_of_all_sizes_are_good() {
    let messages = messages(70);
    let items = good(&messages);
    for count in [0, 1, 2, 15, 16, 17, 32, 33, 34, 64, 70] {
        assert_eq!(verdicts(&items[..count]), vec![Ok(()); count]);
    }
}

#[test]
fn the_bad_ones_are_found_in_a_batch() {
    let messages = messages(100);
    for bad in [&[0][..], &[99], &[50], &[3, 4, 97], &[0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 99]] {
        let mut items = good(&messages);
        let mut expected = vec![Ok(()); items.len()];
        for (number, at) in bad.iter().enumerate() {
            expected[*at] = Err(match number % 4 {
                0 => {
                    items[*at].signature.s[31] ^= 1;
                    Rule::Mismatch
                }
                1 => {
                    items[*at].key = XOnlyKey([0; 32]);
                    Rule::KeyNotOnCurve
                }
                2 => {
                    items[*at].signature.r = [0; 32];
                    Rule::NonceNotOnCurve
                }
                _ => {
                    items[*at].message = b"another";
                    Rule::Mismatch
                }
            });
        }
        assert_eq!(verdicts(&items), expected);
    }
}

/// Two signatures whose errors cancel out when added without factors.
#[test]
fn errors_do_not_cancel_out() {
    let messages = messages(60);
    let mut items = good(&messages);
    items[5].signature.s = subtract_one(&items[5].signature.s);
    items[6].signature.s = add_one(&items[6].signature.s);
    let mut expected = vec![Ok(()); items.len()];
    expected[5..7].fill(Err(Rule::Mismatch));
    assert_eq!(verdicts(&items), expected);
}

fn add_one(number: &[u8; 32]) -> [u8; 32] {
    let mut one = [0; 32];
    one[31] = 1;
    crate::secp256k1::number::add(number, &one)
}

fn subtract_one(number: &[u8; 32]) -> [u8; 32] {
    let mut one = [0; 32];
    one[31] = 1;
    crate::secp256k1::number::subtract(number, &one)
}

/// One signature many times: its points meet themselves and their negatives.
#[test]
fn a_signature_many_times_over() {
    let good = sign([1; 32], b"again");
    let mut items = vec![good; 80];
    assert_eq!(verdicts(&items), vec![Ok(()); 80]);
    items[77].signature.s[0] ^= 1;
    let mut expected = vec![Ok(()); 80];
    expected[77] = Err(Rule::Mismatch);
    assert_eq!(verdicts(&items), expected);
}
