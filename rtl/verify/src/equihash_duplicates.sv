// Finds the first subtree with the same index in both halves: sorts the indices along the tree, with one merge per
// level.

module equihash_duplicates
  import equihash_pkg::*;
#(
    parameter int unsigned Levels = 9,
    parameter int unsigned IndexWidth = 21
) (
    input  logic                     clk_i,
    input  logic                     rst_ni,
    input  logic                     valid_i,
    input  logic    [IndexWidth-1:0] index_i,
    output logic                     valid_o,
    output broken_t                  broken_o
);
  logic [Levels:0] valid, last;
  logic [Levels:0][IndexWidth-1:0] index;
  broken_t [Levels:0] broken;
  assign valid[0]  = valid_i;
  assign index[0]  = index_i;
  assign broken[0] = '0;
  assign last[0]   = 1'b1;
  for (genvar height = 1; height <= Levels; height++) begin : gen_level
    equihash_merge #(
        .IndexWidth(IndexWidth),
        .Height    (height),
        .Levels    (Levels)
    ) u_merge (
        .clk_i,
        .rst_ni,
        .valid_i (valid[height-1]),
        .index_i (index[height-1]),
        .broken_i(broken[height-1]),
        .valid_o (valid[height]),
        .index_o (index[height]),
        .broken_o(broken[height]),
        .last_o  (last[height])
    );
  end
  assign valid_o  = valid[Levels] && last[Levels];
  assign broken_o = broken[Levels];
  // The sorted indices of the whole tree are unused.
  logic unused_bits;
  assign unused_bits = ^{index[Levels], last};
endmodule
