# ElectrumX over the blocks of a file, behind a node's RPC of our own: source it, in sh or bash.

# electrumx_install VENV: what it takes, by pip. Gives false where that cannot be had.
electrumx_install() {
    cmp -s "$electrumx_here/requirements.txt" "$1/requirements.txt" && return
    rm -rf "$1"
    python3 -m venv "$1" && "$1/bin/pip" install --quiet --disable-pip-version-check --no-cache-dir --require-hashes \
        --requirement "$electrumx_here/requirements.txt" && cp "$electrumx_here/requirements.txt" "$1/requirements.txt"
}

# electrumx_start_node VENV BLOCKS DIRECTORY: a node's RPC over the blocks of a file. Sets electrumx_node to its process, which the caller ends.
electrumx_start_node() {
    PYTHONDONTWRITEBYTECODE=1 "$1/bin/python" "$electrumx_here/node.py" "$2" >"$3/node.port" 2>"$3/node.log" &
    electrumx_node=$!
    until [ -s "$3/node.port" ] || ! kill -0 "$electrumx_node" 2>/dev/null; do sleep 0.1; done
    electrumx_rpc=127.0.0.1:$(cat "$3/node.port")
}

# electrumx_start VENV DIRECTORY [NETWORK]: sets `electrumx` to its address once it has indexed all blocks and serves, and electrumx_pid to its process,
# which the caller ends. Gives false where it does not start. It has no limits: neither for the cost of sessions nor for replies.
electrumx_start() {
    mkdir -p "$2"
    electrumx=127.0.0.1:$(python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])')
    env COIN=Bitcoin NET="${3:-mainnet}" DB_DIRECTORY="$2" DB_ENGINE=leveldb DAEMON_URL="http://user:password@$electrumx_rpc/" \
        SERVICES="tcp://$electrumx" PEER_DISCOVERY=off PEER_ANNOUNCE= BLACKLIST_URL= ALLOW_ROOT=1 COST_SOFT_LIMIT=0 COST_HARD_LIMIT=0 \
        MAX_SEND=20000000 MAX_RECV=20000000 INITIAL_CONCURRENT=1000 REQUEST_SLEEP=0 REQUEST_TIMEOUT=600 \
        "$1/bin/electrumx_server" >"$2.log" 2>&1 &
    electrumx_pid=$!
    until grep -qs "TCP server listening" "$2.log" || ! kill -0 "$electrumx_pid" 2>/dev/null; do sleep 0.1; done
    grep -q "TCP server listening" "$2.log" || { cat "$2.log" >&2 && return 1; }
}
