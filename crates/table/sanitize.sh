#!/bin/sh
# Runs this crate's tests under the address and the thread sanitizer, where the nightly compiler has them.
set -eu
cd "$(dirname "$0")"
host=$(rustc -vV | sed -n 's/^host: //p')
if ! rustc +nightly -vV >/dev/null 2>&1; then
    echo "skipped: the sanitizers need the nightly compiler (rustup toolchain install nightly)"
    exit 0
fi
for sanitizer in ${*:-address thread}; do
    flags="-Zsanitizer=$sanitizer"
    # The standard library is not instrumented; what it does for the tests is not what is checked here.
    if [ "$sanitizer" = thread ]; then flags="$flags -Cunsafe-allow-abi-mismatch=sanitizer"; fi
    echo "== $sanitizer sanitizer"
    CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-../../target}/sanitize-$sanitizer RUSTFLAGS="$flags" \
        TURNPIKE_STORM=${TURNPIKE_STORM:-20000} PROPTEST_CASES=${PROPTEST_CASES:-32} \
        nice cargo +nightly test --target "$host" --lib --tests
done
