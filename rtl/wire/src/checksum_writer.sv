// Writes the UDP checksum into packets that have zero in its place. Latency 5 cycles after the last word, one word per
// cycle.
//
// For packets of up to `Depth` - 4 words: each waits here until its sum is known.

`include "assertions.svh"
`include "registers.svh"

module checksum_writer
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
    // The same for all words of a packet. `none_i`: the packet gets no checksum.
    input  logic [UserWidth-1:0] user_i,
    input  logic                 none_i,
    output logic                 valid_o,
    input  logic                 ready_i,
    output word_t                word_o,
    output logic [UserWidth-1:0] user_o
);
  `PARAMETER_CHECK(depth, Depth >= PacketWords + 4, "checksum_writer: Depth is too small for the longest packet")

  localparam int unsigned CountWidth = $clog2(Depth + 1);
  localparam int unsigned ChecksumByte = 40;

  logic enters, leaves, word_valid, sum_valid, sum_ready, header_right, udp_none, first_q, none;
  logic [15:0] sum, written;
  logic [3:1] last_q, none_q;
  logic [CountWidth-1:0] words, sums;
  word_t word;
  assign enters = valid_i && ready_o;
  assign leaves = valid_o && ready_i;

  logic [15:0] udp_sum;
  udp_check u_sum (
      .clk_i,
      .rst_ni,
      .valid_i       (enters),
      .data_i        (word_i.data),
      .keep_i        (word_i.keep),
      .last_i        (word_i.last),
      .udp_sum_o     (udp_sum),
      .header_right_o(header_right),
      .udp_none_o    (udp_none)
  );
  `FF(last_q, {last_q[2:1], enters && word_i.last}, '0)
  `FFN(none_q, {none_q[2:1], none_i})

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
      .data_o ({user_o, word}),
      .count_o(words)
  );
  fifo #(
      .Width(17),
      .Depth(Depth)
  ) u_sums (
      .clk_i,
      .rst_ni,
      .valid_i(last_q[3]),
      .ready_o(sum_ready),
      .data_i ({none_q[3], udp_sum}),
      .valid_o(sum_valid),
      .ready_i(leaves && word.last),
      .data_o ({none, sum}),
      .count_o(sums)
  );
  `FFE(first_q, word.last, leaves, 1'b1)

  // A computed checksum of zero is sent as all ones (RFC 768).
  assign written = none ? '0 : sum == '1 ? '1 : ~sum;
  always_comb begin
    word_o = word;
    if (first_q) word_o.data[8*ChecksumByte+:16] = {written[7:0], written[15:8]};
  end
  assign valid_o = word_valid && sum_valid;

  `ASSERT(sums_have_room, !last_q[3] || sum_ready)
  `ASSERT(sums_have_words, sums <= words)
  `ASSERT(packets_come_without, last_q[3] -> udp_none && header_right)
endmodule
