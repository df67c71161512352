// Converts the operands of a coprocessor instruction for the engine: numbers as they are read, then for points the
// third Jacobian coordinate and infinity. Also keeps a copy of the operands, for instructions that copy, compare or
// send them.

module bls12_381_convert
  import bls12_381_codes_pkg::*;
  import bls12_381_coprocessor_pkg::*;
(
    input  logic           clk_i,
    // take_i: a number of this operand, with this index, arrives. convert_i: converts one number, of both operands in
    // turn.
    input  logic           take_i,
    input  logic           convert_i,
    input  logic           which_i,
    input  logic     [3:0] index_i,
    input  number_t        number_i,
    // Types of the operands, and whether all their numbers are zero.
    input  kind_e    [1:0] kind_i,
    input  logic     [1:0] zero_i,
    output logic           write_o,
    output logic     [4:0] place_o,
    output number_t        operand_o,
    // The first operand's number with this index, a cycle later.
    output number_t        kept_o
);

  number_t buffer_q[32];
  always_ff @(posedge clk_i) begin
    if (write_o) buffer_q[place_o] <= operand_o;
    kept_o <= buffer_q[{1'b0, index_i}];
  end

  logic second_operand, second_group, third, high;
  logic [2:0] index;
  assign second_operand = index_i >= 4'd6;
  assign index = 3'(index_i - (second_operand ? 4'd6 : 4'd0));
  assign second_group = kind_i[second_operand] == KindG2Affine;
  assign third = second_group ? index >= 3'd4 : index == 3'd2;
  assign high = second_group && index[0];
  always_comb begin
    write_o   = take_i;
    place_o   = (which_i ? bls12_381_program_pkg::OperandB : '0) + 5'(index_i);
    operand_o = number_i;
    if (convert_i) begin
      place_o = (second_operand ? bls12_381_program_pkg::OperandB : '0) + 5'(index);
      operand_o = number_t'(!high && third != zero_i[second_operand]);
      write_o = (second_group || (kind_i[second_operand] == KindG1Affine && index < 3'd3))
          && (third || zero_i[second_operand]);
    end
  end

endmodule
