# Shared by the scripts under bench/: source it. Gives a scratch folder on a disk, starts and stops servers, medians, and keeps what was
# measured: at the end of a run that succeeded, bench/results/MACHINE/NAME.json is made of its figures (bench/results.py).
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
# Where turnpike-figures writes, and `figure`.
export TURNPIKE_FIGURES="$scratch/figures"

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

# figure NAME VALUE UNIT [PEER VALUE]: keeps what was measured, as bench/figures does for programs.
figure() {
    printf '%s\t%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "${4-}" "${5-}" >>"$TURNPIKE_FIGURES"
}

# rounds DEFAULT [GIVEN]: how many: those that were given, one where it is to be quick.
rounds() {
    echo "${2:-${QUICK:+1}}" | grep . || echo "$1"
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
