use std::fmt;

use verify::bls12_381::{Fp, Fp2, Fp12, Scalar};

use crate::arithmetic::{Affine, Jacobian};
use crate::{Fault, Kind, Slot};

impl Kind {
    /// The type in a slot's mark.
    pub fn from_slot(slot: &Slot) -> Self {
        Self::ALL[usize::from(slot[0] >> 5)]
    }
}

/// The number of a slot, without its type.
fn number(slot: &Slot) -> [u8; 48] {
    let mut number = *slot;
    number[0] &= 0x1f;
    number
}

/// The content of one or more slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the types are documented in Kind")]
#[expect(
    clippy::large_enum_variant,
    reason = "values are on the stack, a few at a time, and nothing is allocated for them"
)]
pub enum Value {
    Scalar(Scalar),
    Fp(Fp),
    Fp2(Fp2),
    Fp12(Fp12),
    G1Affine(Affine<Fp>),
    G1Jacobian(Jacobian<Fp>),
    G2Affine(Affine<Fp2>),
    G2Jacobian(Jacobian<Fp2>),
}

impl Value {
    /// Its type.
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Scalar(_) => Kind::Scalar,
            Self::Fp(_) => Kind::Fp,
            Self::Fp2(_) => Kind::Fp2,
            Self::Fp12(_) => Kind::Fp12,
            Self::G1Affine(_) => Kind::G1Affine,
            Self::G1Jacobian(_) => Kind::G1Jacobian,
            Self::G2Affine(_) => Kind::G2Affine,
            Self::G2Jacobian(_) => Kind::G2Jacobian,
        }
    }

    /// The value that begins in the first of these slots.
    pub fn read(slots: &[Slot]) -> Result<Self, Fault> {
        let kind = Kind::from_slot(slots.first().ok_or(Fault::Address)?);
        let slots = slots.get(..kind.slots()).ok_or(Fault::Address)?;
        if slots.iter().any(|slot| Kind::from_slot(slot) != kind) {
            return Err(Fault::Type);
        }
        let numbers: Vec<[u8; 48]> = slots.iter().map(number).collect();
        if kind == Kind::Scalar {
            let (high, low) = numbers[0].split_at(16);
            let low = low.try_into().map_err(|_| Fault::Range)?;
            let scalar = Scalar::parse(low).map_err(|_| Fault::Range)?;
            return if high.iter().all(|byte| *byte == 0) { Ok(Self::Scalar(scalar)) } else { Err(Fault::Range) };
        }
        let elements = numbers.iter().map(|number| Fp::parse(number).map_err(|_| Fault::Range));
        let elements = elements.collect::<Result<Vec<Fp>, Fault>>()?;
        let pair = |at: usize| Fp2::new(elements[at], elements[at + 1]);
        Ok(match kind {
            Kind::Scalar | Kind::Fp => Self::Fp(elements[0]),
            Kind::Fp2 => Self::Fp2(pair(0)),
            Kind::Fp12 => Self::Fp12(Fp12::new(std::array::from_fn(|at| elements[at]))),
            Kind::G1Affine => Self::G1Affine(Affine { x: elements[0], y: elements[1] }),
            Kind::G1Jacobian => Self::G1Jacobian(Jacobian { x: elements[0], y: elements[1], z: elements[2] }),
            Kind::G2Affine => Self::G2Affine(Affine { x: pair(0), y: pair(2) }),
            Kind::G2Jacobian => Self::G2Jacobian(Jacobian { x: pair(0), y: pair(2), z: pair(4) }),
        })
    }

    /// The slots that hold it.
    pub fn slots(&self) -> Vec<Slot> {
        let elements = match self {
            Self::Scalar(scalar) => {
                let mut slot = [0; 48];
                slot[16..].copy_from_slice(&scalar.little_endian());
                slot[16..].reverse();
                return vec![slot];
            }
            Self::Fp(element) => vec![*element],
            Self::Fp2(element) => element.coefficients().to_vec(),
            Self::Fp12(element) => element.coefficients().to_vec(),
            Self::G1Affine(Affine { x, y }) => vec![*x, *y],
            Self::G1Jacobian(Jacobian { x, y, z }) => vec![*x, *y, *z],
            Self::G2Affine(Affine { x, y }) => [x, y].map(Fp2::coefficients).as_flattened().to_vec(),
            Self::G2Jacobian(Jacobian { x, y, z }) => [x, y, z].map(Fp2::coefficients).as_flattened().to_vec(),
        };
        let mark = (self.kind() as u8) << 5;
        let slot = |element: Fp| {
            let mut slot = element.bytes();
            slot[0] |= mark;
            slot
        };
        elements.into_iter().map(slot).collect()
    }
}

impl fmt::Display for Value {
    /// The value in assembly.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind().name())?;
        for (at, slot) in self.slots().iter().enumerate() {
            f.write_str(if at == 0 { " " } else { ", " })?;
            write_number(f, &number(slot))?;
        }
        Ok(())
    }
}

/// Hexadecimal without leading zeros.
fn write_number(f: &mut fmt::Formatter<'_>, number: &[u8; 48]) -> fmt::Result {
    let digits: String = number.iter().map(|byte| format!("{byte:02x}")).collect();
    let short = digits.trim_start_matches('0');
    write!(f, "0x{}", if short.is_empty() { "0" } else { short })
}
