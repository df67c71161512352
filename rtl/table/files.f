-F ../wire/files.f
src/table_pkg.sv
src/table_fold.sv
src/table_hash_keyed.sv
src/table_hash_lookup3.sv
src/table_hash_mult.sv
src/table_hash.sv
src/table_engine.sv
src/table_control.sv
src/table_ways.sv
src/table_ram.sv
src/table_onchip.sv
src/table_lines.sv
src/table_external.sv
src/table_values.sv
src/table_store.sv
src/table_preprocessor.sv
src/table_packets.sv
