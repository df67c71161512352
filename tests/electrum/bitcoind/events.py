"""What happens at a bitcoind, by chance: transactions, blocks, reorganisations."""


class Events:
    def __init__(self, bitcoind, generator):
        self.bitcoind, self.random = bitcoind, generator
        self.blocks = self.transactions = self.reorganisations = 0

    def step(self):
        what = self.random.random()
        if what < 0.6:
            self.bitcoind.rpc("sendtoaddress", self.bitcoind.address, 0.01)
            self.transactions += 1
        elif what < 0.95:
            self.bitcoind.mine()
            self.blocks += 1
        else:
            depth = self.random.randint(1, 4)
            height = self.bitcoind.rpc("getblockcount")
            self.bitcoind.rpc("invalidateblock", self.bitcoind.rpc("getblockhash", height - depth + 1))
            # To an address of its own: a block that is made in the same second would be the one that is invalid.
            self.bitcoind.rpc("generatetoaddress", depth + 1, self.bitcoind.rpc("getnewaddress"))
            self.reorganisations += 1

    def __str__(self):
        return f"{self.blocks} blocks, {self.transactions} transactions, {self.reorganisations} reorganisations"
