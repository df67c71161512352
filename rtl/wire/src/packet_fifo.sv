// A queue that shows a packet once it is there as a whole, so that it leaves without a gap. One that does not fit is shown when the queue is full.
//
// Latency 1 cycle behind the last word, a word a cycle.

`include "assertions.svh"
`include "registers.svh"

module packet_fifo
  import wire_pkg::*;
#(
    parameter int unsigned UserWidth = 1,
    parameter int unsigned Depth = 32
) (
    input  logic                 clk_i,
    input  logic                 rst_ni,
    input  logic                 valid_i,
    output logic                 ready_o,
    input  word_t                word_i,
    input  logic [UserWidth-1:0] user_i,
    output logic                 valid_o,
    input  logic                 ready_i,
    output word_t                word_o,
    output logic [UserWidth-1:0] user_o
);
  localparam int unsigned CountWidth = $clog2(Depth + 1);
  logic [CountWidth-1:0] words, packets_q;
  logic word_valid, enters, leaves, whole_enters, whole_leaves, open_q;

  fifo #(
      .Width($bits(word_t) + UserWidth),
      .Depth(Depth)
  ) u_words (
      .clk_i,
      .rst_ni,
      .valid_i,
      .ready_o,
      .data_i ({user_i, word_i}),
      .valid_o(word_valid),
      .ready_i(leaves),
      .data_o ({user_o, word_o}),
      .count_o(words)
  );
  assign enters = valid_i && ready_o;
  assign leaves = valid_o && ready_i;
  assign whole_enters = enters && word_i.last;
  assign whole_leaves = leaves && word_o.last;
  `FFE(packets_q, whole_enters ? packets_q + 1'b1 : packets_q - 1'b1, whole_enters != whole_leaves, '0)
  // Once a packet has filled the queue, it is shown to its end.
  `FF(open_q, !whole_leaves && (open_q || !ready_o), 1'b0)
  assign valid_o = word_valid && (packets_q != '0 || open_q);

  `ASSERT(packets_are_counted, packets_q <= words)
endmodule
