//! Multiples of the generator, for sums of one point per byte of a number.

use std::sync::LazyLock;

use secp256k1::PublicKey;

use super::scalar::from_bytes;
use crate::lanes::Row;
use crate::sha256::Tag;

/// For byte `i` of a number, row 256 × i + j is j × 256^i times the generator, plus a point that depends only on i.
///
/// The sum of those 32 points is infinity. Without them, row 0 would be the point at infinity.
pub(super) struct Table(Vec<Row>);

impl Table {
    /// The table, made at the first call in some tens of milliseconds; 512 KiB.
    pub(super) fn get() -> Option<&'static Self> {
        static TABLE: LazyLock<Option<Table>> = LazyLock::new(Table::make);
        TABLE.as_ref()
    }

    /// The point for a byte at a place.
    pub(super) fn row(&self, place: usize, byte: u8) -> &Row {
        &self.0[256 * place + usize::from(byte)]
    }

    /// `None` only if a sum is the point at infinity, which does not happen: a test makes the table.
    fn make() -> Option<Self> {
        let mut rows = Vec::with_capacity(32 * 256);
        let mut base = PublicKey::from_byte_array_compressed(GENERATOR).ok()?;
        let mut blind = unrelated_point()?;
        let mut blinds: Option<PublicKey> = None;
        for place in 0..32 {
            let mut point = match (place, blinds) {
                (31, Some(sum)) => sum.negate(secp256k1::SECP256K1),
                _ => blind,
            };
            blinds = Some(match blinds {
                Some(sum) => sum.combine(&blind).ok()?,
                None => blind,
            });
            blind = blind.combine(&blind).ok()?;
            for j in 0..256 {
                if j > 0 {
                    point = point.combine(&base).ok()?;
                }
                rows.push(to_row(&point)?);
            }
            for _ in 0..8 {
                base = base.combine(&base).ok()?;
            }
        }
        Some(Self(rows))
    }
}

/// The generator, compressed.
pub(super) const GENERATOR: [u8; 33] = [
    0x02, 0x79, 0xbe, 0x66, 0x7e, 0xf9, 0xdc, 0xbb, 0xac, 0x55, 0xa0, 0x62, 0x95, 0xce, 0x87, 0x0b, 0x07, 0x02, 0x9b,
    0xfc, 0xdb, 0x2d, 0xce, 0x28, 0xd9, 0x59, 0xf2, 0x81, 0x5b, 0x16, 0xf8, 0x17, 0x98,
];

/// A point for which nobody knows which multiple of the generator it is.
fn unrelated_point() -> Option<PublicKey> {
    const TAG: Tag = Tag::new("turnpike/unrelated point");
    (0..=u8::MAX).find_map(|number| {
        let mut key = [2; 33];
        key[1..].copy_from_slice(&TAG.hash(&[number]));
        PublicKey::from_byte_array_compressed(key).ok()
    })
}

pub(super) fn to_row(point: &PublicKey) -> Option<Row> {
    let bytes = point.serialize_uncompressed();
    let (numbers, _) = bytes[1..].as_chunks();
    let [x, y] = numbers else { return None };
    let ([a, b, c, d], [e, f, g, h]) = (from_bytes(x), from_bytes(y));
    Some(Row([a, b, c, d, e, f, g, h]))
}
