// Sends bytes on a serial line: 8 data bits, no parity, one stop bit.

`include "assertions.svh"
`include "registers.svh"

module uart_tx #(
    parameter int unsigned BitCycles = 543
) (
    input  logic       clk_i,
    input  logic       rst_ni,
    input  logic       valid_i,
    output logic       ready_o,
    input  logic [7:0] data_i,
    output logic       line_o
);
  `PARAMETER_CHECK(bit_cycles, BitCycles >= 4, "uart_tx: BitCycles must be at least 4")

  localparam int unsigned Bits = 10;
  localparam int unsigned WaitWidth = $clog2(BitCycles);
  // The bits that are still to be sent, the next one lowest, and their number.
  logic [Bits-1:0] bits_q;
  logic [3:0] left_q;
  logic [WaitWidth-1:0] wait_q;
  logic enters, steps;
  assign ready_o = left_q == '0;
  assign enters  = valid_i && ready_o;
  assign steps   = !ready_o && wait_q == '0;
  assign line_o  = bits_q[0];
  `FFE(bits_q, enters ? {1'b1, data_i, 1'b0} : {1'b1, bits_q[Bits-1:1]}, enters || steps, '1)
  `FFE(left_q, enters ? 4'(Bits) : left_q - 4'd1, enters || steps, '0)
  `FF(wait_q, enters || steps ? WaitWidth'(BitCycles - 1) : ready_o ? '0 : wait_q - 1'b1, '0)
endmodule
