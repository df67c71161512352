-F ../../nic/files.f
-F ../../mac/files.f
-F ../../host_link/files.f
cells/IDDRX1F.sv
cells/ODDRX1F.sv
cells/DELAYG.sv
cells/EHXPLLL.sv
src/reset_synchronizer.sv
src/rgmii.sv
src/ecpix5_clocks.sv
src/uart_rx.sv
src/uart_tx.sv
src/register_console.sv
src/light.sv
src/ecpix5_board.sv
src/ecpix5_top.sv
