//! Repeated squarings modulo any number, vectorised for some lengths, match multiplications of the number by itself.
#![no_main]

use libfuzzer_sys::fuzz_target;
use verify::vdf::Modulus;

fuzz_target!(|data: &[u8]| {
    let [times, data @ ..] = data else { return };
    let (modulus, number) = data.split_at(data.len() / 2);
    let Ok(modulus) = Modulus::new(modulus) else { return };
    // Without its first byte, a number is below the modulus.
    let mut bytes = vec![0; modulus.length()];
    let length = number.len().min(bytes.len() - 1);
    bytes[modulus.length() - length..].copy_from_slice(&number[number.len() - length..]);
    let Ok(number) = modulus.number(&bytes) else { return };
    let times = u64::from(*times % 32);
    let mut squared = number.clone();
    modulus.square(&mut squared, times);
    let expected = (0..times).fold(number, |number, _| {
        let factor = number.clone();
        let mut product = number;
        modulus.multiply(&mut product, &factor);
        product
    });
    assert_eq!(squared, expected, "on {}", modulus.backend());
});
