// Checks and decodes a coprocessor instruction with well-formed operands: whether it accepts their types and divides by
// zero, where its result goes and of which type, and the engine's program for it. Combinational.

module bls12_381_judge
  import bls12_381_codes_pkg::*;
  import bls12_381_coprocessor_pkg::*;
  import bls12_381_program_pkg::*;
(
    input  opcode_e            opcode_i,
    input  logic  [2:0][15:0]  field_i,
    input  kind_e [1:0]        kind_i,
    // All numbers of an operand are zero.
    input  logic  [1:0]        zero_i,
    output logic               type_o,
    output logic               division_o,
    // Instructions that only jump or send write nothing.
    output logic               writes_o,
    output logic  [15:0]       result_o,
    output kind_e              result_kind_o,
    output logic               engine_o,
    output logic  [12:0]       entry_o
);

  logic elements, points, second, jacobian;
  // Elements of one type; points of one group.
  assign elements = kind_i[0] == kind_i[1] && !kind_i[0][2];
  assign points = kind_i[0][2] && kind_i[1][2] && kind_i[0][1] == kind_i[1][1];
  assign second = kind_i[1][1];
  assign jacobian = kind_i[0][2] && kind_i[0][0];

  function automatic logic [12:0] of_element(input kind_e kind, input logic [12:0] fp, input logic [12:0] fp2,
                                             input logic [12:0] fp12);
    return kind == KindFp ? fp : kind == KindFp2 ? fp2 : fp12;
  endfunction

  always_comb begin
    type_o = 1'b0;
    division_o = 1'b0;
    writes_o = 1'b1;
    result_o = field_i[2];
    result_kind_o = kind_i[0];
    engine_o = 1'b0;
    entry_o = AtIdle;
    unique case (opcode_i)
      CopyReg: result_o = field_i[1];
      JumpNonzeroSub: begin
        type_o = kind_i[0] != KindScalar;
        writes_o = !zero_i[0];
        result_o = field_i[1];
      end
      MulElement: begin
        type_o = !elements;
        engine_o = kind_i[0] != KindScalar;
        entry_o = of_element(kind_i[0], AtMulFp, AtMulFp2, AtMulFp12);
      end
      AddElement, SubElement: begin
        type_o = !elements && !points;
        engine_o = kind_i[0] != KindScalar;
        if (points) result_kind_o = second ? KindG2Jacobian : KindG1Jacobian;
        if (opcode_i == AddElement) begin
          entry_o = points ? (second ? AtAddG2 : AtAddG1) : of_element(kind_i[0], AtAddFp, AtAddFp2, AtAddFp12);
        end else begin
          entry_o = points ? (second ? AtSubG2 : AtSubG1) : of_element(kind_i[0], AtSubFp, AtSubFp2, AtSubFp12);
        end
      end
      InvElement: begin
        type_o = kind_i[0][2] && !jacobian;
        division_o = !kind_i[0][2] && zero_i[0];
        result_o = field_i[1];
        engine_o = kind_i[0] != KindScalar;
        if (jacobian) result_kind_o = kind_i[0][1] ? KindG2Affine : KindG1Affine;
        entry_o = jacobian ? (kind_i[0][1] ? AtAffineG2 : AtAffineG1) :
            of_element(kind_i[0], AtInvFp, AtInvFp2, AtInvFp12);
      end
      PointMult: begin
        type_o = kind_i[0] != KindScalar || !kind_i[1][2];
        result_kind_o = second ? KindG2Jacobian : KindG1Jacobian;
        engine_o = 1'b1;
        entry_o = second ? AtMultiplyG2 : AtMultiplyG1;
      end
      MillerLoop, AtePairing: begin
        type_o = kind_i[0] != KindG1Affine || kind_i[1] != KindG2Affine;
        result_kind_o = KindFp12;
        engine_o = 1'b1;
        entry_o = AtMiller;
      end
      FinalExp: begin
        type_o = kind_i[0] != KindFp12;
        division_o = zero_i[0];
        result_o = field_i[1];
        engine_o = 1'b1;
        entry_o = AtFinal;
      end
      default: writes_o = 1'b0;
    endcase
  end

endmodule
