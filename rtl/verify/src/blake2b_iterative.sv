// BLAKE2b compression in 96 cycles plus one: each cycle performs one step on all four columns or diagonals.

`include "registers.svh"

module blake2b_iterative
  import blake2b_pkg::*;
(
    input  logic   clk_i,
    input  logic   rst_ni,
    // Constant from valid_i to done_o.
    input  logic   valid_i,
    input  state_t state_i,
    input  block_t block_i,
    input  word_t  bytes_i,
    input  logic   last_i,
    // In the last cycle.
    output logic   done_o,
    output state_t state_o
);
  logic [6:0] step_q;
  logic begins;
  assign begins = step_q == '0;
  assign done_o = valid_i && step_q == 7'(Steps);
  `FF(step_q, valid_i && !done_o ? step_q + 1'b1 : '0, '0)

  // Rows of the vector. They are rotated before the diagonal steps and rotated back afterwards, so every step works on
  // columns.
  word_t [3:0][3:0] rows_q, rows, entered;
  logic [2:0] step;
  logic [3:0] round;
  assign {round, step} = step_q;
  assign entered = begins ? begin_block(state_i, bytes_i, last_i) : rows_q;
  always_comb begin
    rows = entered;
    for (int unsigned column = 0; column < 4; column++) begin
      if (!step[0]) begin
        rows[0][column] = entered[0][column] + entered[1][column] +
            block_i[word_of(32'(round), 8 * 32'(step[2]) + 2 * column + 32'(step[1]))];
        rows[3][column] = step[1] ? rotate(entered[3][column] ^ rows[0][column], 2) :
            rotate(entered[3][column] ^ rows[0][column], 0);
      end else begin
        rows[2][column] = entered[2][column] + entered[3][column];
        rows[1][column] = step[1] ? rotate(entered[1][column] ^ rows[2][column], 3) :
            rotate(entered[1][column] ^ rows[2][column], 1);
      end
    end
  end
  // Word 0 of a row is the lowest.
  always_ff @(posedge clk_i) begin
    rows_q <= rows;
    if (step == 3'd3) begin
      rows_q[1] <= {rows[1][0], rows[1][3:1]};
      rows_q[2] <= {rows[2][1:0], rows[2][3:2]};
      rows_q[3] <= {rows[3][2:0], rows[3][3]};
    end else if (step == 3'd7) begin
      rows_q[1] <= {rows[1][2:0], rows[1][3]};
      rows_q[2] <= {rows[2][1:0], rows[2][3:2]};
      rows_q[3] <= {rows[3][0], rows[3][3:1]};
    end
  end
  assign state_o = end_block(state_i, rows_q);
endmodule
