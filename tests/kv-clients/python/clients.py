"""pylibmc and pymemcache against two servers: clients.py FIRST SECOND TLS CERTIFICATE, the first three as HOST:PORT, the last a file.

Each client does the same random requests as a dictionary; then the keys are spread over both servers by consistent hashing.
"""

import random
import ssl
import sys
import time

import pylibmc
from pymemcache.client.base import Client, PooledClient
from pymemcache.client.hash import HashClient

STEPS = 2000
KEYS = [f"key-{n}" for n in range(50)]


def value(chance: random.Random) -> bytes:
    """Small ones, and now and then one that takes several blocks."""
    return chance.randbytes(chance.choice([0, 1, 20, 500, 100_000] if chance.random() < 0.05 else [0, 1, 20, 500]))


def stored(write, *arguments) -> bool:
    """Whether a write that depends on what there is was done: pylibmc tells it by binary with an exception."""
    try:
        return bool(write(*arguments))
    except (pylibmc.NotFound, pylibmc.DataExists):
        return False


def like_a_dictionary(name: str, client, is_missing) -> None:
    """Random requests by the names that both libraries have, beside a dictionary."""
    chance, model = random.Random(name), {}
    client.flush_all()
    for step in range(STEPS):
        key, new = chance.choice(KEYS), value(chance)
        what = chance.choice(["set", "add", "replace", "append", "prepend", "delete", "get", "get", "get_multi"])
        if what == "set":
            assert client.set(key, new)
            model[key] = new
        elif what == "add":
            assert stored(client.add, key, new) == (key not in model)
            model.setdefault(key, new)
        elif what == "replace":
            assert stored(client.replace, key, new) == (key in model)
            if key in model:
                model[key] = new
        elif what == "append" and len(model.get(key, b"")) < 500_000:
            assert stored(client.append, key, new) == (key in model)
            if key in model:
                model[key] += new
        elif what == "prepend" and len(model.get(key, b"")) < 500_000:
            assert stored(client.prepend, key, new) == (key in model)
            if key in model:
                model[key] = new + model[key]
        elif what == "delete":
            assert stored(client.delete, key) == (key in model)
            model.pop(key, None)
        elif what == "get_multi":
            some = chance.sample(KEYS, 10)
            assert client.get_multi(some) == {key: model[key] for key in some if key in model}, step
        else:
            assert client.get(key) == model.get(key), step
    client.set("number", b"41")
    assert client.incr("number", 1) == 42 and client.decr("number", 2) == 40
    is_missing(client)
    print(f"{name}: {STEPS} requests as a dictionary")


def pylibmc_clients(first: str) -> None:
    for binary in [False, True]:
        client = pylibmc.Client([first], binary=binary, behaviors={"tcp_nodelay": True, "cas": True})

        def is_missing(client) -> None:
            try:
                client.incr("nothing", 1)
                raise AssertionError("there is a number where there is none")
            except pylibmc.NotFound:
                pass

        like_a_dictionary(f"pylibmc, {'binary' if binary else 'text'}", client, is_missing)
        client.set("shared", b"1")
        read, number = client.gets("shared")
        assert client.cas("shared", b"2", number) and not client.cas("shared", b"3", number) and client.get("shared") == b"2"
        assert client.touch("shared", 100) and not client.touch("nothing", 100)
        client.set("gone", b"1", time=1)
        time.sleep(2)
        assert client.get("gone") is None
        [(_, stats)] = client.get_stats()
        assert int(stats["curr_items"]) > 0


def pymemcache_clients(first: str, tls: str, certificate: str) -> None:
    context = ssl.create_default_context(cafile=certificate)
    host, port = tls.rsplit(":", 1)
    clients = {
        "pymemcache": Client(first, default_noreply=False),
        "pymemcache, pooled": PooledClient(first, max_pool_size=3, default_noreply=False),
        "pymemcache, TLS": Client((host, int(port)), tls_context=context, default_noreply=False),
    }
    for name, client in clients.items():

        def is_missing(client) -> None:
            assert client.incr("nothing", 1) is None

        like_a_dictionary(name, client, is_missing)
        client.set("shared", b"1")
        read, number = client.gets("shared")
        assert client.cas("shared", b"2", number) and client.cas("shared", b"3", number) is False
        assert client.cas("nothing", b"3", number) is None
        assert client.touch("shared", 100) and client.get("shared") == b"2"
        assert client.stats()[b"version"] == client.version()
    # Without replies, the next request with one tells that all were taken.
    quiet = Client(first)
    for n in range(1000):
        quiet.set(f"quiet-{n}", str(n), noreply=True)
    assert quiet.get("quiet-999") == b"999"


def consistent_hashing(first: str, second: str) -> None:
    """The example of docs/kv.md: which of two servers has a key, and what is lost with one of them."""
    behaviors = {"ketama_weighted": True}
    both = pylibmc.Client([first, second], behaviors=behaviors)
    alone = {server: pylibmc.Client([server]) for server in [first, second]}
    both.flush_all()
    keys = [f"ketama-{n}" for n in range(1000)]
    for key in keys:
        both.set(key, key)
    held = {server: {key for key in keys if client.get(key) == key} for server, client in alone.items()}
    assert held[first] | held[second] == set(keys) and not held[first] & held[second]
    assert all(len(some) > len(keys) / 4 for some in held.values()), {server: len(some) for server, some in held.items()}
    # Without the second one its keys are missed, and the others are where they were.
    left = pylibmc.Client([first], behaviors=behaviors)
    assert {key for key in keys if left.get(key) == key} == held[first]
    print(f"ketama: {len(held[first])} keys on the one server, {len(held[second])} on the other")
    rendezvous = HashClient([first, second], default_noreply=False)
    rendezvous.set_many({f"rendezvous-{n}": str(n) for n in range(1000)})
    assert rendezvous.get_many([f"rendezvous-{n}" for n in range(1000)]) == {f"rendezvous-{n}": b"%d" % n for n in range(1000)}


def main() -> None:
    first, second, tls, certificate = sys.argv[1:]
    pylibmc_clients(first)
    pymemcache_clients(first, tls, certificate)
    consistent_hashing(first, second)


if __name__ == "__main__":
    main()
