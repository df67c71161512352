#!/usr/bin/env python3
"""The micro-program of the BLS12-381 coprocessor: `rtl/verify/bls12_381_coprocessor.py`, `--check` to compare with the
existing file, or `--report` to print the slots and products of each block.

Writes src/bls12_381_program_pkg.sv. The formulas are those of docs/coprocessor.md if the definition includes them; if it
only defines the value, as in Fp12, they are Karatsuba's, the complex square, and Granger and Scott's (eprint 2009/565)
for the final exponentiation.
"""

import sys
from pathlib import Path

from bls12_381_schedule import Block, Expression

PAGE = Path(__file__).resolve().parent / "src" / "bls12_381_program_pkg.sv"

P = 0x1A0111EA397FE69A4B1BA7B6434BACD764774B84F38512BF6730D2A0F6B0F6241EABFFFEB153FFFFB9FEFFFFFFFFAAAB
PARAMETER = 0xD201000000010000
RADIX = 2**381

# Places of the operand buffer: a from 0, b from 12, then the number one and the context's inverse.
OPERAND_B, INPUT_ONE, INPUT_INVERSE = 12, 24, 25
# Flags: those set by the formulas' tests, then those supplied with the instruction.
FLAGS = 8
GIVEN_TRIVIAL, GIVEN_PAIRING = 8, 9

THENS = ["NEXT", "WAIT", "LOADED", "IF", "CALL", "RETURN", "SEEK", "DOWN", "IF_BIT", "INVERTED", "FINISH", "FAULT"]

constants, constant_places = [], {}


def constant(number):
    """The place of a number of the field, in Montgomery's form."""
    return raw_constant(number * RADIX % P)


def raw_constant(number):
    if number not in constant_places:
        constant_places[number] = len(constants)
        constants.append(number)
    return constant_places[number]


# Factors into Montgomery form; from the inverse of a number in that form; out of it.
INTO, INVERSE_INTO, OUT = raw_constant(RADIX**2 % P), raw_constant(RADIX**3 % P), raw_constant(1)

homes = {}


def declare(*names):
    for name in names:
        count = len(homes)
        homes[name] = (1 + count % 2, count // 2)


for prefix, count in (("F", 12), ("M", 12), ("B", 12), ("E", 12), ("C", 12), ("T", 6), ("U", 6), ("V", 6), ("P", 2), ("R", 2), ("N", 2)):
    declare(*[f"{prefix}{at}" for at in range(count)])

block = None
slots, labels, report = [], {}, []


class Element:
    """Of Fp."""

    size = 1

    def __init__(self, expression):
        self.expression = expression

    def __add__(self, other):
        return Element(self.expression.plus(other.expression))

    def __sub__(self, other):
        return Element(self.expression.plus(other.expression, -1))

    def times(self, factor):
        return Element(self.expression.times(factor))

    def __mul__(self, other):
        return Element(block.multiply(self.expression, other.expression))

    def square(self):
        return self * self

    def whole(self):
        return Element(block.whole(self.expression))

    def parts(self):
        return [self]

    @staticmethod
    def of(parts):
        return parts[0]


class Element2:
    """Of Fp2: r + i u."""

    size = 2

    def __init__(self, r, i):
        self.r, self.i = r, i

    def __add__(self, other):
        return Element2(self.r + other.r, self.i + other.i)

    def __sub__(self, other):
        return Element2(self.r - other.r, self.i - other.i)

    def times(self, factor):
        return Element2(self.r.times(factor), self.i.times(factor))

    def __mul__(self, other):
        low, high, both = self.r * other.r, self.i * other.i, (self.r + self.i) * (other.r + other.i)
        return Element2(low - high, both - low - high)

    def square(self):
        self = self.whole()
        return Element2((self.r + self.i) * (self.r - self.i), self.r.times(2) * self.i)

    def scale(self, factor):
        return Element2(self.r * factor, self.i * factor)

    def xi(self):
        """Times u + 1."""
        return Element2(self.r - self.i, self.r + self.i)

    def conjugate(self):
        return Element2(self.r, self.i.times(-1))

    def whole(self):
        return Element2(self.r.whole(), self.i.whole())

    def parts(self):
        return [self.r, self.i]

    @staticmethod
    def of(parts):
        return Element2(*parts)


def zero():
    return Element(Expression())


def whole6(a):
    return [each.whole() for each in a]


def add6(a, b):
    return [x + y for x, y in zip(a, b)]


def subtract6(a, b):
    return [x - y for x, y in zip(a, b)]


def times_v(a):
    return [a[2].xi(), a[0], a[1]]


def multiply6(a, b):
    a, b = whole6(a), whole6(b)
    low, middle, high = (x * y for x, y in zip(a, b))
    low, middle, high = low.whole(), middle.whole(), high.whole()
    return [low + ((a[1] + a[2]) * (b[1] + b[2]) - middle - high).xi(),
            (a[0] + a[1]) * (b[0] + b[1]) - low - middle + high.xi(),
            (a[0] + a[2]) * (b[0] + b[2]) - low - high + middle]


def multiply12(f, g):
    low, high = whole6(multiply6(f[:3], g[:3])), whole6(multiply6(f[3:], g[3:]))
    both = multiply6(add6(f[:3], f[3:]), add6(g[:3], g[3:]))
    return add6(low, times_v(high)) + subtract6(subtract6(both, low), high)


def square12(f):
    a, b = f[:3], f[3:]
    product = whole6(multiply6(a, b))
    both = multiply6(add6(a, b), add6(a, times_v(b)))
    return subtract6(subtract6(both, product), times_v(product)) + [each.times(2) for each in product]


def multiply_line(f, l0, l1, l2):
    """By (l0 + l1 v) + l2 v w."""
    def sparse(a, x, y):
        a = whole6(a)
        x, y = x.whole(), y.whole()
        low, middle = (a[0] * x).whole(), (a[1] * y).whole()
        return [low + (a[2] * y).xi(), (a[0] + a[1]) * (x + y) - low - middle, a[2] * x + middle]

    a, b = f[:3], f[3:]
    low = whole6(sparse(a, l0, l1))
    l2 = l2.whole()
    high = whole6([(b[2] * l2).xi(), b[0] * l2, b[1] * l2])
    both = sparse(add6(a, b), l0, l1 + l2)
    return add6(low, times_v(high)) + subtract6(subtract6(both, low), high)


def conjugate12(f):
    return f[:3] + [each.times(-1) for each in f[3:]]


def cyclotomic_square(f):
    """Granger and Scott, of an element of order p^4 - p^2 + 1 or a part of it."""
    def square4(a, b):
        a2, b2, both = a.square(), b.square(), (a + b).square()
        return a2 + b2.xi(), both - a2 - b2

    z0, z4, z3, z2, z1, z5 = f
    s0, s1 = square4(z0, z1)
    t0, t1 = square4(z2, z3)
    u0, u1 = square4(z4, z5)
    less = lambda t, z: t.times(3) - z.times(2)
    more = lambda t, z: t.times(3) + z.times(2)
    return [each.whole() for each in (less(s0, z0), less(t0, z4), less(u0, z3), more(u1.xi(), z2), more(s1, z1), more(t1, z5))]


def power2(a, exponent):
    """In Fp2, of numbers."""
    result = (1, 0)
    while exponent:
        if exponent & 1:
            result = ((result[0] * a[0] - result[1] * a[1]) % P, (result[0] * a[1] + result[1] * a[0]) % P)
        a = ((a[0] * a[0] - a[1] * a[1]) % P, 2 * a[0] * a[1] % P)
        exponent >>= 1
    return result


# Coefficients belong to these powers of w.
POWERS = [0, 2, 4, 1, 3, 5]


def number(value):
    return Element(block.constant(constant(value)))


def frobenius(f):
    def times_constant(a, gamma):
        low, high = number(gamma[0]) * a.r, number(gamma[1]) * a.i
        both = number((gamma[0] + gamma[1]) % P) * (a.r + a.i)
        return Element2(low - high, both - low - high)

    return [times_constant(each.conjugate(), power2((1, 1), power * (P - 1) // 6)) if power else each.conjugate() for each, power in zip(f, POWERS)]


def frobenius2(f):
    def factor(power):
        found = power2((1, 1), power * (P * P - 1) // 6)
        assert found[1] == 0
        return number(found[0])

    return [each.scale(factor(power)) if power else each for each, power in zip(f, POWERS)]


# Assembly of blocks.
def start(label=None):
    global block
    if label:
        labels[label] = len(slots)
    block = Block(homes)


def finish(then="NEXT", target=0, mask=()):
    """Ends the block; its last slot does what comes next."""
    if then == "FINISH":
        # After its results are stored.
        finish()
        control(then)
        return
    made = block.schedule()
    report.append((max((name for name in labels if labels[name] <= len(slots)), key=labels.get), len(made), block.products, block.sums))
    slots.extend((product, linear, "NEXT", 0, ()) for product, linear in made[:-1])
    slots.append((*made[-1], then, target, mask))


def control(then, target=0, mask=(), label=None):
    if label:
        labels[label] = len(slots)
    slots.append((None, [None, None], then, target, mask))


def load(place):
    return Element(block.multiply(block.constant(INTO), block.input(place)))


def load_value(field, place, count):
    return [field.of([load(place + field.size * at + part) for part in range(field.size)]) for at in range(count)]


def read(prefix, field, count):
    name = lambda at: Element(block.read(f"{prefix}{at}"))
    return [field.of([name(2 * at + part) for part in range(field.size)]) for at in range(count)]


def write(prefix, values):
    for at, value in enumerate(values):
        for part, each in enumerate(value.parts()):
            block.write(f"{prefix}{2 * at + part}", each.expression)


def store(values):
    parts = [part for value in values for part in value.parts()]
    for place, part in enumerate(parts):
        block.store(place, part.expression, next(iter(block.constant(OUT))))


def test(flag, value):
    """Each part a flag; all of them are the mask."""
    for at, part in enumerate(value.parts()):
        block.test(flag + at, part.expression)


def mask(flag, field):
    return tuple(range(flag, flag + field.size))


def one(field):
    first = load(INPUT_ONE)
    return field.of([first] + [zero()] * (field.size - 1))


def nought(field):
    return field.of([zero()] * field.size)


def one12():
    return [one(Element2)] + [nought(Element2)] * 5


def end():
    control("LOADED")
    control("FINISH")


# Arithmetic of elements: loaded, computed and stored in one block.
def elements():
    def elementwise(operation):
        return lambda a, b: [operation(x, y) for x, y in zip(a, b)]

    plus, minus, times = (elementwise(each) for each in (lambda x, y: x + y, lambda x, y: x - y, lambda x, y: x * y))
    for name, field, count in (("FP", Element, 1), ("FP2", Element2, 1), ("FP12", Element2, 6)):
        for operation, formula in (("ADD", plus), ("SUB", minus), ("MUL", multiply12 if count == 6 else times)):
            start(f"{operation}_{name}")
            store(formula(load_value(field, 0, count), load_value(field, OPERAND_B, count)))
            finish()
            end()


def inverse_of(prefix, field):
    """After the inverter: of the element whose norm, or which itself, it was given."""
    inverse = Element(block.multiply(block.constant(INVERSE_INTO), block.input(INPUT_INVERSE)))
    if field is Element:
        return inverse
    (z,) = read(prefix, field, 1)
    return z.conjugate().scale(inverse)


def norm(z):
    return z if isinstance(z, Element) else z.r.square() + z.i.square()


def inverses():
    for name, field in (("FP", Element), ("FP2", Element2)):
        start(f"INV_{name}")
        (z,) = load_value(field, 0, 1)
        block.invert(norm(z).expression)
        write("N", [z])
        finish()
        control("LOADED")
        control("INVERTED")
        start()
        store([inverse_of("N", field)])
        finish("FINISH")
    for name, field in (("G1", Element), ("G2", Element2)):
        start(f"AFFINE_{name}")
        x, y, z = load_value(field, 0, 3)
        block.invert(norm(z).expression)
        write("N", [z])
        write("T", [x, y])
        finish()
        control("LOADED")
        control("INVERTED")
        start()
        inverse = inverse_of("N", field).whole()
        square = inverse.square().whole()
        x, y = read("T", field, 2)
        store([x * square, y * square * inverse] if field is Element else [x * square, (y * square).whole() * inverse])
        finish("FINISH")
    start("INV_FP12")
    write("F", load_value(Element2, 0, 6))
    finish("LOADED")
    control("CALL", "INVERT12")
    start()
    store(read("E", Element2, 6))
    finish("FINISH")
    # E = 1 / F.
    start("INVERT12")
    f = read("F", Element2, 6)
    a, b = f[:3], f[3:]
    c0, c1, c2 = whole6(subtract6(multiply6(a, a), times_v(multiply6(b, b))))
    v0 = (c0.square() - (c1 * c2).xi()).whole()
    v1 = (c2.square().xi() - c0 * c1).whole()
    v2 = (c1.square() - c0 * c2).whole()
    n = (c0 * v0 + (c2 * v1 + c1 * v2).xi()).whole()
    write("V", [v0, v1, v2])
    write("N", [n])
    block.invert(norm(n).expression)
    finish()
    control("INVERTED")
    start()
    inverse = inverse_of("N", Element2).whole()
    cofactor = [each * inverse for each in read("V", Element2, 3)]
    f = read("F", Element2, 6)
    write("E", multiply6(f[:3], cofactor) + [each.times(-1) for each in multiply6(f[3:], cofactor)])
    finish("RETURN")


# Points. T is the sum, U the point added to it.
Z1, Z2, H, R = 0, 2, 4, 6


def double(x, y, z):
    a, b = x.square().whole(), y.square().whole()
    b2 = b.square()
    d = ((x + b).square() - a - b2).times(2).whole()
    e = a.times(3).whole()
    e2 = e.square()
    x3 = (e2 - d.times(2)).whole()
    y3 = e * (d - x3) - b2.times(8)
    return a, b, e, e2, x3, y3


def points():
    for name, field in (("G1", Element), ("G2", Element2)):
        # T = 2 T.
        start(f"DOUBLE_{name}")
        x, y, z = read("T", field, 3)
        *_, x3, y3 = double(x, y, z)
        write("T", [x3, y3, (y * z).times(2)])
        test(Z1, z)
        finish("IF", f"INFINITY_{name}", mask(Z1, field))
        control("RETURN")
        start(f"INFINITY_{name}")
        write("T", [one(field), one(field), nought(field)])
        finish("RETURN")

        # T = T + U.
        start(f"SUM_{name}")
        (x1, y1, z1), (x2, y2, z2) = read("T", field, 3), read("U", field, 3)
        zz1, zz2 = z1.square().whole(), z2.square().whole()
        u1, u2 = (x1 * zz2).whole(), (x2 * zz1).whole()
        s1, s2 = ((y1 * z2).whole() * zz2).whole(), ((y2 * z1).whole() * zz1).whole()
        h, r = (u2 - u1).whole(), (s2 - s1).times(2).whole()
        test(Z1, z1)
        test(Z2, z2)
        test(H, h)
        test(R, r)
        write("V", [u1, h, s1])
        write("R", [r])
        finish("IF", f"FIRST_INFINITE_{name}", mask(Z1, field))
        control("IF", f"RETURN_{name}", mask(Z2, field))
        control("IF", f"SAME_X_{name}", mask(H, field))
        start()
        (u1, h, s1), (r,) = read("V", field, 3), read("R", field, 1)
        (_, _, z1), (_, _, z2) = read("T", field, 3), read("U", field, 3)
        i = h.times(2).square().whole()
        j, v = (h * i).whole(), (u1 * i).whole()
        x3 = (r.square() - j - v.times(2)).whole()
        write("T", [x3, r * (v - x3) - (s1 * j).times(2), ((z1 * z2).whole() * h).times(2)])
        finish("RETURN")
        control("IF", f"DOUBLE_{name}", mask(R, field), label=f"SAME_X_{name}")
        control("IF", f"INFINITY_{name}")
        control("IF", f"INFINITY_{name}", mask(Z2, field), label=f"FIRST_INFINITE_{name}")
        start()
        write("T", read("U", field, 3))
        finish("RETURN")
        control("RETURN", label=f"RETURN_{name}")

        for operation, sign in (("ADD", 1), ("SUB", -1)):
            start(f"{operation}_{name}")
            write("T", load_value(field, 0, 3))
            x, y, z = load_value(field, OPERAND_B, 3)
            write("U", [x, y.times(sign), z])
            finish("LOADED")
            control("CALL", f"SUM_{name}")
            control("IF", f"STORE_{name}")
        start(f"MULTIPLY_{name}")
        point = load_value(field, OPERAND_B, 3)
        write("T", point)
        write("U", point)
        test(Z2, point[2])
        finish("LOADED")
        control("IF", f"NOTHING_{name}", mask(Z2, field))
        control("IF", f"NOTHING_{name}", (GIVEN_TRIVIAL,))
        control("SEEK")
        control("DOWN", f"STORE_{name}", label=f"LOOP_{name}")
        control("CALL", f"DOUBLE_{name}")
        control("IF_BIT", f"LOOP_ADD_{name}")
        control("IF", f"LOOP_{name}")
        control("CALL", f"SUM_{name}", label=f"LOOP_ADD_{name}")
        control("IF", f"LOOP_{name}")
        control("CALL", f"INFINITY_{name}", label=f"NOTHING_{name}")
        start(f"STORE_{name}")
        store(read("T", field, 3))
        finish("FINISH")


# The pairing. P is (-2 x, 2 y) of the point of G1, T the moving point, U the other one.
def miller():
    start("MILLER")
    x, y = load_value(Element, 0, 2)
    qx, qy = load_value(Element2, OPERAND_B, 2)
    block.write("P0", x.times(-2).expression)
    block.write("P1", y.times(2).expression)
    write("T", [qx, qy, one(Element2)])
    write("U", [qx, qy, one(Element2)])
    write("F", one12())
    finish("LOADED")
    control("IF", "MILLER_END", (GIVEN_TRIVIAL,))
    control("SEEK")
    control("DOWN", "MILLER_DONE", label="MILLER_LOOP")
    start()
    f = read("F", Element2, 6)
    px, py = Element(block.read("P0")), Element(block.read("P1"))
    x, y, z = read("T", Element2, 3)
    a, b, e, e2, x3, y3 = double(x, y, z)
    zz = z.square().whole()
    z3 = ((y + z).square() - b - zz).whole()
    test(Z1, z)
    l0 = (x + e).square() - a - e2 - b.times(4)
    l1, l2 = (e * zz).whole().scale(px), (z3 * zz).whole().scale(py)
    write("T", [x3, y3, z3])
    write("F", multiply_line(whole6(square12(f)), l0, l1, l2))
    finish("IF", "MILLER_INFINITE", mask(Z1, Element2))
    control("IF_BIT", "MILLER_ADD", label="MILLER_NEXT")
    control("IF", "MILLER_LOOP")
    control("CALL", "INFINITY_G2", label="MILLER_INFINITE")
    control("IF", "MILLER_NEXT")
    start("MILLER_ADD")
    x, y, z = read("T", Element2, 3)
    qx, qy, _ = read("U", Element2, 3)
    slope = ((qy * z).whole() * z.square().whole() - y).times(2)
    write("N", [slope])
    finish("CALL", "SUM_G2")
    start()
    f = read("F", Element2, 6)
    px, py = Element(block.read("P0")), Element(block.read("P1"))
    _, _, z3 = read("T", Element2, 3)
    qx, qy, _ = read("U", Element2, 3)
    (slope,) = read("N", Element2, 1)
    write("F", multiply_line(f, (slope * qx - qy * z3).times(2), slope.scale(px), z3.scale(py)))
    finish("IF", "MILLER_LOOP")
    start("MILLER_DONE")
    write("F", conjugate12(read("F", Element2, 6)))
    finish()
    control("IF", "FINAL_BEGIN", (GIVEN_PAIRING,), label="MILLER_END")
    start("STORE_F")
    store(read("F", Element2, 6))
    finish("FINISH")


def final():
    start("FINAL")
    write("F", load_value(Element2, 0, 6))
    finish("LOADED")
    # To the power of (p^6 - 1) (p^2 + 1). Zero has no such power; its norm reveals it.
    control("CALL", "INVERT12", label="FINAL_BEGIN")
    start()
    (n,) = read("N", Element2, 1)
    test(Z1, n)
    f, e = read("F", Element2, 6), read("E", Element2, 6)
    g = whole6(multiply12(conjugate12(f), e))
    m = [each.whole() for each in multiply12(frobenius2(g), g)]
    write("M", m)
    write("B", m)
    finish("IF", "ZERO", mask(Z1, Element2))
    # Three times the hard part: (x - 1)^2 (x + p) (x^2 + p^2 - 1) + 3, with x negative.
    for _ in range(2):
        control("CALL", "POWER")
        start()
        write("B", multiply12(read("E", Element2, 6), conjugate12(read("B", Element2, 6))))
        finish()
    control("CALL", "POWER")
    start()
    c = [each.whole() for each in multiply12(read("E", Element2, 6), frobenius(read("B", Element2, 6)))]
    write("B", c)
    write("C", c)
    finish()
    control("CALL", "POWER")
    start()
    write("B", read("E", Element2, 6))
    finish("CALL", "POWER")
    start()
    c, e, m = (read(prefix, Element2, 6) for prefix in "CEM")
    d = whole6(multiply12(e, whole6(multiply12(frobenius2(c), conjugate12(c)))))
    write("F", multiply12(d, whole6(multiply12(cyclotomic_square(m), m))))
    finish()
    control("IF", "STORE_F")
    control("FAULT", label="ZERO")
    # E = B to the power of x; the conjugate is the inverse.
    start("POWER")
    base = read("B", Element2, 6)
    power = base
    for bit in bin(PARAMETER)[3:]:
        power = cyclotomic_square(power)
        if bit == "1":
            power = whole6(multiply12(power, base))
    write("E", conjugate12(power))
    finish("RETURN")


OPERAND = [("bank", 2), ("register", 7)]


def encode(slot):
    """The word, of its fields from the highest."""
    product, linear, then, target, masked = slot
    word = width = 0

    def put(value, bits):
        nonlocal word, width
        assert 0 <= value < 2**bits
        word, width = word << bits | value, width + bits

    def operand(node):
        bank, register = node.operand
        put(bank, 2)
        put(register, 7)

    def terms(factor):
        for at in (1, 0):
            if at < len(factor):
                operand(factor[at][0])
            else:
                put(0, 9)
        put(0 if len(factor) < 2 else 1 if factor[1][1] > 0 else 2, 2)

    stores = product is not None and product.store is not None
    put(int(product is not None and not stores), 1)
    put(int(stores), 1)
    put(0 if product is None else product.store if stores else product.operand[1], 7)
    # The first of several is the lowest.
    terms(product.b if product else ())
    terms(product.a if product else ())
    for node in reversed(linear):
        put(int(node is not None and node.operand is not None), 1)
        put(node.operand[1] if node and node.operand else 0, 7)
        for at in range(4):
            if node and at < len(node.a):
                operand(node.a[at][0])
                put(int(node.a[at][1] < 0), 1)
                put(abs(node.a[at][1]), 2)
            else:
                put(0, 12)
    first = linear[0]
    put(int(bool(first) and first.test is not None), 1)
    put(first.test if first and first.test is not None else 0, 3)
    put(int(bool(first) and first.invert), 1)
    put(THENS.index(then), 4)
    put(sum(1 << flag for flag in masked), 10)
    put(labels[target] if isinstance(target, str) else target, 13)
    return word, width


def camel(name):
    return "".join(part.capitalize() for part in name.split("_"))


ENTRIES = ["IDLE", *[f"{operation}_{name}" for operation in ("ADD", "SUB", "MUL", "INV") for name in ("FP", "FP2", "FP12")],
           *[f"{operation}_{name}" for operation in ("ADD", "SUB", "AFFINE", "MULTIPLY") for name in ("G1", "G2")], "MILLER", "FINAL"]


def page():
    control("WAIT", label="IDLE")
    elements()
    inverses()
    points()
    miller()
    final()
    encoded = [encode(slot) for slot in slots]
    width = encoded[0][1]
    assert len(slots) < 2**13 and all(each == width for _, each in encoded)
    lines = ["// The micro-program and the constants of the BLS12-381 coprocessor. Generated by rtl/verify/bls12_381_coprocessor.py; edit that file.", "",
             "package bls12_381_program_pkg;", "", "  typedef enum logic [3:0] {"]
    lines += [f"    Then{camel(name)} = 4'd{at}{',' if at + 1 < len(THENS) else ''}" for at, name in enumerate(THENS)]
    lines += ["  } then_e;", "", "  // Where instructions begin."]
    lines += [f"  localparam logic [12:0] At{camel(name)} = 13'd{labels[name]};" for name in ENTRIES]
    lines += ["", "  // Places of the operand buffer.", f"  localparam logic [4:0] OperandB = 5'd{OPERAND_B};", f"  localparam logic [4:0] InputOne = 5'd{INPUT_ONE};",
              f"  localparam logic [4:0] InputInverse = 5'd{INPUT_INVERSE};",
              "", f"  localparam int unsigned Slots = {len(slots)};", f"  localparam int unsigned SlotWidth = {width};",
              "  localparam logic [SlotWidth-1:0] Program[Slots] = '{"]
    digits = (width + 3) // 4
    lines += [f"      {width}'h{word:0{digits}x}{',' if at + 1 < len(encoded) else ''}" for at, (word, _) in enumerate(encoded)]
    lines += ["  };", "", f"  localparam int unsigned Constants = {len(constants)};", "  localparam logic [380:0] Constant[Constants] = '{"]
    lines += [f"      381'h{each:096x}{',' if at + 1 < len(constants) else ''}" for at, each in enumerate(constants)]
    lines += ["  };", "", "endpackage", ""]
    return "\n".join(lines)


def main():
    text = page()
    if sys.argv[1:] == ["--report"]:
        for name, length, products, sums in report:
            print(f"{name:20} {length:5} slots {products:5} products {sums:5} sums")
        print(f"{len(slots)} slots, {len(constants)} constants")
    elif sys.argv[1:] != ["--check"]:
        PAGE.write_text(text)
    elif not PAGE.exists() or PAGE.read_text() != text:
        sys.exit(f"{PAGE.name} is not what rtl/verify/bls12_381_coprocessor.py makes; run it")


if __name__ == "__main__":
    main()
