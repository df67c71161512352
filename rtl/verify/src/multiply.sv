// Product of two numbers: one every `Interval` cycles, with a latency of `multiply_latency(Width, Interval)`.
//
// Karatsuba down to factors of three limbs. At an interval of 1, each of the three half products of a level has its own
// multipliers. At 3, 9 or 27 they take turns on the same ones: a third, a ninth, a 27th of the multipliers.
//
//   Width 256: 108 multipliers of 17 bits, 36 at an interval of 3. Width 381: 243, 81.

`include "assertions.svh"
`include "registers.svh"

module multiply #(
    parameter int unsigned Width = 256,
    parameter int unsigned Interval = 1
) (
    input  logic               clk_i,
    input  logic               rst_ni,
    input  logic               valid_i,
    input  logic [  Width-1:0] a_i,
    input  logic [  Width-1:0] b_i,
    output logic               valid_o,
    output logic [2*Width-1:0] product_o
);
  import verify_pkg::*;

  localparam int unsigned Levels = multiply_levels(Width);
  localparam int unsigned Latency = multiply_latency(Width, Interval);

  `PARAMETER_CHECK(width, Width > 0, "multiply: Width must be at least 1")
  `PARAMETER_CHECK(interval, multiply_interval(Width, Interval),
                   "multiply: Interval must be 1, or a power of 3 with a level of Karatsuba for each 3")

  logic [Latency-1:0] began_q;
  `FF(began_q, Latency'({began_q, valid_i}), '0)
  assign valid_o = began_q[Latency-1];

  // Parts of each level: level 0 is the whole.
  for (genvar level = 0; level <= Levels; level++) begin : gen_level
    localparam int unsigned Part = part_width(Width, level);
    localparam int unsigned Count = part_count(Interval, level);
    logic valid;
    logic [Count-1:0][Part-1:0] a, b;
    logic [Count-1:0][2*Part-1:0] result;
  end
  assign gen_level[0].valid = valid_i;
  assign gen_level[0].a[0] = a_i;
  assign gen_level[0].b[0] = b_i;
  assign product_o = gen_level[0].result[0];
  logic unused_leaf_valid;
  assign unused_leaf_valid = gen_level[Levels].valid;

  for (genvar level = 0; level < Levels; level++) begin : gen_split
    localparam int unsigned Places = part_interval(Interval, level) == 1 ? 3 : 1;
    localparam int unsigned Count = part_count(Interval, level);
    logic [Count-1:0] part_valid;
    for (genvar part = 0; part < Count; part++) begin : gen_part
      multiply_level #(
          .Width(part_width(Width, level)),
          .Interval(part_interval(Interval, level)),
          .PartLatency(part_latency(Width, Interval, level + 1))
      ) u_level (
          .clk_i,
          .rst_ni,
          .valid_i       (gen_level[level].valid),
          .a_i           (gen_level[level].a[part]),
          .b_i           (gen_level[level].b[part]),
          .product_o     (gen_level[level].result[part]),
          .part_valid_o  (part_valid[part]),
          .part_a_o      (gen_level[level+1].a[Places*part+:Places]),
          .part_b_o      (gen_level[level+1].b[Places*part+:Places]),
          .part_product_i(gen_level[level+1].result[Places*part+:Places])
      );
    end
    // All parts of a level begin at the same time; leaves need no valid.
    assign gen_level[level+1].valid = part_valid[0];
    logic unused_valid;
    assign unused_valid = ^part_valid;
  end

  for (genvar part = 0; part < part_count(Interval, Levels); part++) begin : gen_leaf
    multiply_leaf #(
        .Width(part_width(Width, Levels))
    ) u_leaf (
        .clk_i,
        .a_i      (gen_level[Levels].a[part]),
        .b_i      (gen_level[Levels].b[part]),
        .product_o(gen_level[Levels].result[part])
    );
  end

endmodule
