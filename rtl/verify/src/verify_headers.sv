// Equihash headers of verify frames: passes their fields, then the header in words of 64 bytes, to `equihash`.

`include "registers.svh"

module verify_headers
  import verify_frame_pkg::*;
#(
    parameter int unsigned EquihashN = 200,
    parameter int unsigned EquihashK = 9
) (
    input  logic            clk_i,
    input  logic            rst_ni,
    // Message without its header: n, k, flags, personalisation, and the block header.
    input  logic            valid_i,
    output logic            ready_o,
    input  part_t           part_i,
    input  tag_t            tag_i,
    input  logic     [15:0] length_i,
    output logic            valid_o,
    input  logic            ready_i,
    output verdict_t        verdict_o
);
  // Bytes of a message before the block header.
  localparam int unsigned BeforeHeader = 32;

  // The fields beside the words are stable until the last word has left; until then no other message begins.
  logic [1:0] at_q;
  logic is_field, accept, busy_q, word_valid, word_ready, word_last, widen_ready;
  assign is_field = at_q != 2'd2;
  assign ready_o  = is_field ? !busy_q : widen_ready;
  assign accept   = valid_i && ready_o;
  `FFE(at_q, part_i.last ? '0 : is_field ? at_q + 1'b1 : at_q, accept, '0)
  `FF(busy_q, (accept && !is_field) || (busy_q && !(word_valid && word_ready && word_last)), 1'b0)
  logic only_q;
  logic [63:0] personalisation_q;
  logic [15:0] length_q;
  tag_t tag_q;
  `FFNE(only_q, part_i.data[24], accept && at_q == 2'd0)
  `FFNE(personalisation_q, part_i.data, accept && at_q == 2'd1)
  `FFNE(length_q, length_i - 16'(BeforeHeader), accept && at_q == 2'd0)
  `FFNE(tag_q, tag_i, accept && at_q == 2'd0)

  logic [511:0] word;
  logic [ 63:0] unused_keep;
  stream_widen #(
      .DataWidth(64),
      .WideWidth(512)
  ) u_words (
      .clk_i,
      .rst_ni,
      .valid_i(valid_i && !is_field),
      .ready_o(widen_ready),
      .data_i (part_i.data),
      .keep_i (part_i.keep),
      .last_i (part_i.last),
      .valid_o(word_valid),
      .ready_i(word_ready),
      .data_o (word),
      .keep_o (unused_keep),
      .last_o (word_last)
  );

  logic [63:0] mask;
  equihash #(
      .EquihashN(EquihashN),
      .EquihashK(EquihashK),
      .TagWidth ($bits(tag_t))
  ) u_equihash (
      .clk_i,
      .rst_ni,
      .valid_i          (word_valid),
      .ready_o          (word_ready),
      .data_i           (word),
      .last_i           (word_last),
      .length_i         (length_q),
      .personalisation_i(personalisation_q),
      .solution_only_i  (only_q),
      .tag_i            (tag_q),
      .valid_o,
      .ready_i,
      .mask_o           (mask),
      .tag_o            (verdict_o.tag)
  );
  assign verdict_o.reserved = '0;
  // It has at most one bit.
  always_comb begin
    verdict_o.rule = '0;
    for (int unsigned bit_ = 0; bit_ < 64; bit_++) if (mask[bit_]) verdict_o.rule |= 6'(bit_);
  end
endmodule
