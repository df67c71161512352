use std::collections::HashMap;

use thiserror::Error;

use crate::{INSTRUCTIONS, Instruction, Kind, Opcode, Program, SLOTS, Slot, Value};

/// Why a text is not a program.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}: {problem}")]
pub struct AssemblyError {
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong with the line.
    pub problem: Problem,
}

/// How a line is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Problem {
    /// This section is neither `.data` nor `.text`.
    #[error("{0:?} is not a section: use .data or .text")]
    Section(String),
    /// The line is in no section.
    #[error("this is in no section: put .data or .text before it")]
    NoSection,
    /// This label is not made of letters, digits and _, or begins with a digit.
    #[error("{0:?} is not a label: use letters, digits and _, with no digit first")]
    Label(String),
    /// This label is defined twice.
    #[error("the label {0:?} is there already")]
    Twice(String),
    /// This label is used and never defined.
    #[error("there is no label {0:?}")]
    Unknown(String),
    /// This type is neither one that slots have nor `space`.
    #[error("{0:?} is not a type: use scalar, fp, fp2, fp12, g1_affine, g1_jacobian, g2_affine, g2_jacobian or space")]
    Type(String),
    /// A value has too few or too many numbers: its type needs one for each of its slots.
    #[error("{found} numbers, where a {kind} has {needed}", kind = kind.name())]
    Count {
        /// The type.
        kind: Kind,
        /// How many numbers there are.
        found: usize,
        /// How many there must be.
        needed: usize,
    },
    /// This number is not decimal, nor hexadecimal after 0x, or not below the modulus of its type.
    #[error("{0:?} is not a number below the modulus of its type")]
    Number(String),
    /// There is no such opcode.
    #[error("{0:?} is not an instruction")]
    Opcode(String),
    /// An instruction has too few or too many operands.
    #[error("{} takes {} operands, not {found}", opcode.name(), opcode.operands())]
    Operands {
        /// The opcode.
        opcode: Opcode,
        /// How many operands there are.
        found: usize,
    },
    /// This operand is not a label, a label plus a number, or a number below 65,536.
    #[error("{0:?} is not an operand: use a label, a label + a number, or a number below 65536")]
    Operand(String),
    /// Memory has no room for the line.
    #[error("there is room for {INSTRUCTIONS} instructions and {SLOTS} slots")]
    Room,
}

#[derive(Clone, Copy)]
enum Section {
    Data,
    Text,
}

/// Assembles the text of a program, as `docs/coprocessor.md` defines it.
pub fn assemble(text: &str) -> Result<Program, AssemblyError> {
    let mut assembly = Assembly::default();
    let mut section = None;
    for (line, content) in (1..).zip(text.lines()) {
        assembly.line(content, &mut section).map_err(|problem| AssemblyError { line, problem })?;
        for (at, _) in assembly.pending.iter_mut().filter(|(at, _)| *at == 0) {
            *at = line;
        }
    }
    assembly.finish()
}

#[derive(Default)]
struct Assembly {
    labels: HashMap<String, usize>,
    slots: Vec<Slot>,
    /// Instructions, with their lines, whose operands wait until all labels are known.
    pending: Vec<(usize, (Opcode, Vec<String>))>,
}

impl Assembly {
    fn line(&mut self, line: &str, section: &mut Option<Section>) -> Result<(), Problem> {
        let mut line = line.split([';', '#']).next().unwrap_or_default().trim();
        if line.starts_with('.') {
            *section = Some(match line {
                ".data" => Section::Data,
                ".text" => Section::Text,
                _ => return Err(Problem::Section(line.to_string())),
            });
            return Ok(());
        }
        if let Some((label, rest)) = line.split_once(':') {
            let address = match section.ok_or(Problem::NoSection)? {
                Section::Data => self.slots.len(),
                Section::Text => self.pending.len(),
            };
            let label = label.trim();
            if !is_label(label) {
                return Err(Problem::Label(label.to_string()));
            }
            if self.labels.insert(label.to_string(), address).is_some() {
                return Err(Problem::Twice(label.to_string()));
            }
            line = rest.trim();
        }
        if line.is_empty() {
            return Ok(());
        }
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let fields = rest.split(',').map(str::trim).filter(|field| !field.is_empty() || rest.contains(','));
        let fields: Vec<&str> = fields.collect();
        match section.ok_or(Problem::NoSection)? {
            Section::Data => self.data(word, &fields),
            Section::Text => self.instruction(word, &fields),
        }
    }

    fn data(&mut self, word: &str, fields: &[&str]) -> Result<(), Problem> {
        let slots = match (word, fields) {
            ("space", [count]) => {
                let count = count.parse().ok().filter(|count| *count <= SLOTS);
                vec![[0; 48]; count.ok_or_else(|| Problem::Number(fields[0].to_string()))?]
            }
            _ => value(word, fields)?,
        };
        if self.slots.len() + slots.len() > SLOTS {
            return Err(Problem::Room);
        }
        self.slots.extend(slots);
        Ok(())
    }

    fn instruction(&mut self, word: &str, fields: &[&str]) -> Result<(), Problem> {
        let named = |opcode: &Opcode| opcode.name().eq_ignore_ascii_case(word);
        let opcode = Opcode::ALL.iter().copied().find(named).ok_or_else(|| Problem::Opcode(word.to_string()))?;
        if fields.len() != opcode.operands() {
            return Err(Problem::Operands { opcode, found: fields.len() });
        }
        if self.pending.len() == INSTRUCTIONS {
            return Err(Problem::Room);
        }
        self.pending.push((0, (opcode, fields.iter().map(ToString::to_string).collect())));
        Ok(())
    }

    fn finish(self) -> Result<Program, AssemblyError> {
        let Self { labels, slots, pending } = self;
        let mut instructions = Vec::with_capacity(pending.len());
        for (line, (opcode, fields)) in pending {
            let mut operands = [0; 3];
            for (operand, field) in operands.iter_mut().zip(&fields) {
                *operand = self::operand(field, &labels).map_err(|problem| AssemblyError { line, problem })?;
            }
            instructions.push(Instruction { opcode, operands });
        }
        Ok(Program { instructions, slots })
    }
}

fn is_label(text: &str) -> bool {
    let mut letters = text.chars();
    letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

/// A label, a label + a number, or a number.
fn operand(text: &str, labels: &HashMap<String, usize>) -> Result<u16, Problem> {
    let wrong = || Problem::Operand(text.to_string());
    let (label, offset) = match text.split_once('+') {
        Some((label, offset)) => (Some(label.trim()), offset.trim()),
        None if is_label(text) => (Some(text), "0"),
        None => (None, text),
    };
    let base = match label {
        Some(label) if is_label(label) => *labels.get(label).ok_or_else(|| Problem::Unknown(label.to_string()))?,
        Some(_) => return Err(wrong()),
        None => 0,
    };
    let number = number(offset).ok_or_else(wrong)?;
    let (high, low) = number.split_at(46);
    let low = usize::from(u16::from_be_bytes([low[0], low[1]]));
    if high.iter().any(|byte| *byte != 0) {
        return Err(wrong());
    }
    u16::try_from(base + low).map_err(|_| wrong())
}

/// The slots of a value.
fn value(word: &str, fields: &[&str]) -> Result<Vec<Slot>, Problem> {
    let kind = Kind::ALL.into_iter().find(|kind| kind.name() == word).ok_or_else(|| Problem::Type(word.to_string()))?;
    if fields.len() != kind.slots() {
        return Err(Problem::Count { kind, found: fields.len(), needed: kind.slots() });
    }
    let mut slots = Vec::with_capacity(fields.len());
    for field in fields {
        let wrong = || Problem::Number((*field).to_string());
        // A number of a larger type must only be below the modulus of the base field.
        let single = if kind == Kind::Scalar { Kind::Scalar } else { Kind::Fp };
        let mut slot = number(field).filter(|number| Kind::from_slot(number) == Kind::Scalar).ok_or_else(wrong)?;
        slot[0] |= (single as u8) << 5;
        Value::read(&[slot]).map_err(|_| wrong())?;
        slot[0] = slot[0] & 0x1f | (kind as u8) << 5;
        slots.push(slot);
    }
    Ok(slots)
}

/// A number of at most 384 bits, big-endian.
fn number(text: &str) -> Option<[u8; 48]> {
    let (digits, radix) = text.strip_prefix("0x").map_or((text, 10), |digits| (digits, 16));
    if digits.is_empty() {
        return None;
    }
    digits.chars().try_fold([0_u8; 48], |mut number, digit| {
        let mut carry = digit.to_digit(radix)?;
        for byte in number.iter_mut().rev() {
            carry += u32::from(*byte) * radix;
            *byte = carry as u8;
            carry >>= 8;
        }
        (carry == 0).then_some(number)
    })
}
