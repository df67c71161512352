"""The asyncio client with the blocking client's methods, so that tests run with both."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

from turnpike import AsyncClient, Client, Options

from .programs import PATIENCE

PATIENT = Options(timeout=PATIENCE)


class OnLoop:
    """Runs the methods of an `AsyncClient` on an event loop in a thread."""

    def __init__(self, *nodes: str, options: Options) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        self._client = AsyncClient(*nodes, options=options)

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._client, name)
        if not asyncio.iscoroutinefunction(method):
            return method
        return lambda *given, **named: asyncio.run_coroutine_threadsafe(method(*given, **named), self._loop).result()

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._client.close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


def client(kind: str, *nodes: str, options: Options = PATIENT) -> Any:
    """A blocking client, or an asyncio client that looks like one."""
    return (Client if kind == "blocking" else OnLoop)(*nodes, options=options)


KINDS = ("blocking", "asyncio")
