//! The programs that come with the machine, run to their end, and what the assembler and disassembler accept and
//! refuse.
#![allow(clippy::unwrap_used)]

use turnpike_coproc::{
    Affine, AssemblyError, Fault, ImageError, Machine, Program, RunState, Value, assemble, disassemble,
};
use verify::bls12_381::{CurvePoint, Fp, Fp12, G1, G2, Point, Scalar, multiply_and_add, pairing};

const PAIRING: &str = include_str!("../programs/pairing.s");
const GROTH16: &str = include_str!("../programs/groth16.s");
const MULTI_EXPONENTIATION: &str = include_str!("../programs/multi_exponentiation.s");

fn element(digits: &str) -> Fp {
    let digits = format!("{:0>96}", &digits[2..]);
    let byte = |at: usize| u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).unwrap();
    Fp::parse(&std::array::from_fn(byte)).unwrap()
}

/// Index and value of each interrupt that a program sends until it waits.
fn run(text: &str) -> Vec<(u16, Value)> {
    let mut machine = Machine::new(&assemble(text).unwrap());
    let interrupts = machine.run(1000);
    assert_eq!(machine.state(), RunState::Waiting);
    interrupts.iter().map(|interrupt| (interrupt.index, interrupt.value)).collect()
}

/// How the machine stopped, and where.
fn fault(text: &str) -> (RunState, u16) {
    let mut machine = Machine::new(&assemble(text).unwrap());
    assert!(machine.run(1000).is_empty());
    (machine.state(), machine.counter())
}

#[test]
fn the_pairing_is_that_of_blst() {
    let (p, q) = (Point::<G1>::generator(), Point::<G2>::generator());
    let five = pairing(&p.multiply(&Scalar::from(5_u64)), &q);
    assert_eq!(run(PAIRING), [(0, Value::Fp12(pairing(&p, &q))), (1, Value::Fp12(five))]);
}

#[test]
fn the_proof_holds_and_others_do_not() {
    assert_eq!(run(GROTH16), [(1, Value::Fp12(Fp12::one()))]);
    // With another input or another point of the key.
    let other = GROTH16.replace("POINT_MULT input_3", "POINT_MULT input_2");
    assert_eq!(run(&other)[0].0, 0);
    let swapped = GROTH16.replace("MILLER_LOOP c, minus_delta", "MILLER_LOOP c, minus_gamma");
    assert_eq!(run(&swapped)[0].0, 0);
}

#[test]
fn the_multi_exponentiation_is_that_of_blst() {
    let found = run(MULTI_EXPONENTIATION);
    let q = MULTI_EXPONENTIATION.lines().find_map(|line| line.strip_prefix("q: g1_affine ")).unwrap();
    let q: Vec<Fp> = q.split(", ").map(element).collect();
    let q = CurvePoint::<G1>::new(q[0], q[1]).unwrap().in_subgroup().unwrap();
    let scalars = Vec::from_iter((1..=16_u64).map(Scalar::from));
    let mut points = vec![Point::generator()];
    while points.len() < 16 {
        points.push(points[points.len() - 1].add(&q));
    }
    let (x, y) = multiply_and_add(&points, &scalars).coordinates().unwrap();
    assert_eq!(found, [(1, Value::G1Affine(Affine { x, y }))]);
}

#[test]
fn programs_survive_assembly_images_and_disassembly() {
    for text in [PAIRING, GROTH16, MULTI_EXPONENTIATION] {
        let program = assemble(text).unwrap();
        assert_eq!(Program::from_image(&program.image()), Ok(program.clone()));
        assert_eq!(assemble(&disassemble(&program)), Ok(program.clone()));
        let image = program.image();
        for length in [0, 3, 4, 7, 8, image.len() - 1] {
            let expected = if length < 4 { ImageError::Magic } else { ImageError::Length };
            assert_eq!(Program::from_image(&image[..length]), Err(expected));
        }
        let mut changed = image.clone();
        changed[8] = 0x99;
        assert_eq!(Program::from_image(&changed), Err(ImageError::Instruction(0)));
        changed[4] = 0xff;
        assert_eq!(Program::from_image(&changed), Err(ImageError::Room));
    }
}

#[test]
fn faults_name_their_reason() {
    let data = ".data\ns: scalar 1\nz: scalar 0\nx: fp 7\ne: space 1\np: g1_affine 0, 0\nj: g1_jacobian 1, 1, 0\nf: fp12 0,0,0,0,0,0,0,0,0,0,0,0\n.text\n";
    for (code, expected) in [
        ("JUMP 1024", Fault::Counter),
        ("JUMP 65535", Fault::Counter),
        ("COPY_REG 1024, 0", Fault::Address),
        ("COPY_REG p, 1023", Fault::Address),
        ("ADD_ELEMENT s, x, e", Fault::Type),
        ("MUL_ELEMENT p, p, e", Fault::Type),
        ("POINT_MULT x, p, j", Fault::Type),
        ("POINT_MULT s, x, j", Fault::Type),
        ("MILLER_LOOP j, p, f", Fault::Type),
        ("FINAL_EXP x, f", Fault::Type),
        ("JUMP_NONZERO_SUB 0, x", Fault::Type),
        ("COPY_REG f+11, 500", Fault::Type),
        ("INV_ELEMENT p, e", Fault::Type),
        ("INV_ELEMENT z, e", Fault::Division),
        ("INV_ELEMENT f, f", Fault::Division),
        ("FINAL_EXP f, f", Fault::Division),
    ] {
        let at = u16::from(code.starts_with("JUMP ")) * code[4..].trim().parse().unwrap_or(0);
        assert_eq!(fault(&format!("{data}{code}\n")), (RunState::Faulted(expected), at), "{code}");
    }
    // In an image: the type of a scalar, with a number that only an element may be.
    let mut program = assemble(&format!("{data}COPY_REG s, e\n")).unwrap().image();
    let slot = program.len() - 48 * (4 + 2 + 3 + 12);
    program[slot + 1] = 1;
    let mut machine = Machine::new(&Program::from_image(&program).unwrap());
    machine.run(1);
    assert_eq!(machine.state(), RunState::Faulted(Fault::Range));
    // The machine is started again after the instruction that it cannot execute.
    machine.start(1);
    machine.run(1);
    assert_eq!((machine.state(), machine.counter()), (RunState::Waiting, 1));
}

#[test]
fn loops_run_as_long_as_they_should() {
    let found = run(
        ".data\nn: scalar 9\ni: scalar 0\none: scalar 1\n.text\nagain: ADD_ELEMENT i, one, i\njump_nonzero_sub again, n\nSEND_INTERRUPT i, 3\nNOOP_WAIT\n",
    );
    assert_eq!(found, [(3, Value::Scalar(Scalar::from(10_u64)))]);
    // A program without an end runs for as long as it may.
    let mut machine = Machine::new(&assemble(".text\nJUMP 0\n").unwrap());
    machine.run(100);
    assert_eq!(machine.state(), RunState::Running);
}

#[test]
fn interrupts_are_messages() {
    let mut machine = Machine::new(&assemble(".data\nx: fp2 1, 2\n.text\nSEND_INTERRUPT x, 9\n").unwrap());
    let message = machine.step().unwrap().message();
    assert_eq!(message[..16], [0x80, 0, 2, 0, 0, 0, 0, 112, 0, 0, 0, 0, 0, 0, 0, 9]);
    assert_eq!((message.len(), message[16], message[63], message[111]), (112, 0x40, 1, 2));
}

#[test]
fn lines_are_refused_with_their_number() {
    let prime = "0x1a0111ea397fe69a4b1ba7b6434bacd764774b84f38512bf6730d2a0f6b0f6241eabfffeb153ffffb9feffffffffaaab";
    let order = "0x73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001";
    for (line, problem) in [
        (".bss", "not a section"),
        (".data\n.text\nFROBNICATE 1", "not an instruction"),
        (".text\nJUMP", "takes 1 operands, not 0"),
        (".text\nJUMP 1,", "takes 1 operands, not 2"),
        (".text\nJUMP nowhere", "no label"),
        (".text\nJUMP 65536", "not an operand"),
        (".text\nJUMP -1", "not an operand"),
        (".text\nhere: JUMP here+65536", "not an operand"),
        (".text\n1st: NOOP_WAIT", "not a label"),
        (".data\nx: fp 1\nx: fp 2", "there already"),
        (".data\nx: float 1", "not a type"),
        (".data\nx: fp2 1", "1 numbers, where a fp2 has 2"),
        (".data\nx: fp 0x", "not a number"),
        (".data\nx: fp 12z", "not a number"),
        (&format!(".data\nx: fp {prime}"), "not a number"),
        (&format!(".data\nx: scalar {order}"), "not a number"),
        (".data\nx: space 1025", "not a number"),
        (".data\nx: space 1024\ny: fp 1", "room for"),
        ("NOOP_WAIT", "in no section"),
        (&format!(".text\n{}", "NOOP_WAIT\n".repeat(1025)), "room for"),
    ] {
        let error: AssemblyError = assemble(line).unwrap_err();
        assert!(error.to_string().contains(problem), "{line:?}: {error}");
        assert_eq!(error.line, line.lines().count(), "{line:?}");
    }
    // The largest numbers possible.
    let text = format!(".data\nx: fp {}\ny: scalar {}\n", prime.replace("aaab", "aaaa"), order.replace("0001", "0000"));
    assert!(assemble(&text).is_ok());
}
