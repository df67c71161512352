#!/usr/bin/env python3
"""Lower bound of a request and its reply: two processes with a plain socket, one request at a time. Prints microseconds: p50, p99.

usage: bench/electrum/round_trip.py COUNT
"""

import os
import signal
import socket
import sys
import time

# About as long as a request for a header, and its reply.
REQUEST, REPLY = b"r" * 80, b"a" * 240


def receive(connection, count):
    while count:
        count -= len(connection.recv(count)) or sys.exit("error: the other side is gone")


def main():
    count = int(sys.argv[1])
    listener = socket.create_server(("127.0.0.1", 0))
    child = os.fork()
    if child == 0:
        connection, _ = listener.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while True:
            receive(connection, len(REQUEST))
            connection.sendall(REPLY)
    connection = socket.create_connection(listener.getsockname())
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    times = []
    for _ in range(count):
        begin = time.perf_counter_ns()
        connection.sendall(REQUEST)
        receive(connection, len(REPLY))
        times.append((time.perf_counter_ns() - begin) / 1000)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    times.sort()
    print(f"{times[count // 2]:.1f} {times[count * 99 // 100]:.1f}")


main()
