-F ../wire/files.f
src/transfer_pkg.sv
src/account_match.sv
src/account_directory.sv
src/balance_store.sv
src/balance_sums.sv
src/account_lines.sv
src/accounts_external.sv
src/dedup_window.sv
src/store_controller.sv
src/command_extractor.sv
src/packet_generator.sv
src/batch_extractor.sv
src/batch_generator.sv
src/transfer.sv
