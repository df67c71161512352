# The two commands of the README are `make demo` and `make test`; `make help` lists the rest.

CARGO ?= cargo
FUZZ_SECONDS ?= 5
KILLS ?= 50

.PHONY: help bench demo test check mutants test-machine test-rdma build setup blocks schema lint unit conformance simulate kill-loop soak order-kill-loop cluster-kill-loop bitcoin-kill-loop electrum-newest fast-path order-schedules fuzz packages test-packages python-wheel check-dependencies clean \
	rtl rtl-lint rtl-format rtl-test rtl-wave rtl-diagram rtl-area rtl-timing rtl-csr bitstream

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 22

setup:
	@scripts/setup

blocks: setup ## fetches the real Bitcoin blocks that the demo and the tests use
	@scripts/fetch-blocks

build: setup ## the program, optimised: target/release/turnpike; its line tables for backtraces: turnpike.debug beside it
	TURNPIKE_COMMIT=$$(git describe --always --dirty --abbrev=12 2>/dev/null) $(CARGO) build --release --locked --package turnpike
	scripts/split-debug target/release/turnpike

# The simulated NIC is a thousand times slower than one, so a tenth of everything.
DEMO = $(if $(IO),--io $(IO)) $(if $(filter rtl,$(IO)),--transfers 100000 --accounts 10000 --proofs 200)

demo: build blocks $(filter rtl,$(IO)) ## a node, a million durable transfers, proofs, a kill -9: about a minute after the build; IO=rtl: through the simulated NIC
	target/release/turnpike demo --blocks target/blocks $(DEMO)

bench: ## every benchmark next to its peers, and docs/results.md with this machine's figures; QUICK=1: some ten minutes
	@QUICK=$(QUICK) bench/run $(NAMES)

test: setup blocks ## everything that CI runs
	@scripts/test

check: setup ## the quick loop after a change: lint, unit tests, vectors
	@scripts/test quick

mutants: setup ## planted defects that tests have to find: hours; NAMES="proof", NAMES=planted
	@tests/mutants/run $(NAMES)

unit: setup ## the tests inside of the Rust crates, without the suites of whole nodes, chains and networks
	$(CARGO) test --workspace --locked --lib --bins

# Each tier says why it is left out where the machine cannot run it: the NIC tier takes root, the simulated NIC what builds it.
conformance: setup ## the conformance suite against each tier: the node, AF_XDP, XDP, the ledger in the NIC, the simulated NIC
	@rtl/check model || [ $$? -eq 77 ]
	$(CARGO) test --locked --package turnpike-conformance --no-fail-fast -- --nocapture

test-machine: setup ## the NIC tier between emulated network cards, with AF_XDP's zero copy: five minutes, QEMU and a kernel from Debian
	@tests/machine/run

test-rdma: setup ## channels over RDMA between processes of an emulated machine with soft-RoCE: two minutes, QEMU and a kernel from Debian
	@tests/rdma/run

schema: ## code and tables that several languages share, of schema/*.toml
	schema/generate.py

lint: ## formatting, clippy, licences
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	scripts/check-dependencies

fuzz: setup ## every parser for FUZZ_SECONDS
	fuzz/run $(FUZZ_SECONDS)

packages: build ## a Debian package, an OCI image, a tarball, an SBOM, and packages for Python, npm and Go: target/packages
	@packages/build $(NAMES)

test-packages: build ## installs, runs, upgrades and removes the packages: three minutes, root and packages from Debian
	@packages/test $(NAMES)

python-wheel: ## the Python package, for Python 3.11 and newer: target/wheels/turnpike_verify-*.whl
	@bindings/python/wheel

simulate: ## the seeded simulator: make simulate SEED=7 HOURS=24; OPERATIONS=100000000: many seeds, recorded in target/simulated.tsv
	TURNPIKE_COMMIT=$$(git describe --always --dirty --abbrev=12 2>/dev/null) $(CARGO) run --release --locked --package turnpike-simulator -- \
		--seed $(or $(SEED),1) $(if $(OPERATIONS),--operations $(OPERATIONS) --record target/simulated.tsv,--hours $(or $(HOURS),24))

kill-loop: ## KILLS times kill -9 under load, nothing durable lost; the same of the in-NIC ledger and its journal
	KILLS=$(KILLS) $(CARGO) test --release --locked --package turnpike --test kill_loop --test in_nic_kill -- --nocapture

soak: ## a node at 70 % of its highest rate, killed every minute: an hour, or MINUTES; all replies, balances and blocks are checked
	SOAK_ROUNDS=$(or $(MINUTES),60) SOAK_SECONDS=60 SOAK_ACCOUNTS=$(or $(ACCOUNTS),500000) \
		$(CARGO) test --release --locked --package turnpike --test soak -- --nocapture

order-kill-loop: ## CYCLES times replicas that are processes are killed and stopped, what was final stays
	ORDER_CYCLES=$(or $(CYCLES),1000) $(CARGO) test --release --locked --package turnpike-bench-order -- --nocapture

cluster-kill-loop: ## CYCLES times one replica of four is killed under load, no final reply is lost
	CLUSTER_KILLS=$(or $(CYCLES),1000) $(CARGO) test --release --locked --package turnpike --test cluster -- --nocapture

bitcoin-kill-loop: ## CYCLES times a node that follows a real bitcoind is killed under load, or that bitcoind
	KILLS=$(or $(CYCLES),100) tests/electrum/run kills

electrum-newest: ## the newest Electrum as a wallet, over real blocks and behind a real bitcoind
	tests/electrum/run newest

order-schedules: ## SCHEDULES of replicas with liars, crashes, partitions and loss, simulated
	ORDER_SEEDS=$(or $(SCHEDULES),10000) $(CARGO) test --release --locked --package turnpike-order what_is_final_stays -- --nocapture

fast-path: ## the model of the fast path: larger scenarios, STATES of random schedules from SEED
	FAST_PATH_LONG=1 FAST_PATH_STATES=$(or $(STATES),20000000) FAST_PATH_SEED=$(or $(SEED),1) \
		$(CARGO) test --release --locked --package turnpike-fast-path -- --nocapture --test-threads 1

rtl: ## the simulated NIC as libraries, for turnpike serve --io rtl and turnpike kv --io rtl: target/rtl/libturnpike_nic*.so
	@rtl/check model $(NAMES)

rtl-lint rtl-format rtl-test rtl-wave rtl-diagram rtl-area rtl-timing:
	@rtl/check $(@:rtl-%=%) $(NAMES) --seed $(or $(SEED),1) $(if $(PATHS),--path)

bitstream: ## SystemVerilog: the bitstream of a BOARD, placed and routed: target/rtl/ecpix5.bit; SEED=2 places it differently
	@rtl/check bitstream $(or $(BOARD),ecpix5) --seed $(or $(SEED),1)

rtl-csr: ## SystemVerilog: the NIC's registers, made of rtl/nic/csr.yml
	@rtl/setup
	@target/rtl-venv/bin/python rtl/nic/csr.py

rtl-lint: ## SystemVerilog: format, style, verilator -Wall, slang
rtl-wave: ## SystemVerilog: a testbench with a waveform, opened or printed: make rtl-wave NAMES=stream_fifo SEED=7
rtl-diagram: ## SystemVerilog: the pipelines in docs/, drawn from waveforms
rtl-test: ## SystemVerilog: testbenches and proofs: make rtl-test NAMES=stream_fifo SEED=7
rtl-area: ## SystemVerilog: cells of each block
rtl-timing: ## SystemVerilog: ECP5 place and route of each block, PATHS=1 prints the critical path

clean:
	$(CARGO) clean
