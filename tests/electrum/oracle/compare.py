"""Random requests to ElectrumX and to a node over the blocks of a file, for each version of the protocol.

usage: compare.py ELECTRUMX NODE BLOCKS COUNT [SEED]      addresses, the file of the blocks, requests for each version
"""

import random
import sys

from blocks import chain
from random_requests import compare


def main(electrumx, node, path, count, seed=None):
    compare(chain(path), None, (electrumx, node), int(count), seed or random.randrange(2**32))


main(*sys.argv[1:])
