//! Who may sign ISSUE in tests.

/// The issuer's secret key and its public key: the generator of the curve.
pub const ISSUER: [u8; 32] = {
    let mut key = [0; 32];
    key[31] = 1;
    key
};
pub const ISSUER_KEY: &str = "0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798";
