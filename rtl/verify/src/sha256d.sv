// Double hashes of 64-byte messages (nodes of Merkle trees) and, with `Headers`, of 80-byte ones (Bitcoin headers).
//
// With `Pipelined`, three compressions in sequence take a message per cycle without stalls; digests come 3 * (64 /
// RoundsPerStage + 1) cycles later. Otherwise one compression unit processes one message at a time, whose digest comes
// before the next message is accepted.
//
// Byte 0 of a message is message_i[7:0]; the same holds for a digest.

`include "assertions.svh"
`include "registers.svh"

module sha256d
  import sha256_pkg::*;
#(
    parameter bit Pipelined = 1'b1,
    parameter bit Headers = 1'b1,
    // Rounds per stage of the pipeline, or per cycle.
    parameter int unsigned RoundsPerStage = 1,
    // Tag that accompanies a message to its digest.
    parameter int unsigned TagWidth = 1,
    localparam int unsigned MessageWidth = Headers ? 640 : 512
) (
    input  logic                    clk_i,
    input  logic                    rst_ni,
    input  logic                    valid_i,
    output logic                    ready_o,
    input  logic                    header_i,  // the message has 80 bytes
    input  logic [MessageWidth-1:0] message_i,
    input  logic [    TagWidth-1:0] tag_i,
    output logic                    valid_o,
    output logic [           255:0] digest_o,
    output logic [    TagWidth-1:0] tag_o
);
  `PARAMETER_CHECK(tag, TagWidth > 0, "sha256d: TagWidth must be at least 1")
  localparam int unsigned Stages = Rounds / RoundsPerStage;

  // The two blocks of the message: its first 64 bytes, and the rest with padding.
  logic [MessageWidth-1:0] swapped;
  block_t first, second;
  for (genvar byte_ = 0; byte_ < MessageWidth / 8; byte_++) begin : gen_byte
    assign swapped[MessageWidth-8*(byte_+1)+:8] = message_i[8*byte_+:8];
  end
  assign first = swapped[MessageWidth-1-:512];
  localparam block_t Padding = {32'h80000000, 448'd0, 32'd512};
  if (Headers) begin : gen_header
    assign second = header_i ? {swapped[127:0], 32'h80000000, 320'd0, 32'd640} : Padding;
  end else begin : gen_node
    assign second = Padding;
    logic unused_header;
    assign unused_header = header_i;
  end

  state_t digest;
  if (Pipelined) begin : gen_pipeline
    assign ready_o = 1'b1;
    logic [3*(Stages+1)-1:0] valid_q;
    `FF(valid_q, {valid_q[3*(Stages+1)-2:0], valid_i}, '0)
    assign valid_o = valid_q[3*(Stages+1)-1];

    delay #(
        .Width(TagWidth),
        .Depth(3 * (Stages + 1))
    ) u_tag (
        .clk_i,
        .data_i(tag_i),
        .data_o(tag_o)
    );

    block_t rest;
    if (Headers) begin : gen_rest
      delay #(
          .Width($bits(block_t)),
          .Depth(Stages + 1)
      ) u_rest (
          .clk_i,
          .data_i(second),
          .data_o(rest)
      );
    end else begin : gen_padding
      assign rest = second;
    end

    state_t half, whole;
    sha256_pipeline #(
        .RoundsPerStage(RoundsPerStage)
    ) u_first (
        .clk_i,
        .state_i(Initial),
        .block_i(first),
        .state_o(half)
    );
    sha256_pipeline #(
        .RoundsPerStage(RoundsPerStage)
    ) u_second (
        .clk_i,
        .state_i(half),
        .block_i(rest),
        .state_o(whole)
    );
    sha256_pipeline #(
        .RoundsPerStage(RoundsPerStage)
    ) u_again (
        .clk_i,
        .state_i(Initial),
        .block_i(digest_block(whole)),
        .state_o(digest)
    );
  end else begin : gen_iterative
    // Number of blocks given to the compression unit so far; the first is given on arrival.
    logic busy_q, accept, block_valid, block_ready;
    logic [1:0] given_q;
    block_t second_q, block;
    state_t state;
    assign ready_o = !busy_q;
    assign accept  = valid_i && ready_o;
    assign valid_o = busy_q && block_ready && given_q == 2'd3;
    `FF(busy_q, accept || (busy_q && !valid_o), 1'b0)
    `FFE(given_q, accept ? 2'd1 : given_q + 2'd1, accept || block_ready, '0)
    `FFNE(second_q, second, accept)
    `FFNE(tag_o, tag_i, accept)

    assign block_valid = accept || (busy_q && !valid_o);
    assign block = accept ? first : given_q == 2'd1 ? second_q : digest_block(state);
    sha256_iterative #(
        .RoundsPerCycle(RoundsPerStage)
    ) u_compression (
        .clk_i,
        .rst_ni,
        .valid_i(block_valid),
        .ready_o(block_ready),
        .first_i(accept || given_q == 2'd2),
        .block_i(block),
        .state_o(state)
    );
    assign digest = state;
    `ASSERT(first_is_taken, !accept || block_ready)
  end

  for (genvar byte_ = 0; byte_ < 32; byte_++) begin : gen_digest
    assign digest_o[8*byte_+:8] = digest[(31-byte_)/4][8*((31-byte_)%4)+:8];
  end
endmodule
