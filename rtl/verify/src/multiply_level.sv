// One level of Karatsuba: sends out the factors of three half products, and combines their products. Adds three cycles
// of latency.
//
// At an interval of 1 the three leave together, each to its own multiplier. Otherwise they leave one after the other to
// the same one: low halves, high halves, sums of halves.

`include "assertions.svh"
`include "registers.svh"

module multiply_level #(
    parameter int unsigned Width = 66,
    parameter int unsigned Interval = 1,
    parameter int unsigned PartLatency = 2,
    localparam int unsigned Part = verify_pkg::half_width(Width),
    localparam int unsigned Places = Interval == 1 ? 3 : 1
) (
    input  logic                           clk_i,
    input  logic                           rst_ni,
    input  logic                           valid_i,
    input  logic [  Width-1:0]             a_i,
    input  logic [  Width-1:0]             b_i,
    output logic [2*Width-1:0]             product_o,
    output logic                           part_valid_o,
    output logic [ Places-1:0][  Part-1:0] part_a_o,
    output logic [ Places-1:0][  Part-1:0] part_b_o,
    input  logic [ Places-1:0][2*Part-1:0] part_product_i
);
  `PARAMETER_CHECK(width, Width >= 3, "multiply_level: Width must be at least 3")
  `PARAMETER_CHECK(interval, Interval == 1 || Interval % 3 == 0,
                   "multiply_level: Interval must be 1 or a multiple of 3")

  localparam int unsigned Half = (Width + 1) / 2;

  // Low halves, high halves, their sums.
  logic [2:0][Part-1:0] a, b, a_q, b_q;
  assign a[0] = Part'(a_i[Half-1:0]);
  assign a[1] = Part'(a_i[Width-1:Half]);
  assign a[2] = a[0] + a[1];
  assign b[0] = Part'(b_i[Half-1:0]);
  assign b[1] = Part'(b_i[Width-1:Half]);
  assign b[2] = b[0] + b[1];
  `FFNE(a_q, a, valid_i)
  `FFNE(b_q, b, valid_i)

  // Valid in the cycle of the middle product.
  logic [2:0][2*Part-1:0] product;

  if (Interval == 1) begin : gen_each
    `FF(part_valid_o, valid_i, 1'b0)
    assign part_a_o = a_q;
    assign part_b_o = b_q;
    assign product = part_product_i;
  end else begin : gen_turns
    localparam int unsigned Turn = Interval / 3;
    localparam int unsigned Last = 2 * Turn + PartLatency;
    // Bit k: factors arrived k + 1 cycles ago.
    logic [Last-1:0] began_q;
    `FF(began_q, Last'({began_q, valid_i}), '0)
    assign part_valid_o = began_q[0] || began_q[Turn] || began_q[2*Turn];
    assign part_a_o[0] = began_q[0] ? a_q[0] : began_q[Turn] ? a_q[1] : a_q[2];
    assign part_b_o[0] = began_q[0] ? b_q[0] : began_q[Turn] ? b_q[1] : b_q[2];
    for (genvar part = 0; part < 2; part++) begin : gen_end
      `FFNE(product[part], part_product_i[0], began_q[part*Turn+PartLatency])
    end
    assign product[2] = part_product_i[0];
    // Factors are held until the last turn has begun.
    `ASSUME(interval_is_kept, !(valid_i && |began_q[Interval-2:0]))
  end

  logic [ 2*Part-1:0] middle_q;
  logic [2*Width-1:0] outer_q;
  `FFN(middle_q, product[2] - product[1] - product[0])
  `FFN(outer_q, {product[1][2*(Width-Half)-1:0], product[0][2*Half-1:0]})
  `FFN(product_o, outer_q + ((2 * Width)'(middle_q) << Half))

endmodule
