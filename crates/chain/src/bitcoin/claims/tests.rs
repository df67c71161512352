//! The examples of BIP143 and BIP341, and violations of claims.
use super::*;
use crate::bitcoin::sighash::SignatureHasher;
use secp256k1::{Message, PublicKey, SECP256K1, XOnlyPublicKey, ecdsa, schnorr};
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
    let (key, der) = (PublicKey::from_slice(key).unwrap(), ecdsa::Signature::from_der(signature.bytes).unwrap());
    SECP256K1.verify_ecdsa(Message::from_digest(signature.digest), &der, &key).is_ok()
}

/// "Native P2WPKH": an input that pays to a key, and one to the hash of a key with a witness.
const NATIVE: &str = "01000000000102fff7f7881a8099afa6940d42d1e7f6362bec38171ea3edf433541db4e4ad969f00000000494830450221008b9d1dc26b\
    a6a9cb62127b02742fa9d754cd3bebf337f7a55d114c8e5cdd30be022040529b194ba3f9281a99f2b1c0a19c0489bc22ede944ccf4ecbab4cc618ef3ed01\
    eeffffffef51e1b804cc89d182d279655c3aa89e815b1b309fe287d9b2b55d57b90ec68a0100000000ffffffff02202cb206000000001976a9148280b37d\
    f378db99f66f85c95a783a76ac7a6d5988ac9093510d000000001976a9143bde42dbee7e4dbe6a21b2d50ce2f0167faa815988ac000247304402203609e1\
    7b84f6a7d30c80bfa610b5b4542f32a8a0d5447a12fb1366d7f01cc44a0220573a954c4518331561406f90300e8f3358f51928d43c212a8caed02de67eeb\
    ee0121025476c2e83188368da1ff3e292e7acafcdb3566bb0ad253f62fc70f07aeee635711000000";

/// The coins that it spends.
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
    let found = claims(&transaction(&encoded), &coins, Rules::ALL);
    let found: Vec<&Claim<'_>> = found.iter().map(|claim| claim.as_ref().unwrap().as_ref().unwrap()).collect();
    assert_eq!(found.len(), 2);
    let digest = "c37af31116d1b27caf68aae9e3ac82f1477929014d5b917657d0eb49478cb670";
    assert_eq!(found[1].signatures[0].digest[..], bytes(digest));
    assert!(found.into_iter().all(holds));

    let (encoded, coins) = (bytes(NESTED), nested_coin());
    let found = claims(&transaction(&encoded), &coins, Rules::ALL);
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
    let Form::Multisig(6, keys) = Form::from_script(&script) else { panic!() };
    assert_eq!(keys.len(), 6);
}

#[test]
fn what_breaks_a_claim_is_named() {
    let found = |encoded: &[u8], coins: &[Option<Coin>], input: usize| {
        claims(&transaction(encoded), coins, Rules::ALL)[input].clone().map(|claim| claim.map(|_| ()))
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

/// The signed transaction of BIP341's `wallet-test-vectors.json` ("keyPathSpending"): nine inputs, seven of them of
/// Taproot outputs, with signatures of all seven sighash types.
const TAPROOT: &str = "\
    020000000001097de20cbff686da83a54981d2b9bab3586f4ca7e48f57f5b55963115f3b334e9c010000000000000000d7b7cab57b1393ace2d064f4d4\
    a2cb8af6def61273e127517d44759b6dafdd990000000000fffffffff8e1f583384333689228c5d28eac13366be082dc57441760d957275419a4184200\
    0000006b4830450221008f3b8f8f0537c420654d2283673a761b7ee2ea3c130753103e08ce79201cf32a022079e7ab904a1980ef1c5890b648c8783f4d\
    10103dd62f740d13daa79e298d50c201210279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798fffffffff0689180aa63b3\
    0cb162a73c6d2a38b7eeda2a83ece74310fda0843ad604853b0100000000feffffffaa5202bdf6d8ccd2ee0f0202afbbb7461d9264a25e5bfd3c5a52ee\
    1239e0ba6c0000000000feffffff956149bdc66faa968eb2be2d2faa29718acbfe3941215893a2a3446d32acd050000000000000000000e664b9773b88\
    c09c32cb70a2a3e4da0ced63b7ba3b22f848531bbb1d5d5f4c94010000000000000000e9aa6b8e6c9de67619e6a3924ae25696bb7b694bb677a632a74e\
    f7eadfd4eabf0000000000ffffffffa778eb6a263dc090464cd125c466b5a99667720b1c110468831d058aa1b82af10100000000ffffffff0200ca9a3b\
    000000001976a91406afd46bcdfd22ef94ac122aa11f241244a37ecc88ac807840cb0000000020ac9a87f5594be208f8532db38cff670c450ed2fea8fc\
    defcc9a663f78bab962b0141ed7c1647cb97379e76892be0cacff57ec4a7102aa24296ca39af7541246d8ff14d38958d4cc1e2e478e4d4a764bbfd835b\
    16d4e314b72937b29833060b87276c030141052aedffc554b41f52b521071793a6b88d6dbca9dba94cf34c83696de0c1ec35ca9c5ed4ab28059bd606a4\
    f3a657eec0bb96661d42921b5f50a95ad33675b54f83000141ff45f742a876139946a149ab4d9185574b98dc919d2eb6754f8abaa59d18b025637a3aa0\
    43b91817739554f4ed2026cf8022dbd83e351ce1fabc272841d2510a010140b4010dd48a617db09926f729e79c33ae0b4e94b79f04a1ae93ede6315eb3\
    669de185a17d2b0ac9ee09fd4c64b678a0b61a0a86fa888a273c8511be83bfd6810f0247304402202b795e4de72646d76eab3f0ab27dfa30b810e856ff\
    3a46c9a702df53bb0d8cc302203ccc4d822edab5f35caddb10af1be93583526ccfbade4b4ead350781e2f8adcd012102f9308a019258c31049344f85f8\
    9d5229b531c845836f99b08601f113bce036f90141a3785919a2ce3c4ce26f298c3d51619bc474ae24014bcdd31328cd8cfbab2eff3395fa0a16fe5f48\
    6d12f22a9cedded5ae74feb4bbe5351346508c5405bcfee0020141ea0c6ba90763c2d3a296ad82ba45881abb4f426b3f87af162dd24d5109edc1cdd119\
    15095ba47c3a9963dc1e6c432939872bc49212fe34c632cd3ab9fed429c4820141bbc9584a11074e83bc8c6759ec55401f0ae7b03ef290c3139814f545\
    b58a9f8127258000874f44bc46db7646322107d4d86aec8e73b8719a61fff761d75b5dd9810065cd1d";

/// The coins that it spends: amount and script.
const TAPROOT_COINS: [(u64, &str); 9] = [
    (420_000_000, "512053a1f6e454df1aa2776a2814a721372d6258050de330b3c6d10ee8f4e0dda343"),
    (462_000_000, "5120147c9c57132f6e7ecddba9800bb0c4449251c92a1e60371ee77557b6620f3ea3"),
    (294_000_000, "76a914751e76e8199196d454941c45d1b3a323f1433bd688ac"),
    (504_000_000, "5120e4d810fd50586274face62b8a807eb9719cef49c04177cc6b76a9a4251d5450e"),
    (630_000_000, "512091b64d5324723a985170e4dc5a0f84c041804f2cd12660fa5dec09fc21783605"),
    (378_000_000, "00147dd65592d0ab2fe0d0257d571abf032cd9db93dc"),
    (672_000_000, "512075169f4001aa68f15bbed28b218df1d0a62cbbcf1188c6665110c293c907b831"),
    (546_000_000, "5120712447206d7a5238acc7ff53fbe94a3b64539ad291c7cdbc490b7577e4b17df5"),
    (588_000_000, "512077e30a5522dd9f894c3f8b8bd4c4b2cf82ca7da8a3ea6a239655c39c050ab220"),
];

fn taproot_coins() -> Vec<Option<Coin>> {
    TAPROOT_COINS.iter().map(|(amount, script)| coin(script, *amount)).collect()
}

#[test]
fn taproot_outputs_are_spent_by_their_keys() {
    let (encoded, coins) = (bytes(TAPROOT), taproot_coins());
    let found = claims(&transaction(&encoded), &coins, Rules::ALL);
    let found: Vec<Claim<'_>> = found.into_iter().map(|claim| claim.unwrap().unwrap()).collect();
    for (input, digest) in [
        (0, "2514a6272f85cfa0f45eb907fcb0d121b808ed37c6ea160a5a9046ed5526d555"),
        (1, "325a644af47e8a5a2591cda0ab0723978537318f10e6a63d4eed783b96a71a4d"),
        (3, "bf013ea93474aa67815b1b6cc441d23b64fa310911d991e713cd34c7f5d46669"),
        (4, "4f900a0bae3f1446fd48490c2958b5a023228f01661cda3496a11da502a7f7ef"),
        (6, "15f25c298eb5cdc7eb1d638dd2d45c97c4c59dcaec6679cfc16ad84f30876b85"),
        (7, "cd292de50313804dabe4685e83f923d2969577191a3e1d2882220dca88cbeb10"),
        (8, "cccb739eca6c13a8a89e6e5cd317ffe55669bbda23f2fd37b0f18755e008edd2"),
    ] {
        let Claim { scheme: Scheme::Schnorr, keys, signatures } = &found[input] else { panic!("input {input}") };
        let signature = signatures[0];
        assert_eq!(signature.digest[..], bytes(digest), "input {input}");
        let key = XOnlyPublicKey::from_byte_array(keys[0].try_into().unwrap()).unwrap();
        let signature = schnorr::Signature::from_byte_array(signature.bytes.try_into().unwrap());
        assert!(SECP256K1.verify_schnorr(&signature, &bytes(digest), &key).is_ok(), "input {input}");
    }
    assert!([2, 5].into_iter().all(|input| found[input].scheme == Scheme::Ecdsa && holds(&found[input])));
}

#[test]
fn what_breaks_a_taproot_claim_is_named() {
    let encoded = bytes(TAPROOT);
    let mut coins = taproot_coins();
    let found = |encoded: &[u8], coins: &[Option<Coin>], input: usize| {
        claims(&transaction(encoded), coins, Rules::ALL)[input].clone().map(|claim| claim.map(|_| ()))
    };
    // The sighash byte of the first signature: valid types are only 0 to 3, with or without the upper bit.
    let at = encoded.windows(3).position(|window| window == [0x27, 0x6c, 0x03]).unwrap() + 2;
    for (hash_type, expected) in [
        (0x03, Ok(())),
        (0x83, Ok(())),
        (0x00, Err(Unclaimed::Coverage)),
        (0x04, Err(Unclaimed::Coverage)),
        (0x80, Err(Unclaimed::Coverage)),
        (0x84, Err(Unclaimed::Coverage)),
    ] {
        let mut changed = encoded.clone();
        assert_eq!(changed[at], 0x03);
        changed[at] = hash_type;
        assert_eq!(found(&changed, &coins, 0), Some(expected), "{hash_type:02x}");
    }
    // Input 3 has no output 3 to cover.
    let at = encoded.windows(4).position(|window| window == [0xd2, 0x51, 0x0a, 0x01]).unwrap() + 3;
    let mut changed = encoded.clone();
    changed[at] = 0x03;
    assert_eq!(found(&changed, &coins, 3), Some(Err(Unclaimed::Coverage)));

    coins[5] = coin(&format!("5120{}", "07".repeat(32)), 1);
    assert_eq!(found(&encoded, &coins, 5), Some(Err(Unclaimed::Other)), "two items: a script");
    coins[2] = coin(&format!("5120{}", "07".repeat(32)), 1);
    assert_eq!(found(&encoded, &coins, 2), Some(Err(Unclaimed::Witness)), "an input with a script");
    coins[2] = None;
    assert_eq!(found(&encoded, &coins, 0), Some(Err(Unclaimed::UnknownCoin)));
    assert_eq!(found(&encoded, &coins, 2), None);
}

#[test]
fn scripts_have_their_meaning_from_a_rule_on() {
    let found = |encoded: &[u8], coins: &[Option<Coin>], rules| {
        claims(&transaction(encoded), coins, rules)[0].clone().map(|claim| claim.map(|_| ()))
    };
    let (nested, taproot) = (bytes(NESTED), bytes(TAPROOT));
    let before_taproot = Rules { taproot: false, ..Rules::ALL };
    assert_eq!(found(&taproot, &taproot_coins(), before_taproot), Some(Err(Unclaimed::Other)));
    assert_eq!(found(&nested, &nested_coin(), before_taproot), Some(Ok(())));
    let before_script_hashes = Rules { script_hashes: false, taproot: false };
    assert_eq!(found(&nested, &nested_coin(), before_script_hashes), Some(Err(Unclaimed::Other)));
}
