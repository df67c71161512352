-F ../transfer/files.f
-F ../proof/files.f
src/nic_pkg.sv
src/nic_csr_pkg.sv
src/nic_csr.sv
src/nic_ingress.sv
src/nic_egress.sv
src/turnpike_nic.sv
