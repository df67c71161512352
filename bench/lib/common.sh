# Shared by the scripts under bench/: source it. Gives a scratch folder on a disk, starts and stops servers, medians.
#
#   BENCH_DIR   where the servers keep their data: a folder on the disk to be measured, target/bench by default

set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
bench_dir=${BENCH_DIR:-$root/target/bench}
mkdir -p "$bench_dir"
scratch=$(mktemp -d "$bench_dir/XXXXXX")
pids=

# Ends what was started, and nothing else.
cleanup() {
    status=$?
    trap - EXIT INT TERM
    for pid in $pids; do
        kill "$pid" 2>/dev/null || true
    done
    for pid in $pids; do
        wait "$pid" 2>/dev/null || true
    done
    rm -rf "$scratch"
    exit $status
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

fail() {
    echo "$0: $*" >&2
    exit 1
}

# setup [PACKAGE...]: installs what is missing of what builds take, and of Debian's packages that are named: the peers.
setup() {
    "$root/scripts/setup" "$@" >&2
}

# start NAME COMMAND...: runs a server in the background, its output in $scratch/NAME.log.
start() {
    name=$1
    shift
    "$@" >"$scratch/$name.log" 2>&1 &
    pids="$pids $!"
}

# wait_for NAME TEXT: until the log of a server has the text.
wait_for() {
    tries=0
    until grep -qs -- "$2" "$scratch/$1.log"; do
        tries=$((tries + 1))
        if [ $tries -gt 300 ]; then
            cat "$scratch/$1.log" >&2
            fail "$1 did not start within 30 seconds"
        fi
        sleep 0.1
    done
}

# median: of the numbers on standard input, one a line.
median() {
    sort -n | awk '{ value[NR] = $1 } END { print (NR % 2) ? value[(NR + 1) / 2] : (value[NR / 2] + value[NR / 2 + 1]) / 2 }'
}

# machine: a line that tells where figures come from.
machine() {
    cpu=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)
    echo "$(nproc) processors ($cpu), Linux $(uname -r), $(df --output=fstype "$bench_dir" | tail -n 1)"
}
