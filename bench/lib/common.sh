# Sourced by the scripts under bench/. Provides a scratch folder on a disk, starts and stops servers, computes medians,
# and stores figures: after a successful run, bench/results.py makes bench/results/MACHINE/NAME.json from them.
#
#   BENCH_DIR   where the servers keep their data: a folder on the disk to be measured, target/bench by default
#   QUICK       one round of everything, and less of it

set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
bench_dir=${BENCH_DIR:-$root/target/bench}
mkdir -p "$bench_dir"
scratch=$(mktemp -d "$bench_dir/XXXXXX")
pids=
bench_name=$(basename "$(cd "$(dirname "$0")" && pwd)")
bench_command="${QUICK:+QUICK=1 }bench/$bench_name/run${*:+ $*}"
# Output file of turnpike-figures and `figure`.
export TURNPIKE_FIGURES="$scratch/figures"

# Ends the processes that were started, and nothing else.
cleanup() {
    status=$?
    trap - EXIT INT TERM
    for pid in $pids; do
        kill "$pid" 2>/dev/null || true
    done
    for pid in $pids; do
        wait "$pid" 2>/dev/null || true
    done
    if [ $status -eq 0 ] && [ -s "$TURNPIKE_FIGURES" ]; then
        # shellcheck disable=SC2086
        python3 "$root/bench/results.py" record "$bench_name" "$TURNPIKE_FIGURES" $bench_command || status=1
    fi
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

# setup [PACKAGE...]: installs missing build dependencies, and the named Debian packages: the peers.
setup() {
    "$root/scripts/setup" "$@" >&2
}

# start NAME COMMAND...: runs a server in the background, with its output in $scratch/NAME.log.
start() {
    name=$1
    shift
    "$@" >"$scratch/$name.log" 2>&1 &
    pids="$pids $!"
}

# wait_for NAME TEXT: waits until the log of a server contains the text.
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

# figure NAME VALUE UNIT [PEER VALUE]: stores a figure, as bench/figures does for programs.
figure() {
    printf '%s\t%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "${4-}" "${5-}" >>"$TURNPIKE_FIGURES"
}

# rounds DEFAULT [GIVEN]: number of rounds: the given one, or one in quick mode.
rounds() {
    echo "${2:-${QUICK:+1}}" | grep . || echo "$1"
}

# build_cometbft: builds the validators of bench/order/cometbft. Sets `version` to CometBFT's, and `peer` to the
# program, or to nothing if Go is missing or the modules cannot be downloaded.
build_cometbft() {
    modules=$root/bench/order/cometbft
    version=$(sed -nE 's|^require github.com/cometbft/cometbft v||p' "$modules/go.mod")
    peer=$scratch/cometbft
    export GOTOOLCHAIN=local GOFLAGS=-buildvcs=false
    if (cd "$modules" && go mod download) >"$scratch/go.log" 2>&1; then
        (cd "$modules" && go build -o "$peer" .)
    else
        echo "skipped: CometBFT $version, whose Go or modules can't be had here, so the figures have no peer:" >&2
        tail -n 3 "$scratch/go.log" >&2
        peer=
    fi
}

# median: of the numbers on standard input, one per line.
median() {
    # Not rounded to six digits, as awk's default would.
    sort -n | awk -v OFMT=%.12g '{ value[NR] = $1 } END { print (NR % 2) ? value[(NR + 1) / 2] : (value[NR / 2] + value[NR / 2 + 1]) / 2 }'
}

# machine: prints a line that describes where figures come from.
machine() {
    cpu=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)
    echo "$(nproc) processors ($cpu), Linux $(uname -r), $(df --output=fstype "$bench_dir" | tail -n 1)"
}
