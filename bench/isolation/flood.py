"""Greedy clients of one service of a node: flood.py CASE --seconds N --http PORT --kv PORT --electrum PORT --websocket PORT

Each process sends the same request over one connection as fast as the node takes it, and drops what comes back. Clients
of HTTP and Electrum come from different prefixes, since the node limits each prefix.
"""

import argparse
import base64
import multiprocessing
import os
import select
import socket
import time

# Most bytes of requests that are repeated in one buffer.
BUFFER = 1 << 16


def connect(port, source):
    sock = socket.socket()
    sock.bind((source, 0))
    sock.settimeout(5)
    sock.connect(("127.0.0.1", port))
    return sock


def flood(port, source, request, end, handshake=b""):
    """Sends a request over and over, and connects again after the node has closed the connection."""
    requests = request * max(1, BUFFER // len(request))
    while time.time() < end:
        try:
            sock = connect(port, source)
            if handshake:
                sock.sendall(handshake)
                sock.recv(4096)
            sock.setblocking(False)
            at = 0
            while time.time() < end:
                readable, writable, _ = select.select([sock], [sock], [], 0.2)
                if readable and not sock.recv(1 << 20):
                    break
                if writable:
                    at = (at + sock.send(memoryview(requests)[at:])) % len(requests)
        except OSError:
            # Refused or closed: that is how the node protects itself.
            time.sleep(0.05)


def spin(end):
    while time.time() < end:
        pass


def get(path):
    return f"GET {path} HTTP/1.1\r\nHost: node\r\n\r\n".encode()


def websocket():
    key = base64.b64encode(os.urandom(16)).decode()
    return (
        f"GET / HTTP/1.1\r\nHost: node\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: {key}\r\n"
        "Sec-WebSocket-Version: 13\r\n\r\n"
    ).encode()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("case")
    parser.add_argument("--seconds", type=float, required=True)
    for service in ("http", "kv", "electrum", "websocket"):
        parser.add_argument(f"--{service}", type=int, required=True)
    options = parser.parse_args()
    end = time.time() + options.seconds
    # Prefixes of 24 bits.
    prefixes = [f"127.0.{number}.1" for number in range(1, 9)]
    headers = b'{"id":1,"method":"blockchain.block.headers","params":[0,2016]}\n'
    version = b'{"id":0,"method":"server.version","params":["flood","1.4"]}\n'
    # An empty ping; clients mask their frames.
    ping = b"\x89\x80\0\0\0\0"
    over_http = {"blocks": "/api/blocks", "health": "/health", "metrics": "/metrics"}
    over_kv = {"gets": b"get flood\r\n", "sizes": b"stats sizes\r\n", "metadump": b"lru_crawler metadump all\r\n"}
    if options.case in over_http:
        calls = [(flood, (options.http, source, get(over_http[options.case]), end)) for source in prefixes]
    elif options.case in over_kv:
        calls = [(flood, (options.kv, "127.0.0.1", over_kv[options.case], end))] * 4
    elif options.case == "headers":
        calls = [(flood, (options.electrum, source, headers, end, version)) for source in prefixes]
    elif options.case == "pings":
        calls = [(flood, (options.websocket, source, ping, end, websocket())) for source in prefixes[:2]]
    elif options.case == "busy loops":
        calls = [(spin, (end,))] * 2
    else:
        parser.error(f"no case {options.case}")
    processes = [multiprocessing.Process(target=call, args=arguments) for call, arguments in calls]
    for process in processes:
        process.start()
    for process in processes:
        process.join()


if __name__ == "__main__":
    main()
