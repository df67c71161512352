//! The precompiled contracts of EIP-2537 as programs for the machine: sums of points, sums of multiples, and pairing
//! checks.
//!
//! A program refuses what the contract refuses, by the same rules and in the same order: before using a point, it
//! checks that the point is on its curve and, where the contract requires it, in its subgroup. The machine itself
//! refuses numbers that are not below the prime. Some faults do not fit a slot: bytes before a number that are not
//! zero, and numbers of more than 381 bits. For those, the program is written to refuse at that point. Only an input of
//! the wrong length is refused without a program.

use verify::bls12_381::{ORDER, Rule};

use crate::{Fault, INSTRUCTIONS, Instruction, Interrupt, Kind, Opcode, Program, RunState, SLOTS, Slot, Value};

/// A precompiled contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Contract {
    /// `BLS12_G1ADD`, `BLS12_G2ADD`: the sum of two points.
    Add(Curve),
    /// `BLS12_G1MSM`, `BLS12_G2MSM`: the sum of points, each multiplied by the scalar after it.
    Sum(Curve),
    /// `BLS12_PAIRING_CHECK`: whether the product of the pairings is one.
    PairingCheck,
}

/// The curves of the two groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the groups have these names everywhere")]
pub enum Curve {
    G1,
    G2,
}

/// Why there is no program for an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The contract refuses an input of this length.
    #[error("the input has not the length that the contract takes")]
    Length,
    /// A program for this many points does not fit into memory. A part of them may.
    #[error("the program would have more than {INSTRUCTIONS} instructions or {SLOTS} slots: give it fewer points")]
    Room,
}

/// Bytes of a field element: 16 zeros, then the number.
const ELEMENT: usize = 64;
const SCALAR: usize = 32;

impl Curve {
    const fn element(self) -> Kind {
        match self {
            Self::G1 => Kind::Fp,
            Self::G2 => Kind::Fp2,
        }
    }

    const fn affine(self) -> Kind {
        match self {
            Self::G1 => Kind::G1Affine,
            Self::G2 => Kind::G2Affine,
        }
    }

    const fn jacobian(self) -> Kind {
        match self {
            Self::G1 => Kind::G1Jacobian,
            Self::G2 => Kind::G2Jacobian,
        }
    }

    /// Bytes of a point.
    const fn length(self) -> usize {
        ELEMENT * self.affine().slots()
    }
}

impl Contract {
    /// The program for an input. [`outcome`] turns its result into the contract's.
    pub fn program(self, input: &[u8]) -> Result<Program, Refusal> {
        let item = match self {
            Self::Add(curve) => curve.length(),
            Self::Sum(curve) => curve.length() + SCALAR,
            Self::PairingCheck => Curve::G1.length() + Curve::G2.length(),
        };
        let items = input.chunks_exact(item);
        let has_length = match self {
            Self::Add(_) => items.len() == 2,
            Self::Sum(_) | Self::PairingCheck => items.len() > 0,
        };
        if !has_length || !items.remainder().is_empty() {
            return Err(Refusal::Length);
        }
        // Every item takes more than one slot.
        if items.len() > SLOTS {
            return Err(Refusal::Room);
        }
        let mut writer = Writer::default();
        // A refusal while writing just ends the program there.
        let _ended: Result<(), Ended> = match self {
            Self::Add(curve) => writer.add(curve, items),
            Self::Sum(curve) => writer.sum(curve, items),
            Self::PairingCheck => writer.pairing_check(items),
        };
        let Writer { instructions, slots } = writer;
        let fits = instructions.len() <= INSTRUCTIONS && slots.len() <= SLOTS;
        if fits { Ok(Program { instructions, slots }) } else { Err(Refusal::Room) }
    }
}

/// The contract's result, from the state in which the program stopped and the interrupts that it sent.
///
/// `None` if no program of this module makes the machine do that.
pub fn outcome(state: RunState, interrupts: &[Interrupt]) -> Option<Result<Vec<u8>, Rule>> {
    match (state, interrupts) {
        (RunState::Faulted(Fault::Range), []) => Some(Err(Rule::Range)),
        (RunState::Waiting, [Interrupt { index: 0, value }]) => Some(Ok(output(value))),
        (RunState::Waiting, [Interrupt { index, .. }]) => {
            let rules = [Rule::Padding, Rule::Range, Rule::NotOnCurve, Rule::NotInSubgroup];
            rules.into_iter().find(|rule| code(*rule) == *index).map(Err)
        }
        _ => None,
    }
}

fn code(rule: Rule) -> u16 {
    rule.code() as u16
}

/// A point as its coordinates; the result of a pairing check as a number of 32 bytes.
fn output(value: &Value) -> Vec<u8> {
    let slots = value.slots();
    if value.kind() == Kind::Scalar {
        return slots[0][48 - SCALAR..].to_vec();
    }
    let coordinate = |slot: &Slot| {
        let mut bytes = [0; ELEMENT];
        bytes[ELEMENT - 48..].copy_from_slice(slot);
        bytes[ELEMENT - 48] &= 0x1f;
        bytes
    };
    slots.iter().flat_map(coordinate).collect()
}

/// The number in a field element.
fn number(bytes: &[u8]) -> Result<[u8; 48], Rule> {
    let (padding, number) = bytes.split_first_chunk::<{ ELEMENT - 48 }>().ok_or(Rule::Length)?;
    let number: [u8; 48] = number.try_into().map_err(|_| Rule::Length)?;
    if *padding != [0; ELEMENT - 48] {
        return Err(Rule::Padding);
    }
    // A slot has room for 381 bits.
    if number[0] >> 5 != 0 { Err(Rule::Range) } else { Ok(number) }
}

/// The program is complete: it ends with a refusal.
struct Ended;

/// A point in the program.
struct Point {
    curve: Curve,
    at: u16,
    is_infinity: bool,
}

/// A program being written. Every value gets slots of its own, so that no instruction waits for an unrelated one.
#[derive(Default)]
struct Writer {
    instructions: Vec<Instruction>,
    slots: Vec<Slot>,
}

impl Writer {
    fn put(&mut self, opcode: Opcode, operands: [u16; 3]) {
        self.instructions.push(Instruction { opcode, operands });
    }

    /// Stores a value, given as its numbers, and returns its address.
    fn value(&mut self, kind: Kind, numbers: &[[u8; 48]]) -> u16 {
        let at = self.slots.len() as u16;
        self.slots.extend(numbers.iter().map(|number| {
            let mut slot = *number;
            slot[0] |= (kind as u8) << 5;
            slot
        }));
        at
    }

    /// Stores a value whose first numbers are these and whose others are zero.
    fn constant(&mut self, kind: Kind, numbers: &[u8]) -> u16 {
        let mut slots = vec![[0; 48]; kind.slots()];
        slots.iter_mut().zip(numbers).for_each(|(slot, number)| slot[47] = *number);
        self.value(kind, &slots)
    }

    /// Reserves slots for a result.
    fn room(&mut self, kind: Kind) -> u16 {
        self.constant(kind, &[])
    }

    fn scalar(&mut self, bytes: &[u8; SCALAR]) -> u16 {
        let mut slot = [0; 48];
        slot[48 - SCALAR..].copy_from_slice(bytes);
        self.value(Kind::Scalar, &[slot])
    }

    fn send(&mut self, value: u16, index: u16) {
        self.put(Opcode::SendInterrupt, [value, index, 0]);
        self.put(Opcode::NoopWait, [0; 3]);
    }

    fn refuse(&mut self, rule: Rule) {
        let value = self.room(Kind::Scalar);
        self.send(value, code(rule));
    }

    fn refuse_unless_equal(&mut self, left: u16, right: u16, rule: Rule) {
        let behind = self.instructions.len() as u16 + 3;
        self.put(Opcode::JumpIfEq, [behind, left, right]);
        self.refuse(rule);
    }

    /// Stores a coordinate and computes its square, as the machine checks the range of numbers only when it reads them.
    fn coordinate(&mut self, kind: Kind, bytes: &[u8]) -> Result<(u16, u16), Ended> {
        let mut numbers = vec![[0; 48]; kind.slots()];
        let read = numbers.iter_mut().zip(bytes.chunks(ELEMENT)).try_for_each(|(slot, bytes)| {
            *slot = number(bytes)?;
            Ok(())
        });
        let (at, square) = (self.value(kind, &numbers), self.room(kind));
        self.put(Opcode::MulElement, [at, at, square]);
        read.map_err(|rule| {
            self.refuse(rule);
            Ended
        })?;
        Ok((at, square))
    }

    /// Stores a point and checks that it is on the curve.
    fn point(&mut self, curve: Curve, bytes: &[u8]) -> Result<Point, Ended> {
        if bytes.iter().all(|byte| *byte == 0) {
            return Ok(Point { curve, at: self.room(curve.affine()), is_infinity: true });
        }
        let (x, y) = bytes.split_at(curve.length() / 2);
        let ((x, x2), (_, y2)) = (self.coordinate(curve.element(), x)?, self.coordinate(curve.element(), y)?);
        // y² = x³ + 4, and over Fp2, y² = x³ + 4 + 4 u.
        let (cube, four) = (self.room(curve.element()), self.constant(curve.element(), &[4, 4]));
        self.put(Opcode::MulElement, [x2, x, cube]);
        self.put(Opcode::AddElement, [cube, four, cube]);
        self.refuse_unless_equal(cube, y2, Rule::NotOnCurve);
        // All of them parse: neither coordinate was refused.
        let numbers: Vec<[u8; 48]> = bytes.chunks(ELEMENT).filter_map(|bytes| number(bytes).ok()).collect();
        let at = self.value(curve.affine(), &numbers);
        Ok(Point { curve, at, is_infinity: false })
    }

    /// Starts the subgroup check of a point: computes its multiple by the order less one, which must be its opposite.
    ///
    /// The check ends in `refuse_unless_in_subgroup`; other work on the point is started in between.
    fn opposite(&mut self, point: &Point) -> u16 {
        let mut less_one = ORDER;
        less_one[SCALAR - 1] -= 1;
        let (scalar, opposite) = (self.scalar(&less_one), self.room(point.curve.jacobian()));
        if !point.is_infinity {
            self.put(Opcode::PointMult, [scalar, point.at, opposite]);
        }
        opposite
    }

    fn refuse_unless_in_subgroup(&mut self, point: &Point, opposite: u16) {
        if point.is_infinity {
            return;
        }
        let (sum, infinity) = (self.room(point.curve.affine()), self.room(point.curve.affine()));
        self.put(Opcode::AddElement, [opposite, point.at, opposite]);
        self.put(Opcode::InvElement, [opposite, sum, 0]);
        self.refuse_unless_equal(sum, infinity, Rule::NotInSubgroup);
    }

    /// Sends a point given in Jacobian coordinates.
    fn send_point(&mut self, curve: Curve, at: u16) {
        let affine = self.room(curve.affine());
        self.put(Opcode::InvElement, [at, affine, 0]);
        self.send(affine, 0);
    }

    fn add<'a>(&mut self, curve: Curve, items: impl Iterator<Item = &'a [u8]>) -> Result<(), Ended> {
        let sum = self.constant(curve.jacobian(), &infinity(curve));
        for item in items {
            let point = self.point(curve, item)?;
            self.put(Opcode::AddElement, [sum, point.at, sum]);
        }
        self.send_point(curve, sum);
        Ok(())
    }

    fn sum<'a>(&mut self, curve: Curve, items: impl Iterator<Item = &'a [u8]>) -> Result<(), Ended> {
        let sum = self.constant(curve.jacobian(), &infinity(curve));
        for item in items {
            let (point, scalar) = item.split_at(curve.length());
            let point = self.point(curve, point)?;
            let opposite = self.opposite(&point);
            let (scalar, multiple) = (self.reduced(scalar), self.room(curve.jacobian()));
            self.put(Opcode::PointMult, [scalar, point.at, multiple]);
            self.refuse_unless_in_subgroup(&point, opposite);
            self.put(Opcode::AddElement, [sum, multiple, sum]);
        }
        self.send_point(curve, sum);
        Ok(())
    }

    /// Stores a scalar modulo the group's order: the contract allows any number of 32 bytes.
    fn reduced(&mut self, bytes: &[u8]) -> u16 {
        let scalar = bytes.try_into().map(verify::bls12_381::Scalar::reduce).unwrap_or_default();
        let mut bytes = scalar.little_endian();
        bytes.reverse();
        self.scalar(&bytes)
    }

    fn pairing_check<'a>(&mut self, items: impl Iterator<Item = &'a [u8]>) -> Result<(), Ended> {
        let (product, one) = (self.constant(Kind::Fp12, &[1]), self.constant(Kind::Fp12, &[1]));
        for item in items {
            let (left, right) = item.split_at(Curve::G1.length());
            let (left, right) = (self.point(Curve::G1, left)?, self.point(Curve::G2, right)?);
            let opposites = [self.opposite(&left), self.opposite(&right)];
            let miller_loop = self.room(Kind::Fp12);
            self.put(Opcode::MillerLoop, [left.at, right.at, miller_loop]);
            self.refuse_unless_in_subgroup(&left, opposites[0]);
            self.refuse_unless_in_subgroup(&right, opposites[1]);
            self.put(Opcode::MulElement, [product, miller_loop, product]);
        }
        self.put(Opcode::FinalExp, [product, product, 0]);
        let (yes, no) = (self.constant(Kind::Scalar, &[1]), self.constant(Kind::Scalar, &[0]));
        let holds = self.instructions.len() as u16 + 3;
        self.put(Opcode::JumpIfEq, [holds, product, one]);
        self.send(no, 0);
        self.send(yes, 0);
        Ok(())
    }
}

/// Infinity in Jacobian coordinates over Fp or Fp2: (1, 1, 0).
const fn infinity(curve: Curve) -> [u8; 3] {
    match curve {
        Curve::G1 => [1, 1, 0],
        Curve::G2 => [1, 0, 1],
    }
}
