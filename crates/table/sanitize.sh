#!/bin/sh
# Runs this crate's tests under the address and the thread sanitizer, where the nightly compiler has them.
set -eu
cd "$(dirname "$0")"
host=$(rustc -vV | sed -n 's/^host: //p')
if ! rustc +nightly -vV >/dev/null 2>&1; then
    echo "skipped: the sanitizers need the nightly compiler (rustup toolchain install nightly)"
    exit 77
fi
# The suppressions name functions that are inlined: without line tables nothing matches them.
export CARGO_PROFILE_DEV_DEBUG=line-tables-only
for sanitizer in ${*:-address thread}; do
    flags="-Zsanitizer=$sanitizer"
    tests="--lib --tests"
    if [ "$sanitizer" = thread ]; then
        # The standard library is not instrumented (see the suppressions), so only the tests that start threads are run.
        flags="$flags -Cunsafe-allow-abi-mismatch=sanitizer"
        tests="--test concurrent"
        export TSAN_OPTIONS="suppressions=$PWD/sanitize.suppressions"
    fi
    echo "== $sanitizer sanitizer"
    # shellcheck disable=SC2086
    CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-../../target}/sanitize-$sanitizer RUSTFLAGS="$flags" RUST_TEST_THREADS=1 \
        TURNPIKE_STORM=${TURNPIKE_STORM:-20000} PROPTEST_CASES=${PROPTEST_CASES:-32} \
        nice cargo +nightly test --target "$host" $tests
done
