-F ../common/files.f
src/host_link_pkg.sv
src/host_link_tx.sv
src/host_link_rx.sv
src/host_link.sv
src/host_link_registers.sv
