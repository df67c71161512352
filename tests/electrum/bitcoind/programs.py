"""A real bitcoind on regtest, a node that follows it, and Electrum's protocol to ask that with."""

import base64
import hashlib
import http.client
import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
import traceback
from pathlib import Path

PATIENCE = 60
# Most servers with a fixed port use a lower one.
FIRST_PORT = 20_000
# Start of Linux's default ephemeral range.
FIRST_EPHEMERAL = 32_768


def fail(text):
    sys.exit(f"error: {text}")


def check(what, found, expected):
    if found != expected:
        fail(f"{what}: {found!r}, and not {expected!r}")
    print(f"ok: {what}", flush=True)


def wait_until(what, condition):
    """The first value of a condition that is true."""
    deadline = time.monotonic() + PATIENCE
    while not (value := condition()):
        if time.monotonic() > deadline:
            fail(f"{what}: not within {PATIENCE} s")
        time.sleep(0.02)
    return value


def free_port():
    """A port that nothing listens on.

    It lies outside the ephemeral range: while a program is down, a connection of another would take its port as source
    port, and the program could not listen there on its return.
    """
    while True:
        port = random.randrange(FIRST_PORT, FIRST_EPHEMERAL)
        try:
            with socket.create_server(("127.0.0.1", port)):
                return port
        except OSError:
            continue


def tell_end(log):
    """Prints the last lines of a log."""
    if log.exists():
        print(f"the end of {log}:", *log.read_text().splitlines()[-40:], sep="\n", flush=True)


class RpcError(Exception):
    pass


class Bitcoind:
    """A bitcoind of its own, which talks to no other. Its wallet has all coins."""

    OPTIONS = ["-regtest", "-server", "-listen=0", "-dnsseed=0", "-fallbackfee=0.0001", "-addresstype=bech32", "-txindex=1", "-printtoconsole=0"]
    # Has Knots take what Bitcoin Core takes, which knows no such options and passes over them in this file: parents of version 3 without a
    # fee, and lock times of 21, of which it makes the transactions of its own wallet now and then.
    CONFIGURATION = "[regtest]\nmempooltruc=enforce\nrejectparasites=0\n"

    def __init__(self, program, folder):
        self.program, self.folder, self.port = program, Path(folder), free_port()
        self.folder.mkdir(parents=True)
        (self.folder / "bitcoin.conf").write_text(self.CONFIGURATION)
        self.start()
        self.rpc("createwallet", "w")
        self.address = self.rpc("getnewaddress")

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    @property
    def cookie(self):
        return self.folder / "regtest" / ".cookie"

    def start(self):
        self.launch([self.program, *self.OPTIONS, f"-datadir={self.folder}", f"-rpcport={self.port}"])

    def launch(self, command):
        """Starts the program, and waits until it answers."""
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL)

        def answers():
            if self.process.poll() is not None:
                fail(f"{command[0]} ended with {self.process.returncode}")
            try:
                return self.rpc("getblockcount") is not None
            except (OSError, RpcError, json.JSONDecodeError, http.client.HTTPException):
                return False

        try:
            wait_until(f"{command[0]} answers", answers)
        except BaseException:
            # Nobody else knows of it yet.
            self.process.kill()
            raise

    def rpc(self, method, *params):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        authorization = base64.b64encode(self.cookie.read_bytes()).decode()
        call = {"jsonrpc": "1.0", "id": 0, "method": method, "params": params}
        connection.request("POST", "/", json.dumps(call), {"Authorization": f"Basic {authorization}"})
        answer = json.loads(connection.getresponse().read())
        connection.close()
        if answer["error"]:
            raise RpcError(answer["error"]["message"])
        return answer["result"]

    def tell(self):
        """Prints what may explain a failure."""
        try:
            print("bitcoind has", self.rpc("getblockcount"), "blocks;", self.rpc("getrawmempool"), "wait", flush=True)
        except (OSError, RpcError) as error:
            print(f"bitcoind does not tell: {error}", flush=True)
        tell_end(self.folder / "regtest" / "debug.log")

    def mine(self, count=1):
        return self.rpc("generatetoaddress", count, self.address)

    def mine_empty(self):
        """A block without what waits."""
        return self.rpc("generateblock", self.address, [])

    def kill(self):
        """At once, as a loss of power does to programs, and starts again."""
        self.process.kill()
        self.process.wait()
        self.start()
        self.rpc("loadwallet", "w")

    def stop(self):
        """As asked to: it writes down what it has."""
        self.rpc("stop")
        self.process.wait(PATIENCE)


class Turnpike:
    """A node that follows a bitcoind."""

    def __init__(self, program, folder, bitcoind):
        self.program, self.folder = program, Path(folder)
        self.folder.mkdir(parents=True)
        self.port = free_port()
        self.config = self.folder / "turnpike.toml"
        # An answer of bitcoind's that does not come is asked for again before a judge gives up.
        self.config.write_text(
            f'[bitcoin]\nnode = "{bitcoind.url}"\ncookie = "{bitcoind.cookie}"\ntimeout = 15000\ninterval = 200\n'
            f'[electrum]\nlisten = ["127.0.0.1:{self.port}"]\nesplora = true\n')
        self.start()

    def start(self):
        log = open(self.folder / "log", "a")
        self.process = subprocess.Popen(
            [self.program, "--json", "serve", "--config", self.config, "--data", self.folder / "data", "--listen", "127.0.0.1:0",
             "--http", "127.0.0.1:0", "--accounts", "1000"], stdout=subprocess.PIPE, stderr=log)
        line = self.process.stdout.readline()
        if not line:
            fail("the node does not start: " + (self.folder / "log").read_text()[-2000:])
        self.http = json.loads(line)["http"]

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    def request(self, method, path, body=None):
        host, port = self.http.split(":")
        connection = http.client.HTTPConnection(host, int(port), timeout=PATIENCE)
        connection.request(method, path, body)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, text

    def get(self, path):
        status, text = self.request("GET", path)
        if status != 200:
            fail(f"GET {path}: {status}: {text}")
        return text

    def esplora(self, path):
        return json.loads(self.get("/api" + path))

    def metric(self, name):
        lines = self.get("/metrics").splitlines()
        return next(float(line.split()[1]) for line in lines if line.split()[0] == "turnpike_" + name)

    def tell(self):
        """Prints what may explain a failure."""
        try:
            lines = self.get("/metrics").splitlines()
            print(*(line for line in lines if line.startswith(("turnpike_bitcoin", "turnpike_electrum"))), sep="\n", flush=True)
        except OSError as error:
            print(f"the node does not tell: {error}", flush=True)
        tell_end(self.folder / "log")

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.start()

    def stop(self):
        """As asked to: it has to end well."""
        self.process.send_signal(signal.SIGTERM)
        if self.process.wait(PATIENCE) != 0:
            fail(f"the node ended with {self.process.returncode}")


class Client:
    """One client of Electrum's protocol."""

    def __init__(self, address, version):
        host, port = address.split(":")
        self.socket = socket.create_connection((host, int(port)), timeout=PATIENCE)
        self.lines = self.socket.makefile("rb")
        self.number = 0
        self.told = []
        self.ask("server.version", "judge", version)

    def send(self, requests):
        """Sends requests, a list of methods with their parameters. Returns their numbers."""
        numbers = range(self.number, self.number + len(requests))
        self.number += len(requests)
        lines = [json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
                 for number, (method, *params) in zip(numbers, requests)]
        self.socket.sendall("".join(line + "\n" for line in lines).encode())
        return numbers

    def receive(self, numbers):
        """The replies to requests that were sent."""
        replies = {}
        while len(replies) < len(numbers):
            line = json.loads(self.lines.readline())
            if "id" in line:
                replies[line["id"]] = line
            else:
                self.told.append(line)
        return [replies[number] for number in numbers]

    def replies(self, requests):
        """Of requests that are all sent before the first reply is read."""
        return self.receive(self.send(requests))

    def reply(self, method, *params):
        return self.replies([(method, *params)])[0]

    def ask(self, method, *params):
        reply = self.reply(method, *params)
        if "error" in reply:
            fail(f"{method} {params}: {reply['error']}")
        return reply["result"]

    def error(self, method, *params):
        return self.reply(method, *params)["error"]

    def wait_told(self, method, of=None):
        """The parameters of the next notification."""
        while True:
            for place, line in enumerate(self.told):
                if line["method"] == method and (of is None or line["params"][0] == of):
                    return self.told.pop(place)["params"]
            try:
                self.told.append(json.loads(self.lines.readline()))
            except TimeoutError:
                fail(f"{method} of {of}: not told within {PATIENCE} s")


def script_hash(script):
    return hashlib.sha256(bytes.fromhex(script)).digest()[::-1].hex()


def has_all_of(turnpike, bitcoind, client):
    """Whether a client is told of bitcoind's last block, and as many transactions wait as there."""
    best = bitcoind.rpc("getblockheader", bitcoind.rpc("getbestblockhash"), False)
    waits = len(bitcoind.rpc("getrawmempool"))
    at = client.ask("blockchain.headers.subscribe")
    return at["hex"] == best and turnpike.metric("electrum_mempool_transactions") == waits


def start_both(started, bitcoind_program, turnpike_program, folder, blocks):
    """A bitcoind that has blocks, and a node that follows it."""
    bitcoind = Bitcoind(bitcoind_program, f"{folder}/bitcoind")
    started.append(bitcoind)
    bitcoind.mine(blocks)
    turnpike = Turnpike(turnpike_program, f"{folder}/turnpike", bitcoind)
    started.append(turnpike)
    return bitcoind, turnpike


def main(run, *arguments):
    """Runs, and ends all that was started."""
    started = []
    code = 1
    try:
        run(started, *arguments)
        code = 0
    except BaseException:
        traceback.print_exc()
        for program in started:
            if hasattr(program, "tell"):
                program.tell()
    finally:
        for program in started:
            if program.process.poll() is None:
                program.process.kill()
                program.process.wait()
        sys.stdout.flush()
    os._exit(code)
