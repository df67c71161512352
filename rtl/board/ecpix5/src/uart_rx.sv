// Receives bytes from a serial line: 8 data bits, no parity, one stop bit. A byte with a wrong stop bit is dropped.

`include "assertions.svh"
`include "registers.svh"

module uart_rx #(
    parameter int unsigned BitCycles = 543
) (
    input  logic       clk_i,
    input  logic       rst_ni,
    input  logic       line_i,
    output logic       valid_o,
    output logic [7:0] data_o
);
  `PARAMETER_CHECK(bit_cycles, BitCycles >= 4, "uart_rx: BitCycles must be at least 4")

  localparam int unsigned Bits = 10;
  localparam int unsigned WaitWidth = $clog2(BitCycles + BitCycles / 2);
  logic line;
  // The line is idle when it is high.
  synchronizer u_line (
      .clk_i,
      .rst_ni,
      .data_i(!line_i),
      .data_o(line)
  );

  // Cycles until the middle of the next bit; bits that are still to come, the start bit included.
  logic [WaitWidth-1:0] wait_q;
  logic [$clog2(Bits+1)-1:0] left_q;
  logic busy, middle;
  assign busy   = left_q != '0;
  assign middle = busy && wait_q == '0;
  `FF(left_q, !busy ? (line ? 4'(Bits) : '0) : middle ? left_q - 1'b1 : left_q, '0)
  `FF(wait_q, !busy ? WaitWidth'(BitCycles / 2 - 1) : middle ? WaitWidth'(BitCycles - 1) : wait_q - 1'b1, '0)
  `FFNE(data_o, {!line, data_o[7:1]}, middle && left_q != 4'd1)
  // A start bit shorter than half a bit shifts in garbage, which the stop bit rejects only by chance: a line is short.
  `FF(valid_o, middle && left_q == 4'd1 && !line, 1'b0)
endmodule
