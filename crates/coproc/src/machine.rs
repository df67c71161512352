use verify::bls12_381::{Fp, Fp2, Fp12, Scalar};

use crate::arithmetic::{Field, Jacobian, miller_loop};
use crate::{Fault, INSTRUCTIONS, Instruction, Opcode, Program, SLOTS, Slot, Value};

/// The state of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RunState {
    /// About to execute the instruction at the program counter.
    Running,
    /// Stopped after NOOP_WAIT, until the host starts it.
    Waiting,
    /// Stopped at an instruction that it cannot execute.
    Faulted(Fault),
}

/// What SEND_INTERRUPT sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupt {
    /// The instruction's operand b.
    pub index: u16,
    /// The value.
    pub value: Value,
}

impl Interrupt {
    /// The message: command 0x80000200 (4 bytes), length (4), index (8), the value's slots; big-endian.
    pub fn message(&self) -> Vec<u8> {
        let slots = self.value.slots();
        let mut bytes = 0x8000_0200_u32.to_be_bytes().to_vec();
        bytes.extend((16 + 48 * slots.len() as u32).to_be_bytes());
        bytes.extend(u64::from(self.index).to_be_bytes());
        bytes.extend(slots.as_flattened());
        bytes
    }
}

/// The machine: two memories, a program counter, a state.
#[derive(Clone, Debug)]
pub struct Machine {
    instructions: Vec<[u8; 8]>,
    slots: Vec<Slot>,
    counter: u16,
    state: RunState,
}

impl Machine {
    /// A machine that holds a program and is about to execute its first instruction.
    pub fn new(program: &Program) -> Self {
        let mut instructions: Vec<[u8; 8]> = program.instructions.iter().map(Instruction::encode).collect();
        instructions.resize(INSTRUCTIONS, [0; 8]);
        let mut slots = program.slots.clone();
        slots.resize(SLOTS, [0; 48]);
        Self { instructions, slots, counter: 0, state: RunState::Running }
    }

    /// Whether the machine runs, waits or has faulted.
    pub fn state(&self) -> RunState {
        self.state
    }

    /// The address of the next instruction, or of the one where the machine stopped.
    pub fn counter(&self) -> u16 {
        self.counter
    }

    /// The value at a slot.
    pub fn value(&self, address: u16) -> Result<Value, Fault> {
        Value::read(self.slots.get(usize::from(address)..).ok_or(Fault::Address)?)
    }

    /// Instruction memory, for the host to write. Its content is checked when it is executed.
    pub fn instruction_memory(&mut self) -> &mut [[u8; 8]] {
        &mut self.instructions
    }

    /// Data memory, for the host to read and write. Its content is checked when an instruction reads it.
    pub fn data_memory(&mut self) -> &mut [Slot] {
        &mut self.slots
    }

    /// Starts the machine at an instruction, whatever its state.
    pub fn start(&mut self, counter: u16) {
        self.counter = counter;
        self.state = RunState::Running;
    }

    /// Runs until the machine waits, faults, or has executed this many instructions. Returns the interrupts.
    pub fn run(&mut self, instructions: u64) -> Vec<Interrupt> {
        let mut interrupts = Vec::new();
        for _ in 0..instructions {
            if self.state != RunState::Running {
                break;
            }
            interrupts.extend(self.step());
        }
        interrupts
    }

    /// Executes one instruction, if the machine is running.
    pub fn step(&mut self) -> Option<Interrupt> {
        if self.state != RunState::Running {
            return None;
        }
        match self.execute() {
            Ok(interrupt) => interrupt,
            Err(fault) => {
                self.state = RunState::Faulted(fault);
                None
            }
        }
    }

    fn execute(&mut self) -> Result<Option<Interrupt>, Fault> {
        let bytes = self.instructions.get(usize::from(self.counter)).ok_or(Fault::Counter)?;
        let Instruction { opcode, operands: [a, b, c] } = Instruction::decode(*bytes)?;
        let (mut next, mut interrupt) = (self.counter + 1, None);
        match opcode {
            Opcode::NoopWait => {
                self.state = RunState::Waiting;
                next = self.counter;
            }
            Opcode::CopyReg => self.write(b, &self.value(a)?)?,
            Opcode::Jump => next = a,
            Opcode::JumpIfEq => {
                if self.value(b)? == self.value(c)? {
                    next = a;
                }
            }
            Opcode::JumpNonzeroSub => {
                let counter = scalar(self.value(b)?)?;
                if !counter.is_zero() {
                    self.write(b, &Value::Scalar(counter - Scalar::from(1_u64)))?;
                    next = a;
                }
            }
            Opcode::SendInterrupt => interrupt = Some(Interrupt { index: b, value: self.value(a)? }),
            Opcode::MulElement => self.write(c, &multiply(self.value(a)?, self.value(b)?)?)?,
            Opcode::AddElement => self.write(c, &add(self.value(a)?, self.value(b)?)?)?,
            Opcode::SubElement => self.write(c, &subtract(self.value(a)?, self.value(b)?)?)?,
            Opcode::InvElement => self.write(b, &invert(self.value(a)?)?)?,
            Opcode::PointMult => {
                let (factor, point) = (self.value(a)?, self.value(b)?);
                self.write(c, &multiply_point(&scalar(factor)?, point)?)?;
            }
            Opcode::MillerLoop => self.write(c, &Value::Fp12(pair(self.value(a)?, self.value(b)?)?))?,
            Opcode::FinalExp => {
                let Value::Fp12(element) = self.value(a)? else { return Err(Fault::Type) };
                self.write(b, &Value::Fp12(final_exponentiation(&element)?))?;
            }
            Opcode::AtePairing => {
                let product = pair(self.value(a)?, self.value(b)?)?;
                self.write(c, &Value::Fp12(final_exponentiation(&product)?))?;
            }
        }
        self.counter = next;
        Ok(interrupt)
    }

    fn write(&mut self, address: u16, value: &Value) -> Result<(), Fault> {
        let (first, slots) = (usize::from(address), value.slots());
        self.slots.get_mut(first..first + slots.len()).ok_or(Fault::Address)?.copy_from_slice(&slots);
        Ok(())
    }
}

fn scalar(value: Value) -> Result<Scalar, Fault> {
    if let Value::Scalar(scalar) = value { Ok(scalar) } else { Err(Fault::Type) }
}

/// A point in Jacobian coordinates.
enum Point {
    G1(Jacobian<Fp>),
    G2(Jacobian<Fp2>),
}

impl Point {
    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::G1Affine(point) => Some(Self::G1(point.jacobian())),
            Value::G1Jacobian(point) => Some(Self::G1(*point)),
            Value::G2Affine(point) => Some(Self::G2(point.jacobian())),
            Value::G2Jacobian(point) => Some(Self::G2(*point)),
            Value::Scalar(_) | Value::Fp(_) | Value::Fp2(_) | Value::Fp12(_) => None,
        }
    }
}

fn multiply(left: Value, right: Value) -> Result<Value, Fault> {
    Ok(match (left, right) {
        (Value::Scalar(left), Value::Scalar(right)) => Value::Scalar(left * right),
        (Value::Fp(left), Value::Fp(right)) => Value::Fp(left * right),
        (Value::Fp2(left), Value::Fp2(right)) => Value::Fp2(left * right),
        (Value::Fp12(left), Value::Fp12(right)) => Value::Fp12(left * right),
        _ => return Err(Fault::Type),
    })
}

fn add(left: Value, right: Value) -> Result<Value, Fault> {
    Ok(match (left, right) {
        (Value::Scalar(left), Value::Scalar(right)) => Value::Scalar(left + right),
        (Value::Fp(left), Value::Fp(right)) => Value::Fp(left + right),
        (Value::Fp2(left), Value::Fp2(right)) => Value::Fp2(left + right),
        (Value::Fp12(left), Value::Fp12(right)) => Value::Fp12(left + right),
        (left, right) => match (Point::from_value(&left), Point::from_value(&right)) {
            (Some(Point::G1(left)), Some(Point::G1(right))) => Value::G1Jacobian(left.add(&right)),
            (Some(Point::G2(left)), Some(Point::G2(right))) => Value::G2Jacobian(left.add(&right)),
            _ => return Err(Fault::Type),
        },
    })
}

fn subtract(left: Value, right: Value) -> Result<Value, Fault> {
    Ok(match (left, right) {
        (Value::Scalar(left), Value::Scalar(right)) => Value::Scalar(left - right),
        (Value::Fp(left), Value::Fp(right)) => Value::Fp(left - right),
        (Value::Fp2(left), Value::Fp2(right)) => Value::Fp2(left - right),
        (Value::Fp12(left), Value::Fp12(right)) => Value::Fp12(left - right),
        (left, Value::G1Affine(right)) => add(left, Value::G1Affine(right.negate()))?,
        (left, Value::G1Jacobian(right)) => add(left, Value::G1Jacobian(right.negate()))?,
        (left, Value::G2Affine(right)) => add(left, Value::G2Affine(right.negate()))?,
        (left, Value::G2Jacobian(right)) => add(left, Value::G2Jacobian(right.negate()))?,
        _ => return Err(Fault::Type),
    })
}

fn invert(value: Value) -> Result<Value, Fault> {
    fn nonzero<F: PartialEq + Default>(element: F) -> Result<F, Fault> {
        if element == F::default() { Err(Fault::Division) } else { Ok(element) }
    }
    Ok(match value {
        Value::Scalar(scalar) => Value::Scalar(nonzero(scalar)?.inverse()),
        Value::Fp(element) => Value::Fp(Field::inverse(&nonzero(element)?)),
        Value::Fp2(element) => Value::Fp2(Field::inverse(&nonzero(element)?)),
        Value::Fp12(element) => Value::Fp12(nonzero_product(&element)?.inverse()),
        Value::G1Jacobian(point) => Value::G1Affine(point.affine()),
        Value::G2Jacobian(point) => Value::G2Affine(point.affine()),
        Value::G1Affine(_) | Value::G2Affine(_) => return Err(Fault::Type),
    })
}

fn nonzero_product(element: &Fp12) -> Result<&Fp12, Fault> {
    if element.coefficients().iter().all(Fp::is_zero) { Err(Fault::Division) } else { Ok(element) }
}

fn final_exponentiation(element: &Fp12) -> Result<Fp12, Fault> {
    Ok(nonzero_product(element)?.final_exponentiation())
}

fn multiply_point(scalar: &Scalar, point: Value) -> Result<Value, Fault> {
    Ok(match Point::from_value(&point).ok_or(Fault::Type)? {
        Point::G1(point) => Value::G1Jacobian(point.multiply(scalar)),
        Point::G2(point) => Value::G2Jacobian(point.multiply(scalar)),
    })
}

fn pair(left: Value, right: Value) -> Result<Fp12, Fault> {
    match (left, right) {
        (Value::G1Affine(left), Value::G2Affine(right)) => Ok(miller_loop(&left, &right)),
        _ => Err(Fault::Type),
    }
}
