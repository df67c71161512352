#!/usr/bin/env python3
"""The micro-program and the constants of the secp256k1 engine: `rtl/verify/secp256k1.py`, or `--check` to compare with
the existing file.

Writes src/secp256k1_rom_pkg.sv. An instruction is what a context does in one turn: a product (`mul`), a sum (`lin`)
that may use this product, and control flow (`then`). docs/rtl-verify.md describes how the engine executes them.

M are the registers written by products, L those written by sums. Points are in Jacobian coordinates.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "vectors"))
from protocol import RULE

PAGE = Path(__file__).resolve().parent / "src" / "secp256k1_rom_pkg.sv"

P = 2**256 - 2**32 - 977
N = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
G = (0x79BE667EF9DCBBAC55A06295CE870B07029BFCDB2DCE28D959F2815B16F81798,
     0x483ADA7726A3C4655DA4FBFC0E1108A8FD17B448A68554199C47D08FFB10D4B8)
# The endomorphism: (beta x, y) is lambda times (x, y).
BETA = 0x7AE96A2B657C07106E64479EAC3434E99CF0497512F58995C1396C28719501EE
# Short vectors of the lattice of (a, b) with a + b lambda = 0 modulo n: (A1, -B1) and (A2, A1). See Guide to ECC,
# algorithm 3.74.
A1 = 0x3086D221A7D46BCDE86C90E49284EB15
B1 = 0xE4437ED6010E88286F547FA90ABFE4C3
A2 = 0x114CA50F7A8E2F3F657C1108D9D44CFD8
# Odd multiples of G and of 2^128 G up to 2^(w - 1) - 1: windows of 9 bits need 256 words of both coordinates, which fit
# the width of two block RAMs.
WINDOW_G = 9
MULTIPLES_G = 2 ** (WINDOW_G - 2)
# Of the key: 8 odd multiples. 16 would cost 8 more additions and save 6.
WINDOW_Q = 5


def point_add(a, b):
    if a is None or b is None:
        return a or b
    if a[0] == b[0]:
        if (a[1] + b[1]) % P == 0:
            return None
        slope = 3 * a[0] * a[0] * pow(2 * a[1], -1, P)
    else:
        slope = (b[1] - a[1]) * pow(b[0] - a[0], -1, P)
    x = (slope * slope - a[0] - b[0]) % P
    return x, (slope * (a[0] - x) - a[1]) % P


def multiples():
    """Of G, then of 2^128 G: x, y of each odd multiple."""
    base, words = G, []
    for _ in range(2):
        double, each = point_add(base, base), base
        for _ in range(MULTIPLES_G):
            words += each
            each = point_add(each, double)
        for _ in range(128):
            base = point_add(base, base)
    return words


CONSTANTS = {
    "C": 2**256 - N,  # 2^256 modulo n
    "G1": (2**384 * A1 + N // 2) // N,
    "G2": (2**384 * B1 + N // 2) // N,
    "A1": A1, "B1": B1, "A2": A2, "BETA": BETA,
    "P_LESS_N": P - N,
}

# Registers. M: x of the key's odd multiples, their x times lambda, y of both; then others.
M = {f"TX{i}": i for i in range(8)} | {f"TB{i}": 8 + i for i in range(8)} | {f"TY{i}": 16 + i for i in range(8)}
M |= {name: 24 + i for i, name in enumerate(["Z", "ZG", "MA", "MB", "MC", "MD", "ME", "MF"])}
L = {name: i for i, name in enumerate(["X", "Y", "W", "H", "R", "K", "ONE", "SR", "SE", "SS", "KX", "KY", "T"])}
L |= {f"X{i}": 13 + i - 1 for i in range(1, 7)} | {f"Y{i}": 19 + i - 1 for i in range(1, 7)} | {f"H{i}": 25 + i for i in range(7)}
# The seventh multiple is needed separately only until it is stored.
L |= {"X7": L["W"], "Y7": L["R"]}
# Available once the key's multiples are computed.
L |= {"U1": L["X1"], "U2": L["X2"], "K1": L["X3"], "K2": L["X4"], "SUM": L["X5"]}
INPUTS = ["R", "S", "E", "X", "Y", "ONE", "SEVEN", "INVERSE"]

TAKES = {"p": 0, "low": 1, "high": 2, "top": 3}
MODULI = {"p": 0, "n": 1, "raw": 2}
THENS = ["NEXT", "IF", "REPEAT", "WAIT", "LOADED", "DOWN", "PENDING", "DISPATCH", "FINISH", "INVERT", "INVERTED", "RECODE", "RECODED", "PHASE"]
CONDITIONS = ["ALWAYS", "ZERO", "NONZERO", "SCHNORR", "HAS_Y", "PARITY_RIGHT", "ODD", "WRAPS", "PHASE", "INFINITY"]
GOOD = 0  # no rule is broken

program, labels = [], {}


def label(name):
    labels[name] = len(program)


def turn(mul=None, lin=None, then="NEXT", target=0, condition="ALWAYS", infinity=None):
    """mul: (register, a, b) or (register, a, b, take); no register where only the sum needs it.
    lin: (register, x, y) or more: words like `+prod`, `-2K`, `?prod` (negated with the digit), `0`; then a modulus, then `half`."""
    program.append((mul, lin, then, target, condition, infinity))


def double(then_first, then_second, then_last):
    turn(("", "X", "X"), ("W", "+prod", "+2prod", "p", "half"), then_first)
    turn(("MA", "Y", "Y"), None, then_second)
    turn(("MB", "X", "MA"))
    turn(("", "W", "W"), ("X", "+prod", "-2MB"))
    turn(("Z", "Y", "Z"), ("K", "+MB", "-X"))
    turn(("MA", "MA", "MA"))
    turn(("", "W", "K"), ("Y", "+prod", "-MA"), then_last)


def times_modulo_n(register, a, b):
    """Product modulo n: folds with 2^256 = C modulo n three times."""
    turn(("MA", a, b, "high"))
    turn(("MB", a, b, "low"))
    turn(("MC", "MA", "#C", "high"))
    turn(("MD", "MA", "#C", "low"), (register, "+prod", "+MB", "n"))
    turn(("ME", "MC", "#C", "high"))
    turn(("MF", "MC", "#C", "low"), (register, "+prod", "+" + register, "n"))
    turn(("", "ME", "#C", "low"), (register, "+prod", "+" + register, "n"))


def squares(register, source, count):
    turn((register, source, source))
    if count > 1:
        turn((register, register, register), None, "REPEAT", count - 1)


def root():
    """TX0 to the power of (p + 1) / 4 to Y: 253 squarings and 13 products, by runs of 2, 22 and 223 ones in the exponent."""
    x2, x3, x6, x9, x11, x22, x44, x88, work = "TX1", "TX2", "TX3", "TX4", "TX5", "TX6", "TX7", "TY0", "TY1"
    x176, x220 = "TY2", "TY3"
    for out, start, count, factor in ((x2, "TX0", 1, "TX0"), (x3, x2, 1, "TX0"), (x6, x3, 3, x3), (x9, x6, 3, x3), (x11, x9, 2, x2), (x22, x11, 11, x11),
                                      (x44, x22, 22, x22), (x88, x44, 44, x44), (x176, x88, 88, x88), (x220, x176, 44, x44), (work, x220, 3, x3),
                                      (work, work, 23, x22), (work, work, 6, x2)):
        squares(work, start, count)
        turn((out, work, factor))
    turn((work, work, work))
    turn((work, work, work), ("Y", "+prod", "0"))


def add_point(z, end):
    """The mixed addition of the table's point; its last seven products are `ADD_REST`."""
    turn(("MA", z, z))
    turn(("", "MA", "@X"), ("H", "+prod", "-X"))
    turn(("MB", z, "MA"), None, "IF", "SAME_X", "ZERO")
    turn(("", "MB", "@Y"), ("R", "?prod", "-Y"), "IF", end) if end else turn(("", "MB", "@Y"), ("R", "?prod", "-Y"))


def assemble():
    # Reads a request: its five numbers, and the number one.
    label("START")
    turn(then="WAIT")
    turn(None, ("SR", "<R", "0", "raw"))
    turn(None, ("SS", "<S", "0", "raw"))
    turn(None, ("SE", "<E", "0", "n"))
    turn(None, ("KX", "<X", "0", "raw"))
    turn(None, ("KY", "<Y", "0", "raw"), "LOADED")
    turn(None, ("ONE", "<ONE", "0", "raw"), "IF", "CURVE", "SCHNORR")
    # Computes the inverse of s while the key is checked.
    turn(None, ("T", "+SS", "0", "n"), "INVERT")

    # x^3 + 7, for the key or, in the second phase, for the nonce.
    label("CURVE")
    turn(("MA", "KX", "KX"), ("K", "<SEVEN", "0", "raw"))
    turn(("", "MA", "KX"), ("T", "+prod", "+K"), "IF", "HAS_Y", "HAS_Y")
    turn(("TX0", "T", "ONE"))
    root()
    turn(("", "Y", "Y"), ("R", "+prod", "-T"), "IF", "NONCE", "PHASE")
    turn(None, None, "IF", "NOT_ON_CURVE", "NONZERO")
    turn(None, ("KY", "+Y", "0"))
    turn(None, None, "IF", "TABLE", "PARITY_RIGHT")
    turn(None, ("KY", "-KY", "0"), "IF", "TABLE")
    label("HAS_Y")
    turn(("", "KY", "KY"), ("R", "+prod", "-T"))
    turn(None, None, "IF", "TABLE", "ZERO")
    label("NOT_ON_CURVE")
    turn(None, None, "IF", "DROP_INVERSE_CURVE", "ALWAYS")

    # Odd multiples of the key Q. D = 2 Q and Q have the same Z: on the isomorphic curve of that Z both are affine.
    label("TABLE")
    turn(("", "KX", "KX"), ("W", "+prod", "+2prod", "p", "half"))
    turn(("MA", "KY", "KY"))
    turn(("TX0", "KX", "MA"))
    turn(("", "W", "W"), ("X", "+prod", "-2TX0"))
    turn(("TY0", "MA", "MA"), ("K", "+TX0", "-X"))
    turn(("", "W", "K"), ("Y", "+prod", "-TY0"))
    # Each is the previous one plus D; both have the same Z, and D is rescaled to the sum's (Meloni, co-Z addition).
    for i in range(7):
        x, y, dx, dy = (f"X{i}", f"Y{i}", "MB", "ME") if i else ("TX0", "TY0", "X", "Y")
        turn(None, (f"H{i}", "+" + x, "-" + dx))
        turn(("MA", f"H{i}", f"H{i}"), ("R", "+" + y, "-" + dy))
        turn(("MB", dx, "MA"))
        turn(("", x, "MA"), ("T", "+prod", "-MB"))
        turn(("", "R", "R"), ("K", "+prod", "-2MB"))
        turn(("ME", dy, "T"), (f"X{i + 1}", "+K", "-T"))
        turn(None, ("T", "+MB", f"-X{i + 1}"))
        turn(("", "R", "T"), (f"Y{i + 1}", "+prod", "-ME"))
    # Rescale all to the Z of the last.
    turn(("TX7", "X7", "ONE"))
    turn(("TY7", "Y7", "ONE"))
    for i in reversed(range(7)):
        x, y, factor = (f"X{i}" if i else "TX0"), (f"Y{i}" if i else "TY0"), "H6" if i == 6 else "MC"
        if i < 6:
            turn(("MC", "H6" if i == 5 else "MC", f"H{i}"))
        turn(("MA", factor, factor))
        turn((f"TX{i}", x, "MA"))
        turn(("MB", factor, "MA"))
        turn((f"TY{i}", y, "MB"))
    turn(("ZG", "KY", "MC"))
    for i in range(8):
        turn((f"TB{i}", f"TX{i}", "#BETA"))
    turn(None, None, "IF", "SCHNORR_SCALARS", "SCHNORR")

    # u1 = e / s, u2 = r / s.
    turn(None, ("T", "<INVERSE", "0", "n"), "INVERTED")
    times_modulo_n("U1", "SE", "T")
    times_modulo_n("U2", "SR", "T")
    turn(None, None, "IF", "SPLIT")
    label("SCHNORR_SCALARS")
    turn(None, ("U1", "+SS", "0", "n"))
    turn(None, ("U2", "-SE", "0", "n"))
    # u2 = k1 + k2 lambda, both of at most 129 bits and a sign.
    label("SPLIT")
    turn(("MA", "U2", "#G1", "top"))
    turn(("MB", "U2", "#G2", "top"))
    turn(("MC", "MA", "#A1", "low"))
    turn(("MD", "MB", "#A2", "low"), ("K1", "+U2", "-MC", "raw"))
    turn(("MC", "MA", "#B1", "low"), ("K1", "+K1", "-MD", "raw"))
    turn(("MD", "MB", "#A1", "low"), ("K2", "+MC", "0", "raw"))
    turn(None, ("K2", "+K2", "-MD", "raw"))
    turn(None, ("T", "+U1", "0", "raw"), "RECODE", 0)
    turn(None, ("T", "+K1", "0", "raw"), "RECODE", 1)
    turn(None, ("T", "+K2", "0", "raw"), "RECODE", 2)
    turn(then="RECODED")
    turn(then="PENDING", infinity=True)
    turn(then="DISPATCH")

    label("DOUBLE")
    double("DOWN", "PENDING", "DISPATCH")
    label("ADD_G")
    # A point with Z = 1 on the curve itself: the sum's Z there.
    turn(("MF", "Z", "ZG"))
    add_point("MF", "ADD_REST")
    label("ADD_Q")
    add_point("Z", None)
    label("ADD_REST")
    turn(("MA", "H", "H"))
    turn(("MB", "H", "MA"))
    turn(("MC", "X", "MA"), ("K", "+2prod", "+MB"))
    turn(("", "R", "R"), ("X", "+prod", "-K"))
    turn(("Z", "Z", "H"), ("K", "+MC", "-X"))
    turn(("MD", "Y", "MB"))
    turn(("", "R", "K"), ("Y", "+prod", "-MD"), "DISPATCH")
    # The sum of a point and itself, or its negative.
    label("SAME_X")
    turn(("", "MB", "@Y"), ("R", "?prod", "-Y"))
    turn(None, None, "IF", "SAME", "ZERO")
    turn(then="DISPATCH", infinity=True)
    label("SAME")
    double("NEXT", "NEXT", "DISPATCH")
    # The first point.
    label("LOAD_G")
    turn(("MA", "ZG", "ZG"))
    turn(("", "MA", "@X"), ("X", "+prod", "0"))
    turn(("MB", "ZG", "MA"))
    turn(("", "MB", "@Y"), ("Y", "?prod", "0"))
    turn(("Z", "ONE", "ONE"), None, "DISPATCH", infinity=False)
    label("LOAD_Q")
    turn(("", "ONE", "@X"), ("X", "+prod", "0"))
    turn(("", "ONE", "@Y"), ("Y", "?prod", "0"))
    turn(("Z", "ONE", "ONE"), None, "DISPATCH", infinity=False)

    # The sum is complete: its Z on the curve itself.
    label("END")
    turn(("Z", "Z", "ZG"), None, "IF", "BAD", "INFINITY")
    turn(("MA", "Z", "Z"), None, "IF", "SCHNORR_END", "SCHNORR")
    turn(("", "MA", "SR"), ("R", "+prod", "-X"))
    turn(("MB", "ONE", "#P_LESS_N", "low"), None, "IF", "GOOD", "ZERO")
    # r + n is also a field element if r < p - n.
    turn(None, ("SR", "+SR", "-MB"), "IF", "GO_ON", "WRAPS")
    turn(then="FINISH", target=RULE["SIGNATURE_MISMATCH"])
    label("GO_ON")
    turn(("", "MA", "SR"), ("R", "+prod", "-X"))
    turn(None, None, "IF", "GOOD", "ZERO")
    turn(then="FINISH", target=RULE["SIGNATURE_MISMATCH"])
    label("GOOD")
    turn(then="FINISH", target=GOOD)
    label("SCHNORR_END")
    turn(None, ("T", "+Z", "0"), "INVERT")
    turn(None, ("T", "<INVERSE", "0", "p"), "INVERTED")
    turn(("MA", "T", "T"))
    turn(("", "MA", "X"), ("R", "+prod", "-SR"))
    turn(("MB", "MA", "T"), None, "IF", "BAD", "NONZERO")
    turn(("", "MB", "Y"), ("R", "+prod", "0"))
    turn(None, None, "IF", "GOOD", "PARITY_RIGHT")
    label("BAD")
    turn(None, None, "IF", "BAD_NONCE", "SCHNORR")
    turn(then="FINISH", target=RULE["SIGNATURE_MISMATCH"])
    # For a bad Schnorr signature: whether any point has r as its x.
    label("BAD_NONCE")
    turn(None, ("KX", "+SR", "0"), "PHASE")
    turn(None, None, "IF", "CURVE")
    label("NONCE")
    turn(None, None, "IF", "NO_NONCE", "NONZERO")
    turn(then="FINISH", target=RULE["SIGNATURE_MISMATCH"])
    label("NO_NONCE")
    turn(then="FINISH", target=RULE["NONCE_NOT_ON_CURVE"])
    # The inverse must be consumed before the next signature may request one.
    label("DROP_INVERSE_CURVE")
    turn(None, None, "IF", "FINISH_CURVE", "SCHNORR")
    turn(None, ("T", "<INVERSE", "0", "n"), "INVERTED")
    label("FINISH_CURVE")
    turn(then="FINISH", target=RULE["KEY_NOT_ON_CURVE"])


FIELDS = [("mul_write", 1), ("mul_register", 5), ("mul_take", 2), ("a_bank", 1), ("a_register", 5), ("b_source", 2), ("b_register", 5),
          ("lin_write", 1), ("lin_register", 5), ("x_source", 2), ("x_register", 5), ("x_double", 1), ("x_sign", 2), ("y_source", 2), ("y_register", 5),
          ("y_double", 1), ("y_negate", 1), ("modulus", 2), ("half", 1), ("infinity", 2), ("then", 4), ("condition", 4), ("target", 9)]


def operand(name):
    """Bank and register."""
    return (0, M[name]) if name in M else (1, L[name])


def encode(number, instruction):
    mul, lin, then, target, condition, infinity = instruction
    f = dict.fromkeys((name for name, _ in FIELDS), 0)
    if mul:
        register, a, b, *take = mul
        f["mul_write"], f["mul_register"] = int(register != ""), M[register] if register else 0
        f["mul_take"] = TAKES[take[0] if take else "p"]
        f["a_bank"], f["a_register"] = operand(a)
        if b[0] == "#":
            f["b_source"], f["b_register"] = 2, list(CONSTANTS).index(b[1:])
        elif b[0] == "@":
            f["b_source"], f["b_register"] = 3, "XY".index(b[1])
        else:
            f["b_source"], f["b_register"] = operand(b)
    if lin:
        register, x, y, *rest = lin
        f["lin_write"], f["lin_register"] = 1, L[register]
        f["modulus"] = MODULI[rest[0] if rest else "p"]
        f["half"] = int("half" in rest)
        # x: a product, a register, an input. Its sign: plus, minus, or the digit's.
        if x[0] == "<":
            f["x_source"], f["x_register"] = 3, INPUTS.index(x[1:])
        else:
            f["x_sign"] = "+-?".index(x[0])
            name = x[1:]
            f["x_double"] = int(name[0] == "2")
            name = name[f["x_double"]:]
            f["x_source"], f["x_register"] = (2, 0) if name == "prod" else operand(name)
        # y: a product, a register, or nothing.
        f["y_source"] = 3
        if y != "0":
            f["y_negate"] = int(y[0] == "-")
            name = y[1:]
            f["y_double"] = int(name[0] == "2")
            name = name[f["y_double"]:]
            f["y_source"], f["y_register"] = (2, 0) if name == "prod" else operand(name)
    f["infinity"] = 0 if infinity is None else 2 + int(infinity)
    f["then"], f["condition"] = THENS.index(then), CONDITIONS.index(condition)
    f["target"] = labels[target] if isinstance(target, str) else target
    word = 0
    for name, width in FIELDS:
        assert 0 <= f[name] < 2**width, (number, instruction, name)
        word = word << width | f[name]
    return word


def camel(name):
    return "".join(part.capitalize() for part in name.split("_"))


def page():
    assemble()
    words, width = [encode(*each) for each in enumerate(program)], sum(width for _, width in FIELDS)
    digits = (width + 3) // 4
    lines = ["// The micro-program and the constants of the secp256k1 engine. Generated by rtl/verify/secp256k1.py; edit that file.", "", "package secp256k1_rom_pkg;", "",
             "  typedef enum logic [3:0] {"]
    lines += [f"    Then{camel(name)} = 4'd{at}{',' if at + 1 < len(THENS) else ''}" for at, name in enumerate(THENS)]
    lines += ["  } then_e;", "", "  typedef enum logic [3:0] {"]
    lines += [f"    If{camel(name)} = 4'd{at}{',' if at + 1 < len(CONDITIONS) else ''}" for at, name in enumerate(CONDITIONS)]
    lines += ["  } condition_e;", "", "  typedef struct packed {"]
    for name, bits in FIELDS:
        kind = {"then": "then_e", "condition": "condition_e"}.get(name, f"logic [{bits - 1}:0]" if bits > 1 else "logic")
        lines.append(f"    {kind} {name if name != 'then' else 'next'};")
    lines += ["  } instruction_t;", "", "  // Where routines begin."]
    lines += [f"  localparam logic [8:0] At{camel(name)} = 9'd{labels[name]};" for name in ("START", "DOUBLE", "ADD_G", "ADD_Q", "LOAD_G", "LOAD_Q", "END")]
    lines += ["", "  // Windows of the digits of G's multiple and of the key's.", f"  localparam int unsigned WindowG = {WINDOW_G};",
              f"  localparam int unsigned WindowQ = {WINDOW_Q};", "", f"  localparam int unsigned Instructions = {len(words)};",
              f"  localparam logic [{width - 1}:0] Program[Instructions] = '{{"]
    lines += [f"      {width}'h{word:0{digits}x}{',' if at + 1 < len(words) else ''}" for at, word in enumerate(words)]
    constants = multiples() + list(CONSTANTS.values())
    lines += ["  };", "", "  // x and y of the odd multiples of G, then of 2^128 G; then single numbers.", f"  localparam int unsigned FirstConstant = {4 * MULTIPLES_G};",
              f"  localparam int unsigned Constants = {len(constants)};", "  localparam logic [255:0] Constant[Constants] = '{"]
    lines += [f"      256'h{word:064x}{',' if at + 1 < len(constants) else ''}" for at, word in enumerate(constants)]
    lines += ["  };", "", "endpackage", ""]
    return "\n".join(lines)


def main():
    text = page()
    if sys.argv[1:] != ["--check"]:
        PAGE.write_text(text)
    elif not PAGE.exists() or PAGE.read_text() != text:
        sys.exit(f"{PAGE.name} is not what rtl/verify/secp256k1.py makes; run it")


if __name__ == "__main__":
    main()
