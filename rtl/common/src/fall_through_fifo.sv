// Queue that a word passes at once while it is empty: `fifo` without its cycle of latency. There are combinational
// paths from `valid_i` and `data_i`.
//
// Latency 0, full throughput. `ready_o` is a register.

module fall_through_fifo #(
    parameter int unsigned Width = 64,
    parameter int unsigned Depth = 16,
    localparam int unsigned CountWidth = $clog2(Depth + 1)
) (
    input  logic                  clk_i,
    input  logic                  rst_ni,
    input  logic                  valid_i,
    output logic                  ready_o,
    input  logic [     Width-1:0] data_i,
    output logic                  valid_o,
    input  logic                  ready_i,
    output logic [     Width-1:0] data_o,
    output logic [CountWidth-1:0] count_o  // words waiting in it
);
  logic waits;
  logic [Width-1:0] waiting;

  fifo #(
      .Width(Width),
      .Depth(Depth)
  ) u_fifo (
      .clk_i,
      .rst_ni,
      .valid_i(valid_i && (waits || !ready_i)),
      .ready_o,
      .data_i,
      .valid_o(waits),
      .ready_i,
      .data_o (waiting),
      .count_o
  );

  assign valid_o = waits || valid_i;
  assign data_o  = waits ? waiting : data_i;
endmodule
