-F ../transfer/files.f
-F ../proof/files.f
-F ../verify/files.f
-F ../kv/files.f
src/nic_pkg.sv
src/nic_csr_pkg.sv
src/nic_csr.sv
src/nic_ingress.sv
src/nic_egress.sv
src/nic_ingress_path.sv
src/nic_engines.sv
src/nic_egress_path.sv
src/turnpike_nic.sv
src/retry_ticker.sv
