-F ../common/files.f
src/mac_pkg.sv
src/crc32.sv
src/mac_rx.sv
src/mac_tx.sv
src/frame_fifo.sv
src/ram_two_clocks.sv
src/synchronizer.sv
src/async_fifo.sv
src/gigabit_mac.sv
