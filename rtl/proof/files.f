-F ../table/files.f
-F ../wire/files.f
src/proof_pkg.sv
src/proof_numbers.sv
src/proof_tags.sv
src/proof_stream.sv
src/proof_filler.sv
src/proof_cache.sv
src/proof_extractor.sv
src/proof_generator.sv
src/proof_forwarder.sv
src/proof.sv
