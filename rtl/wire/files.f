-F ../common/files.f
src/protocol_pkg.sv
src/memcached_pkg.sv
src/frame_pkg.sv
src/host_pkg.sv
src/wire_pkg.sv
src/udp_check.sv
src/reply_builder.sv
src/packet_fifo.sv
src/packet_selector.sv
src/checksum_writer.sv
