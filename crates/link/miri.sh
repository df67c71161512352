#!/bin/sh
# Runs under Miri what it can run of this crate, which is what has no sockets and no memory of other processes: rings, pools, framing.
set -eu
cd "$(dirname "$0")"
# A nightly compiler that is there may lack it.
cargo +nightly miri --version >/dev/null 2>&1 || rustup component add --toolchain nightly miri rust-src >/dev/null 2>&1 || true
if ! cargo +nightly miri --version >/dev/null 2>&1; then
    echo "skipped: Miri is of the nightly compiler (rustup toolchain install nightly --component miri,rust-src)"
    exit 77
fi
# Random cases take seconds each. A few are worth it, since all of them go the same ways through `unsafe`.
PROPTEST_CASES=${PROPTEST_CASES:-2} MIRIFLAGS=-Zmiri-disable-isolation CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-../../target}/miri \
    cargo +nightly miri test --quiet --locked --no-default-features --lib -- pool:: tcp::reader shm::ring::model::messages_pass
