"""Subscribes to scripts that nobody pays, reports success, and keeps the connection open until it is stopped.

usage: subscribe.py ADDRESS COUNT
"""

import hashlib
import json
import signal
import socket
import sys

# Requests in flight.
DEPTH = 1000


def main(address, count):
    host, port = address.split(":")
    connection = socket.create_connection((host, int(port)))
    lines = connection.makefile("rb")

    def ask(requests):
        connection.sendall(b"".join(json.dumps(request).encode() + b"\n" for request in requests))
        for _ in requests:
            reply = json.loads(lines.readline())
            if "error" in reply:
                sys.exit(f"error: {reply}")

    ask([{"id": 0, "method": "server.version", "params": ["bench", "1.4"]}])
    for first in range(0, count, DEPTH):
        scripts = (hashlib.sha256(str(number).encode()).hexdigest() for number in range(first, min(first + DEPTH, count)))
        ask([{"id": 1 + n, "method": "blockchain.scripthash.subscribe", "params": [script]} for n, script in enumerate(scripts)])
    print("done", flush=True)
    signal.pause()


main(sys.argv[1], int(sys.argv[2]))
