-F ../common/files.f
src/wire_pkg.sv
src/checksum_check.sv
src/reply_builder.sv
