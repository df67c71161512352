// Passes frames of a producer, and ends a frame that its reset cuts: once `open_i` falls, a last word of one byte
// follows. So the next frame begins where it should; the cut one is shorter than its headers say, and its receiver
// refuses it.
//
// Latency 0; `ready_o` depends on `ready_i`.

`include "registers.svh"

module frame_closer #(
    parameter int unsigned DataWidth = 128,
    localparam int unsigned KeepWidth = DataWidth / 8
) (
    input  logic                 clk_i,
    input  logic                 rst_ni,
    input  logic                 open_i,
    input  logic                 valid_i,
    output logic                 ready_o,
    input  logic [DataWidth-1:0] data_i,
    input  logic [KeepWidth-1:0] keep_i,
    input  logic                 last_i,
    output logic                 valid_o,
    input  logic                 ready_i,
    output logic [DataWidth-1:0] data_o,
    output logic [KeepWidth-1:0] keep_o,
    output logic                 last_o,
    // The word at the output ends a cut frame.
    output logic                 closes_o
);
  // A word of a frame was offered, which must stay: an arbiter may wait for it. Until the frame is closed, nothing else
  // leaves: the producer may have started again.
  logic inside_q, closes_q;
  assign closes_o = inside_q && (closes_q || !open_i);
  assign ready_o = ready_i && !closes_o;
  assign valid_o = closes_o || valid_i;
  assign data_o = closes_o ? '0 : data_i;
  assign keep_o = closes_o ? KeepWidth'(1) : keep_i;
  assign last_o = closes_o || last_i;
  `FFE(inside_q, !(last_o && ready_i), valid_o, 1'b0)
  `FF(closes_q, closes_o && !ready_i, 1'b0)
endmodule
