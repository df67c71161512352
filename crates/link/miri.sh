#!/bin/sh
# Runs under Miri what it can run of this crate, which is what has no sockets and no memory of other processes: rings, pools, framing.
set -eu
cd "$(dirname "$0")"
if ! cargo +nightly miri --version >/dev/null 2>&1; then
    echo "skipped: Miri is of the nightly compiler (rustup toolchain install nightly --component miri,rust-src)"
    exit 77
fi
# Random cases cost seconds each. A few are worth it, since all of them take the same ways through `unsafe`.
PROPTEST_CASES=${PROPTEST_CASES:-4} MIRIFLAGS=-Zmiri-disable-isolation CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-../../target}/miri \
    nice cargo +nightly miri test --quiet --locked --no-default-features --lib -- pool:: tcp:: shm::ring::model::a_ring_is \
    shm::ring::model::any shm::ring::model::zero shm::ring::model::messages_pass
