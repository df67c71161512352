-F ../../nic/files.f
-F ../../host_link/files.f
src/axil_registers.sv
src/frame_router.sv
src/frame_merge.sv
src/mqnic_app_pkg.sv
src/mqnic_app.sv
src/mqnic_app_block.sv
