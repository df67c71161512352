"""A conversation with an empty ledger."""

from frames import CREATE, ISSUE, REFER, STATUS, TRANSFER, compact


class Ledger:
    """The four commands on compact frames, as plainly as can be said; every transaction id is used once."""

    def __init__(self):
        self.balance = {}

    def execute(self, command, source, destination, amount):
        held = self.balance.get(source)
        if command == CREATE:
            if held is not None:
                return "ACCOUNT_EXISTS", held
            self.balance[source] = 0
            return "OK", 0
        if held is None:
            return "SOURCE_UNKNOWN", 0
        if command == TRANSFER:
            if destination not in self.balance:
                return "DESTINATION_UNKNOWN", held
            if held < amount:
                return "INSUFFICIENT_BALANCE", held
            self.balance[destination] += amount
            self.balance[source] -= amount
        if command == ISSUE:
            self.balance[source] += amount
        return "OK", self.balance[source]


def conversation():
    """Requests to an empty ledger and their replies, in order."""
    ledger = Ledger()
    state = 1

    def random(bound):
        # Numerical Recipes' generator: any twin of this script can have it.
        nonlocal state
        state = (state * 1664525 + 1013904223) % 2**32
        return (state >> 8) % bound

    script = [
        (REFER, 1, 0, 0), (ISSUE, 1, 0, 5), (TRANSFER, 1, 2, 5), (CREATE, 1, 0, 0), (CREATE, 1, 0, 0), (REFER, 1, 0, 0),
        (TRANSFER, 1, 2, 5), (ISSUE, 1, 0, 1000), (CREATE, 1, 0, 0), (TRANSFER, 1, 2, 5), (CREATE, 2, 0, 0),
        (TRANSFER, 1, 2, 1001), (TRANSFER, 1, 2, 1000), (REFER, 1, 0, 0), (TRANSFER, 2, 1, 1), (REFER, 2, 0, 0),
        (ISSUE, 2, 0, 0xFFFFFFFF), (REFER, 2, 0, 0), (TRANSFER, 2, 1, 0xFFFFFFFF), (REFER, 1, 0, 0),
    ]
    for _ in range(480):
        command = (CREATE, ISSUE, TRANSFER, TRANSFER, TRANSFER, TRANSFER, REFER, REFER)[random(8)]
        source = 16 + random(24)
        destination = 16 + random(24)
        if command == TRANSFER:
            destination += source == destination
        script.append((command, source, destination if command == TRANSFER else 0,
                       1 + random(100) if command in (ISSUE, TRANSFER) else 0))
    for transaction, (command, source, destination, amount) in enumerate(script, 1):
        status, value = ledger.execute(command, source, destination, amount)
        yield (compact(command, transaction, source, destination, amount),
               compact(command, transaction, source, destination, min(value, 0xFFFFFFFF), STATUS[status]))
