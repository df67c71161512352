// Leaves of indices: n bits of the hash of the header and an index-derived number. `Lanes` per cycle, in order, with a
// fixed latency.

`include "assertions.svh"
`include "registers.svh"

module equihash_leaves
  import blake2b_pkg::*;
  import equihash_pkg::*;
#(
    parameter int unsigned EquihashN = 200,
    parameter int unsigned EquihashK = 9,
    parameter int unsigned Lanes = 1,
    // See blake2b_pipeline.
    parameter int unsigned StepsPerStage = 1,
    // Bytes in the index's block before the index, and total bytes hashed with that block.
    parameter int unsigned Before = 12,
    parameter int unsigned Hashed = 144,
    localparam int unsigned IndexWidth = index_width(EquihashN, EquihashK)
) (
    input  logic                               clk_i,
    input  logic                               rst_ni,
    input  logic                               valid_i,
    input  logic [   Lanes-1:0][IndexWidth-1:0] index_i,
    input  logic                               last_i,   // of the solution
    // Header: the state before the block, and the block's bytes before the index. leaving_state_i is the state for the
    // solution whose leaves are leaving; `last_o` marks its last leaf.
    input  state_t                             state_i,
    input  logic [8*Before-1:0]                before_i,
    input  state_t                             leaving_state_i,
    output logic                               valid_o,
    output logic [   Lanes-1:0][         EquihashN-1:0] leaf_o,  // its first bit is the highest
    output logic [   Lanes-1:0][IndexWidth-1:0] index_o,
    output logic                               last_o
);
  localparam int unsigned PerHash = leaves_per_hash(EquihashN);
  localparam int unsigned RestWidth = PerHash > 1 ? $clog2(PerHash) : 1;
  localparam int unsigned DivideLatency = PerHash == 1 << $clog2(PerHash) ? 0 : (IndexWidth + 3) / 4;
  localparam int unsigned HashLatency = Steps / StepsPerStage;
  localparam int unsigned Latency = DivideLatency + HashLatency;
  localparam int unsigned Words = (Before + 4 + 7) / 8;
  localparam int unsigned LeafBytes = EquihashN / 8;

  logic [Latency-1:0] valid_q;
  `FF(valid_q, Latency'({valid_q, valid_i}), '0)
  assign valid_o = valid_q[Latency-1];

  // While the last indices are divided, the header may already be the next one.
  state_t state;
  logic [8*Before-1:0] front;
  delay #(
      .Width($bits(state_t) + 8 * Before),
      .Depth(DivideLatency)
  ) u_header (
      .clk_i,
      .data_i({before_i, state_i}),
      .data_o({front, state})
  );
  delay #(
      .Width(Lanes * IndexWidth + 1),
      .Depth(Latency)
  ) u_index (
      .clk_i,
      .data_i({last_i, index_i}),
      .data_o({last_o, index_o})
  );

  for (genvar lane = 0; lane < Lanes; lane++) begin : gen_lane
    logic [IndexWidth-1:0] number;
    logic [RestWidth-1:0] rest, leaf;
    divide_constant #(
        .Width  (IndexWidth),
        .Divisor(PerHash)
    ) u_divide (
        .clk_i,
        .value_i   (index_i[lane]),
        .quotient_o(number),
        .rest_o    (rest)
    );
    delay #(
        .Width(RestWidth),
        .Depth(HashLatency)
    ) u_rest (
        .clk_i,
        .data_i(rest),
        .data_o(leaf)
    );

    vector_t mixed;
    blake2b_pipeline #(
        .Words(Words),
        .StepsPerStage(StepsPerStage)
    ) u_hash (
        .clk_i,
        .vector_i(begin_block(state, 64'(Hashed), 1'b1)),
        .words_i ((64 * Words)'({32'(number), front})),
        .vector_o(mixed)
    );
    logic [511:0] digest;
    assign digest = end_block(leaving_state_i, mixed);
    always_comb begin
      leaf_o[lane] = '0;
      for (int unsigned each = 0; each < PerHash; each++) begin
        for (int unsigned byte_ = 0; byte_ < LeafBytes; byte_++) begin
          if (leaf == RestWidth'(each)) begin
            leaf_o[lane][8*(LeafBytes-1-byte_)+:8] |= digest[8*(each*LeafBytes+byte_)+:8];
          end
        end
      end
    end
  end
endmodule
