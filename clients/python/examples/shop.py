#!/usr/bin/env python3
"""A shop takes signed payments, pays its suppliers in one batch, and proves its balance to an auditor.

Usage: shop.py [NODE], by default 127.0.0.1:7400. The node must trust this machine: `turnpike serve --data data
--trusted 127.0.0.0/8`. Needs numpy.
"""

import os
import sys
import time
from contextlib import suppress

import numpy as np

from turnpike import Client, Command, Operation, Promise, Signer, arrays, errors

MINT, SUPPLIERS = 1_000_000, np.arange(2_000_000, 2_001_000)


def main(node: str) -> None:
    with Client(node) as client:
        network = client.info().network
        customer, shop = Signer(os.urandom(32), network), Signer(os.urandom(32), network)

        # The mint and the suppliers have open accounts, which may exist from an earlier run.
        with suppress(errors.AccountExists):
            client.create(MINT)
        accounts = arrays.operations(Command.CREATE, len(SUPPLIERS))
        accounts["source"]["low"] = SUPPLIERS
        client.submit(accounts)
        client.issue(MINT, 1_000_000)

        # Customer and shop have keys: nobody else can spend from their accounts.
        for signer in (customer, shop):
            client.execute(signer.sign(Operation.create(signer.account)))
        client.transfer(MINT, customer.account, 500)
        payment = customer.sign(Operation.transfer(customer.account, shop.account, 120), Promise.DURABLE)
        receipt = client.execute(payment)
        print(f"payment {receipt.transaction} is {receipt.promise.name.lower()}, the customer has {receipt.value} left")
        try:
            client.execute(customer.sign(Operation.transfer(customer.account, shop.account, 10_000)))
        except errors.InsufficientBalance as error:
            print(f"refused: {error}")

        # A thousand transfers in one frame, without a Python object for each.
        results = client.submit(arrays.transfers(MINT, SUPPLIERS, np.full(len(SUPPLIERS), 3)))
        print(f"{len(results)} suppliers paid, {results.promise.name.lower()}: {results.is_ok}")

        # The proof needs no trust in the node, except that this one named the network; pin Options.network for that.
        chain = client.open_chain()
        while True:
            entry, proof = client.prove_index(chain, shop.account)
            if entry is not None:
                break
            time.sleep(0.1)  # The payment is not in a block yet.
        print(f"proved: the shop has {entry.balance} in block {proof.height}")


if __name__ == "__main__":
    main(*sys.argv[1:] or ["127.0.0.1:7400"])
