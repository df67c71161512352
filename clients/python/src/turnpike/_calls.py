"""What both clients share: addresses, and calls from operations and frames."""

from __future__ import annotations

import errno
import math
import os
import socket
from collections.abc import Callable

from . import _protocol as protocol
from ._core import UDP, Call, Core, Options
from ._flows import Exchange
from ._operations import CARRIES_TIME, LINKED, Operation
from ._protocol import BatchFormat, Command, Promise
from ._signer import SignedOperation

CONNECT_TIMEOUT = 2.0
"""Seconds for a connection attempt."""
READ_BYTES = 1 << 18


def make_core(nodes: tuple[str, ...], options: Options) -> Core:
    """The state machine of a client of these nodes."""
    for node in nodes or ("",):
        split(node)
    return Core(list(nodes), options)


def split(node: str) -> tuple[str, int]:
    """Host and port of `HOST`, `HOST:PORT` or `[IPv6]:PORT`, with or without `udp://`."""
    address = node.removeprefix(UDP)
    host, colon, port = address.rpartition(":")
    if not colon or port.endswith("]") or (":" in host and not host.startswith("[")):
        host, port = address, str(protocol.DEFAULT_PORT)
    if not host or "/" in host or not port.isdecimal() or not 0 < int(port) < 1 << 16:
        forms = f"HOST, HOST:PORT or [IPv6]:PORT; the default port is {protocol.DEFAULT_PORT}"
        raise ValueError(f"node {node!r} is not {forms}, and udp:// may precede it")
    return host.strip("[]"), int(port)


def call_of_operation(
    operation: Operation | SignedOperation, promise: Promise, deadline: float, on_end: Callable[[Call], None]
) -> Call:
    """A call that travels in the next batch."""
    entry = operation.pack()
    if entry[_FLAGS] & LINKED:
        raise ValueError("the operation is linked with the next one; send the whole chain with submit()")
    is_signed = isinstance(operation, SignedOperation)
    # The signature covers the promise.
    promise = operation.promise if isinstance(operation, SignedOperation) else promise
    form = BatchFormat.SIGNED if is_signed else BatchFormat.OPERATION
    is_read = entry[_COMMAND] == Command.REFER
    is_recognised = is_signed or is_read or entry[_FLAGS] == CARRIES_TIME
    return Call(entry, form, promise, deadline, is_read, is_recognised, on_end)


def call_of_frame(exchange: Exchange, deadline: float, on_end: Callable[[Call], None]) -> Call:
    """A call with its own frame."""
    return Call(exchange.frame, None, Promise.DEFAULT, deadline, exchange.is_read, exchange.is_recognised, on_end)


def udp_socket(node: str) -> socket.socket:
    """A socket that exchanges datagrams with one node only, and does not block."""
    host, port = split(node)
    family, kind, protocol_number, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
    connection = socket.socket(family, kind, protocol_number)
    try:
        # Room for the replies to all frames in flight: the kernel may grant less.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER)
        connection.connect(address)
        refuse_self(connection)
        connection.setblocking(False)
    except OSError:
        connection.close()
        raise
    return connection


_RECEIVE_BUFFER = 4 << 20
_FLAGS = protocol.OPERATION_COLUMNS["flags"].start
_COMMAND = protocol.OPERATION_COLUMNS["command"].start


def seconds_until(time: float, now: float) -> float | None:
    """The wait until a time; None if it never comes."""
    return None if time == math.inf else max(0.0, time - now)


def refuse_self(connection: socket.socket) -> None:
    """Closes a connection to itself, and raises `ConnectionRefusedError`.

    The kernel makes such a connection if it assigns the port of a node that is down as the source port.
    """
    if connection.getsockname() == connection.getpeername():
        connection.shutdown(socket.SHUT_RDWR)
        raise ConnectionRefusedError(errno.ECONNREFUSED, os.strerror(errno.ECONNREFUSED))
