src/skid.sv
src/fifo.sv
src/stream_register.sv
src/stream_fifo.sv
src/stream_arbiter.sv
src/ram_1r1w.sv
src/ram_2rw.sv
