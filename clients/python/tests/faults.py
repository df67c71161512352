"""Relays between clients and a node that lose, delay, repeat and garble what they pass on."""

from __future__ import annotations

import random
import selectors
import socket
import threading
import time
from contextlib import suppress
from typing import Self

_LENGTH = 4


class FaultyRelay:
    """Listens on loopback. Faults follow from the seed and the order of replies."""

    def __init__(self, node: str, seed: int) -> None:
        host, port = node.rsplit(":", 1)
        self._node = (host, int(port))
        self._rng = random.Random(seed)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self.faults = 0
        self._sockets: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._run(self._accept)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._end(self._listener)
        # The thread that accepts ends first, so the lists are complete then.
        self._threads[0].join()
        for end in self._sockets:
            self._end(end)
        for thread in self._threads:
            thread.join()
        for end in (self._listener, *self._sockets):
            end.close()

    def _run(self, function: object, *given: object) -> None:
        thread = threading.Thread(target=function, args=given)  # type: ignore[arg-type]
        self._threads.append(thread)
        thread.start()

    @staticmethod
    def _end(end: socket.socket) -> None:
        with suppress(OSError):  # It may have ended already.
            end.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                node = socket.create_connection(self._node)
            except OSError:
                client.close()
                continue
            self._sockets += (client, node)
            self._run(self._pass_requests, client, node)
            self._run(self._pass_replies, node, client)

    def _pass_requests(self, client: socket.socket, node: socket.socket) -> None:
        with suppress(OSError):
            while data := client.recv(1 << 16):
                node.sendall(data)
        self._end(node)

    def _pass_replies(self, node: socket.socket, client: socket.socket) -> None:
        with suppress(OSError), node.makefile("rb") as stream:
            while len(prefix := stream.read(_LENGTH)) == _LENGTH:
                for frame in self._spoil(stream.read(int.from_bytes(prefix, "big"))):
                    client.sendall(frame)
        self._end(client)

    def _spoil(self, reply: bytes) -> list[bytes]:
        """The frames, with their lengths, that come in place of a reply."""
        frame = len(reply).to_bytes(_LENGTH, "big") + reply
        garbled = bytearray(frame)
        # Magic, version, type or id. TCP's checksums protect the rest; these make the reply one to nothing.
        garbled[_LENGTH + self._rng.randrange(8)] ^= 1 << self._rng.randrange(8)
        self.faults += 1
        match self._rng.randrange(20):
            case 0 | 1:
                return []
            case 2 | 3:
                return [frame, frame]
            case 4 | 5:
                return [bytes(garbled)]
            case 6:
                return [bytes(garbled), frame]
            case 7:
                time.sleep(self._rng.random() / 5)
                return [frame]
            case 8:
                raise OSError("the connection ends without the reply")
            case 9:
                return [b"\xff" * 6]
            case 10:
                return [frame[: len(frame) // 2]]
        self.faults -= 1
        return [frame]


class LossyRelay:
    """Relays datagrams between one client and a node: loses, repeats and reorders them, in both directions."""

    def __init__(self, node: str, seed: int) -> None:
        host, port = node.rsplit(":", 1)
        self._rng = random.Random(seed)
        self._near = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._near.bind(("127.0.0.1", 0))
        self._far = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._far.connect((host, int(port)))
        self._client: tuple[str, int] | None = None
        self.address = f"udp://127.0.0.1:{self._near.getsockname()[1]}"
        self.lost = self.repeated = self.reordered = 0
        self.longest = 0
        # Datagrams that others overtake, by the socket that they go out of.
        self._held: dict[socket.socket, bytes] = {}
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()
        self._near.close()
        self._far.close()

    def _run(self) -> None:
        with selectors.DefaultSelector() as selector:
            for end in (self._near, self._far):
                selector.register(end, selectors.EVENT_READ)
            while not self._is_over.is_set():
                for key, _ in selector.select(0.02):
                    if key.fileobj is self._near:
                        data, self._client = self._near.recvfrom(1 << 16)
                        self.longest = max(self.longest, len(data))
                        self._pass(self._far, data)
                    else:
                        # The node may be down.
                        with suppress(ConnectionRefusedError):
                            self._pass(self._near, self._far.recv(1 << 16))

    def _pass(self, end: socket.socket, data: bytes) -> None:
        chance = self._rng.random()
        if chance < 0.1:
            self.lost += 1
            return
        if chance < 0.2 and end not in self._held:
            self.reordered += 1
            self._held[end] = data
            return
        self._send(end, data)
        if chance > 0.9:
            self.repeated += 1
            self._send(end, data)
        if held := self._held.pop(end, None):
            self._send(end, held)

    def _send(self, end: socket.socket, data: bytes) -> None:
        with suppress(ConnectionRefusedError):
            if end is self._far:
                end.send(data)
            elif self._client:
                end.sendto(data, self._client)
