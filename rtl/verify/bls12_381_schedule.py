"""Schedules straight-line programs over Fp for the engine of the BLS12-381 coprocessor: the operations per slot, and the
latency of results.

A block is written as formulas. Sums cost nothing until something needs them: an expression maps nodes to factors. A
product takes sums of two nodes; larger ones become linear operations of up to four terms. A home is a register that
outlives the block; all reads of it return its value at the start of the block.
"""

# A context has a slot in every eighth cycle. A product is ready after 43 cycles, a sum after 8.
PRODUCT_SLOTS = 6
LINEAR_SLOTS = 1
# A flag is visible to the slot after next: the slot after the sum may be evaluated together with it.
TEST_SLOTS = 2
UNITS = 2
TERMS = 4
REGISTERS = 128
PRODUCTS, SPECIAL = 0, 3  # banks; 1 and 2 belong to the linear units


class Node:
    def __init__(self, kind, number, level, a=(), b=()):
        self.kind, self.number, self.level = kind, number, level
        self.a, self.b = a, b  # terms: (node, coefficient)
        self.home = self.store = self.test = None
        self.invert = False
        self.readers, self.waits, self.begins, self.slot, self.operand = [], 0, 0, None, None

    def terms(self):
        return list(self.a) + list(self.b)

    def latency(self):
        if self.kind == "product":
            return PRODUCT_SLOTS
        return TEST_SLOTS if self.test is not None else LINEAR_SLOTS


class Expression(dict):
    """Nodes and their factors."""

    def plus(self, other, factor=1):
        total = Expression(self)
        for node, each in other.items():
            total[node] = total.get(node, 0) + factor * each
            if total[node] == 0:
                del total[node]
        return total

    def times(self, factor):
        return Expression({node: factor * each for node, each in self.items()}) if factor else Expression()


class Block:
    """Formulas, then `schedule`."""

    def __init__(self, homes):
        self.homes, self.nodes, self.cache, self.outputs = homes, [], {}, {}

    def node(self, kind, a=(), b=()):
        latency = {"product": PRODUCT_SLOTS, "linear": LINEAR_SLOTS}.get(kind, 0)
        level = max((each.level for each, _ in [*a, *b]), default=0) + latency
        found = Node(kind, len(self.nodes), level, tuple(a), tuple(b))
        self.nodes.append(found)
        return found

    def leaf(self, kind, name, operand):
        if (kind, name) not in self.cache:
            self.cache[kind, name] = self.node(kind)
            self.cache[kind, name].operand = operand
            self.cache[kind, name].home = name if kind == "home" else None
        return Expression({self.cache[kind, name]: 1})

    def read(self, home):
        return self.leaf("home", home, self.homes[home])

    def constant(self, number):
        return self.leaf("constant", number, (SPECIAL, number))

    def input(self, number):
        return self.leaf("input", number, (SPECIAL, number))

    def sum(self, expression):
        """A node that is a linear operation of these terms."""
        key = frozenset(expression.items())
        if key not in self.cache:
            terms = []
            for node, factor in sorted(expression.items(), key=lambda item: (item[0].level, item[0].number)):
                while abs(factor) > 3:
                    terms.append((node, 3 if factor > 0 else -3))
                    factor -= terms[-1][1]
                terms.append((node, factor))
            while len(terms) > TERMS:
                # The earliest available terms first.
                part = self.node("linear", terms[:TERMS])
                terms = sorted(terms[TERMS:] + [(part, 1)], key=lambda item: (item[0].level, item[0].number))
            self.cache[key] = self.node("linear", terms)
        return self.cache[key]

    def whole(self, expression):
        """The same as one node."""
        if len(expression) == 1 and abs(next(iter(expression.values()))) == 1:
            return expression
        return Expression({self.sum(expression): 1})

    def factor(self, expression):
        """Its sign, and one or two terms."""
        terms = sorted(expression.items(), key=lambda item: (-item[1], item[0].number))
        if len(terms) == 1 and abs(terms[0][1]) == 2:
            return terms[0][1] // 2, [(terms[0][0], 1), (terms[0][0], 1)]
        if 1 <= len(terms) <= 2 and all(abs(each) == 1 for _, each in terms):
            if terms[0][1] == 1:
                return 1, terms
            return -1, [(node, 1) for node, _ in terms]
        return 1, [(self.sum(expression), 1)]

    def multiply(self, left, right):
        if not left or not right:
            return Expression()
        (left_sign, a), (right_sign, b) = self.factor(left), self.factor(right)
        # Constants are on the first factor's port, inputs on the second's.
        if b[0][0].kind == "constant" or a[0][0].kind == "input":
            a, b = b, a
        key = (frozenset([tuple(a), tuple(b)]), "product")
        if key not in self.cache:
            self.cache[key] = self.node("product", a, b)
        return Expression({self.cache[key]: left_sign * right_sign})

    def write(self, home, expression):
        assert home not in self.outputs, home
        self.outputs[home] = expression

    def store(self, place, expression, one):
        sign, terms = self.factor(expression)
        if sign < 0 or not terms:
            terms = [(self.sum(expression), 1)]
        node = self.node("product", [(one, 1)], terms)
        node.store = place

    def test(self, flag, expression):
        node = self.node("linear", list(self.whole(expression).items()))
        node.test = flag

    def invert(self, expression):
        node = self.node("linear", list(self.whole(expression).items()))
        node.invert = True

    def schedule(self):
        """The slots: each (product, [linear, linear])."""
        for home, expression in self.outputs.items():
            others = any(node.kind == "home" and node.home != home and node.home in self.outputs for node in expression)
            source = self.sum(expression)
            if others or source.home or source.test is not None:
                source = self.node("linear", [(source, 1)])
            source.home = home
        real = [node for node in self.nodes if node.kind in ("product", "linear")]
        used, work = set(), [node for node in real if node.home or node.store is not None or node.test is not None or node.invert]
        while work:
            node = work.pop()
            if node not in used:
                used.add(node)
                work += [each for each, _ in node.terms() if each.kind in ("product", "linear")]
        real = [node for node in real if node in used]
        old_readers = {}
        for node in real:
            for each in dict.fromkeys(each for each, _ in node.terms()):
                each.readers.append(node)
                node.waits += each.kind in ("product", "linear")
                if each.kind == "home" and each.home in self.outputs:
                    old_readers.setdefault(each.home, set()).add(node)
        # Longest path to the end.
        for node in reversed(real):
            node.urgency = node.latency() + max((each.urgency for each in node.readers), default=0)
        reading = {node: set(old_readers.get(node.home, ())) - {node} for node in real if node.home}
        held = {operand for operand in self.homes.values()}
        free = {bank: [r for r in range(REGISTERS) if (bank, r) not in held] for bank in range(3)}
        unread = {node: len(node.readers) for node in real}
        ready, arriving, slots, left = [node for node in real if not node.waits], {}, [], len(real)
        slot = 0
        while left:
            ready += arriving.pop(slot, [])
            ready.sort(key=lambda node: (-node.urgency, node.number))
            product, linear = None, [None, None]
            released = []
            for node in list(ready):
                if node.kind == "product":
                    if product is not None or (node.store is None and not free[PRODUCTS]):
                        continue
                    product = node
                    node.operand = None if node.store is not None else (PRODUCTS, free[PRODUCTS].pop(0))
                else:
                    if node.home:
                        if any(each.slot is None for each in reading[node]):
                            continue
                        units = [self.homes[node.home][0] - 1]
                    elif node.test is not None or node.invert:
                        units = [0]
                    else:
                        units = sorted(range(UNITS), key=lambda unit: -len(free[unit + 1]))
                        units = [unit for unit in units if free[unit + 1]]
                    units = [unit for unit in units if linear[unit] is None]
                    if not units:
                        continue
                    linear[units[0]] = node
                    if node.home:
                        node.operand = self.homes[node.home]
                    elif node.test is None and not node.invert:
                        node.operand = (units[0] + 1, free[units[0] + 1].pop(0))
                node.slot = slot
                left -= 1
                ready.remove(node)
                for each in dict.fromkeys(each for each, _ in node.terms()):
                    if each in unread:
                        unread[each] -= 1
                        if not unread[each] and not each.home:
                            released.append(each.operand)
                for each in node.readers:
                    each.waits -= 1
                    each.begins = max(each.begins, slot + node.latency())
                    if not each.waits:
                        arriving.setdefault(each.begins, []).append(each)
            for bank, register in released:
                free[bank].append(register)
            slots.append((product, linear))
            slot += 1
            assert slot < 100 + 20 * len(real), "formulas do not fit the registers"
        end = max((node.slot + node.latency() for node in real), default=1)
        slots += [(None, [None, None])] * (end - len(slots))
        self.products = sum(node.kind == "product" for node in real)
        self.sums = len(real) - self.products
        return slots
