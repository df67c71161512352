use secp256k1::{Keypair, SECP256K1};

use super::*;

/// The verdicts of all backends, which agree.
fn verdicts(items: &[Signed<'_>]) -> Vec<Result<(), Rule>> {
    let single: Vec<_> = items.iter().map(verify).collect();
    for backend in Backend::ALL {
        let Some(mut verifier) = Verifier::on(backend) else { continue };
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

/// BIP340's own vectors. What each invalid one breaks is what its comment says.
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
