-F ../table/files.f
-F ../wire/files.f
src/kv_pkg.sv
src/kv_line.sv
src/kv_request.sv
src/kv_mix.sv
src/kv_fingerprint.sv
src/kv_operations.sv
src/kv_rows.sv
src/kv_store.sv
src/kv_frame.sv
src/kv_reply.sv
src/kv_decimal.sv
src/kv_text_reply.sv
src/kv_join.sv
src/kv_replies.sv
src/kv.sv
