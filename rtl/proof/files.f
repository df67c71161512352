-F ../table/files.f
src/proof_pkg.sv
src/proof_tags.sv
src/proof_stream.sv
src/proof_filler.sv
src/proof_cache.sv
