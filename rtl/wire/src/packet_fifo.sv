// Queue that outputs a packet only once it is complete, so that it leaves without a gap.
//
// A packet that does not fit stalls, and one longer than the queue is output when the queue is full. With drop_i
// nothing ever stalls: a packet without room is dropped as a whole, and dropped_o reports it.
//
// Latency 1 cycle after the last word, one word per cycle.

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
    input  logic                 drop_i,
    output logic                 dropped_o,
    input  logic                 valid_i,
    output logic                 ready_o,
    input  word_t                word_i,
    input  logic [UserWidth-1:0] user_i,
    output logic                 valid_o,
    input  logic                 ready_i,
    output word_t                word_o,
    output logic [UserWidth-1:0] user_o
);
  `PARAMETER_CHECK(depth, Depth >= 2, "packet_fifo: Depth must be at least 2")

  localparam int unsigned CountWidth = $clog2(Depth + 1);
  localparam int unsigned PointerWidth = $clog2(Depth);
  typedef logic [CountWidth-1:0] count_t;
  typedef logic [PointerWidth-1:0] pointer_t;

  function automatic pointer_t after(pointer_t pointer);
    return pointer == pointer_t'(Depth - 1) ? '0 : pointer + pointer_t'(1);
  endfunction

  logic [UserWidth+$bits(word_t)-1:0] memory_q[Depth];
  // Words in total, and words of complete packets; start of the incomplete packet.
  count_t words_q, whole_q;
  pointer_t write_q, begin_q, read_q;
  logic open_q, dropping_q;
  logic is_full, refuses, push, ends, pop;

  assign is_full = words_q == count_t'(Depth);
  // A packet already being output can no longer be dropped.
  assign refuses = dropping_q || (drop_i && is_full && !open_q);
  assign ready_o = !is_full || refuses;
  assign push  = valid_i && ready_o && !refuses;
  assign ends    = push && word_i.last;
  assign pop  = valid_o && ready_i;
  assign valid_o = whole_q != '0 || (open_q && words_q != '0);
  assign {user_o, word_o} = memory_q[read_q];
  assign dropped_o = valid_i && refuses && word_i.last;

  always_ff @(posedge clk_i) begin
    if (push) memory_q[write_q] <= {user_i, word_i};
  end
  `FFE(read_q, after(read_q), pop, '0)
  `FFE(write_q, refuses ? begin_q : after(write_q), push || (valid_i && refuses), '0)
  `FFE(begin_q, after(write_q), ends, '0)
  `FFE(dropping_q, !word_i.last, valid_i && refuses, 1'b0)

  count_t words_d, whole_d;
  always_comb begin
    words_d = words_q + count_t'(push);
    if (valid_i && refuses) words_d = whole_q;
    whole_d = ends ? words_d : whole_q;
    // Words of the incomplete packet are not counted here.
    if (pop) begin
      words_d -= count_t'(1);
      if (whole_d != '0) whole_d -= count_t'(1);
    end
  end
  `FF(words_q, words_d, '0)
  `FF(whole_q, whole_d, '0)
  // A packet that filled the queue is output to its end.
  `FF(open_q, !(pop && word_o.last) && (open_q || (is_full && whole_q == '0 && !drop_i)), 1'b0)

  `ASSERT(whole_packets_are_words, whole_q <= words_q)
endmodule
