//! The examples of BIP143, and what breaks a claim.
use super::*;
use crate::bitcoin::sighash::SignatureHasher;
use secp256k1::{Message, PublicKey, SECP256K1, ecdsa};
use spv::bitcoin::Encoding;

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

fn coin(script: &str, amount: u64) -> Option<Coin> {
    Some(Coin { amount, script: bytes(script).into() })
}

fn transaction(encoded: &[u8]) -> Transaction<'_> {
    let mut encoding = Encoding::new(encoded);
    let transaction = Transaction::read(&mut encoding).unwrap();
    encoding.finish().unwrap();
    transaction
}

/// Whether the claim of a single key holds.
fn holds(claim: &Claim<'_>) -> bool {
    let ([key], [signature]) = (&claim.keys[..], &claim.signatures[..]) else { return false };
    let (key, der) = (PublicKey::from_slice(key).unwrap(), ecdsa::Signature::from_der(signature.der).unwrap());
    SECP256K1.verify_ecdsa(Message::from_digest(signature.digest), &der, &key).is_ok()
}

/// "Native P2WPKH": an input that pays to a key, and one to the hash of a key with a witness.
const NATIVE: &str = "01000000000102fff7f7881a8099afa6940d42d1e7f6362bec38171ea3edf433541db4e4ad969f00000000494830450221008b9d1dc26b\
    a6a9cb62127b02742fa9d754cd3bebf337f7a55d114c8e5cdd30be022040529b194ba3f9281a99f2b1c0a19c0489bc22ede944ccf4ecbab4cc618ef3ed01\
    eeffffffef51e1b804cc89d182d279655c3aa89e815b1b309fe287d9b2b55d57b90ec68a0100000000ffffffff02202cb206000000001976a9148280b37d\
    f378db99f66f85c95a783a76ac7a6d5988ac9093510d000000001976a9143bde42dbee7e4dbe6a21b2d50ce2f0167faa815988ac000247304402203609e1\
    7b84f6a7d30c80bfa610b5b4542f32a8a0d5447a12fb1366d7f01cc44a0220573a954c4518331561406f90300e8f3358f51928d43c212a8caed02de67eeb\
    ee0121025476c2e83188368da1ff3e292e7acafcdb3566bb0ad253f62fc70f07aeee635711000000";

/// What it spends.
fn native_coins() -> [Option<Coin>; 2] {
    let key = "2103c9f4836b9a4f77fc0d81f7bcb01b7f1b35916864b9476c241ce9fc198bd25432ac";
    [coin(key, 625_000_000), coin("00141d0f172a0ecb48aee1be1f2687d2963ae33f71a1", 600_000_000)]
}

/// "P2SH-P2WPKH".
const NESTED: &str = "01000000000101db6b1b20aa0fd7b23880be2ecbd4a98130974cf4748fb66092ac4d3ceb1a5477010000001716001479091972186c449e\
    b1ded22b78e40d009bdf0089feffffff02b8b4eb0b000000001976a914a457b684d7f0d539a46a45bbc043f35b59d0d96388ac0008af2f000000001976a9\
    14fd270b1ee6abcaea97fea7ad0402e8bd8ad6d77c88ac02473044022047ac8e878352d3ebbde1c94ce3a10d057c24175747116f8288e5d794d12d482f02\
    20217f36a485cae903c713331d877c1f64677e3622ad4010726870540656fe9dcb012103ad1d8e89212f0b92c74d23bb710c00662ad1470198ac48c43f7d\
    6f93a2a2687392040000";

fn nested_coin() -> [Option<Coin>; 1] {
    [coin("a9144733f37cf4db86fbc2efed2500b4f4e49f31202387", 1_000_000_000)]
}

#[test]
fn claims_of_keys_and_witnesses_hold() {
    let (encoded, coins) = (bytes(NATIVE), native_coins());
    let found = claims(&transaction(&encoded), &coins);
    let found: Vec<&Claim<'_>> = found.iter().map(|claim| claim.as_ref().unwrap().as_ref().unwrap()).collect();
    assert_eq!(found.len(), 2);
    let digest = "c37af31116d1b27caf68aae9e3ac82f1477929014d5b917657d0eb49478cb670";
    assert_eq!(found[1].signatures[0].digest[..], bytes(digest));
    assert!(found.into_iter().all(holds));

    let (encoded, coins) = (bytes(NESTED), nested_coin());
    let found = claims(&transaction(&encoded), &coins);
    let claim = found[0].as_ref().unwrap().as_ref().unwrap();
    let digest = "64f3b0f4dd2bb3aa1ce8566d220cc74dda9df97d8490cc81d89d735c92e59fb6";
    assert_eq!(claim.signatures[0].digest[..], bytes(digest));
    assert!(holds(claim));
}

/// "P2SH-P2WSH": a script of six keys, signed with six kinds of coverage.
#[test]
fn digests_of_all_kinds_of_coverage() {
    let encoded = bytes(
        "010000000136641869ca081e70f394c6948e8af409e18b619df2ed74aa106c1ca29787b96e0100000000ffffffff0200e9a435000000001976a914389f\
         fce9cd9ae88dcc0631e88a821ffdbe9bfe2688acc0832f05000000001976a9147480a33f950689af511e6e84c138dbbd3c3ee41588ac00000000",
    );
    let script = bytes(
        "56210307b8ae49ac90a048e9b53357a2354b3334e9c8bee813ecb98e99a7e07e8c3ba32103b28f0c28bfab54554ae8c658ac5c3e0ce6e79ad336331f78\
         c428dd43eea8449b21034b8113d703413d57761b8b9781957b8c0ac1dfe69f492580ca4195f50376ba4a21033400f6afecb833092a9a21cfdf1ed1376e\
         58c5d1f47de74683123987e967a8f42103a6d48b1131e94ba04d9737d61acdaa1322008af9602b3b14862c07a1789aac162102d8b661b0b3302ee2f162\
         b09e07a55ad5dfbe673a9f01d9f0c19617681024306b56ae",
    );
    let transaction = transaction(&encoded);
    let mut hasher = SignatureHasher::new(&transaction);
    for (hash_type, digest) in [
        (0x01, "185c0be5263dce5b4bb50a047973c1b6272bfbd0103a89444597dc40b248ee7c"),
        (0x02, "e9733bc60ea13c95c6527066bb975a2ff29a925e80aa14c213f686cbae5d2f36"),
        (0x03, "1e1f1c303dc025bd664acb72e583e933fae4cff9148bf78c157d1e8f78530aea"),
        (0x81, "2a67f03e63a6a422125878b40b82da593be8d4efaafe88ee528af6e5a9955c6e"),
        (0x82, "781ba15f3779d5542ce8ecb5c18716733a5ee42a6f51488ec96154934e2c890a"),
    ] {
        assert_eq!(hasher.version_0(0, &script, 987_654_321, hash_type)[..], bytes(digest), "{hash_type:02x}");
    }
    let Form::Multisig(6, keys) = Form::of(&script) else { panic!() };
    assert_eq!(keys.len(), 6);
}

#[test]
fn what_breaks_a_claim_is_named() {
    let found = |encoded: &[u8], coins: &[Option<Coin>], input: usize| {
        claims(&transaction(encoded), coins)[input].clone().map(|claim| claim.map(|_| ()))
    };
    let native = bytes(NATIVE);
    assert_eq!(found(&native, &[None, None], 1), None);
    let with = |script: &str| [coin(script, 1), coin(script, 1)];
    assert_eq!(found(&native, &with("51"), 0), Some(Err(Unclaimed::Other)));

    assert_eq!(found(&native, &with(&format!("0014{}", "00".repeat(20))), 1), Some(Err(Unclaimed::KeyHash)));
    assert_eq!(found(&native, &with(&format!("0020{}", "00".repeat(32))), 1), Some(Err(Unclaimed::ScriptHash)));
    assert_eq!(found(&native, &with(&format!("0014{}", "00".repeat(20))), 0), Some(Err(Unclaimed::Witness)));
    assert_eq!(found(&native, &with(&format!("76a914{}88ac", "00".repeat(20))), 0), Some(Err(Unclaimed::Missing)));
    assert_eq!(found(&native, &with(&format!("a914{}87", "00".repeat(20))), 0), Some(Err(Unclaimed::ScriptHash)));
    let key = format!("21{}ac", "02".repeat(33));
    assert_eq!(found(&native, &with(&key), 1), Some(Err(Unclaimed::Witness)), "a key takes no witness");
}
