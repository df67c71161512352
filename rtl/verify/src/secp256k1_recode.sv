// Signed digits (wNAF) of the four scalars of a signature, lowest first: one position per cycle, each with the digits
// of all four.
//
// Input is three numbers: u1, whose halves are the multiples of G and of 2^128 G; then both multiples of the key, of at
// most 130 bits and a sign in two's complement. A digit is odd and below 2^(w - 1); the w - 1 positions above it have
// none.

`include "registers.svh"

module secp256k1_recode
  import secp256k1_rom_pkg::*;
#(
    localparam int unsigned IndexG = WindowG - 2,
    localparam int unsigned IndexQ = WindowQ - 2,
    localparam int unsigned DigitsWidth = 4 + 4 + 2 * IndexG + 2 * IndexQ
) (
    input  logic                   clk_i,
    input  logic                   rst_ni,
    // One after the other; the third starts the recoding.
    input  logic [            2:0] load_i,
    input  logic [          255:0] number_i,
    output logic                   write_o,
    output logic [            7:0] position_o,
    // For each scalar: whether there is a digit, its sign, and half of its value; those of G first.
    output logic [DigitsWidth-1:0] digits_o,
    // Set with the last position. top_o: the highest position with a digit, 0 if none.
    output logic                   done_o,
    output logic [            7:0] top_o
);

  // Positions: 130 bits, a carry, and one more, so that the last one is always zero.
  localparam int unsigned Positions = 132;

  logic [3:0][Positions-1:0] scalar_q;
  logic [3:0] negative_q, carry_q;
  logic [3:0][3:0] wait_q;
  logic busy_q;
  logic [7:0] position_q;

  logic [Positions-1:0] absolute;
  assign absolute = number_i[255] ? -number_i[Positions-1:0] : number_i[Positions-1:0];

  logic [3:0] found, sign;
  logic [3:0][WindowG-3:0] index;
  for (genvar each = 0; each < 4; each++) begin : gen_scalar
    localparam int unsigned Window = each < 2 ? WindowG : WindowQ;
    logic [Window-1:0] word;
    assign word = scalar_q[each][Window-1:0] | Window'(carry_q[each]);
    assign found[each] = wait_q[each] == '0 && scalar_q[each][0] != carry_q[each];
    assign sign[each] = word[Window-1] ^ negative_q[each];
    assign index[each] = (WindowG - 2)'(word[Window-2:1] ^ {(Window - 2) {word[Window-1]}});
    always_ff @(posedge clk_i) begin
      if (!busy_q) begin
        carry_q[each] <= 1'b0;
        wait_q[each]  <= '0;
      end else if (found[each]) begin
        carry_q[each] <= word[Window-1];
        wait_q[each]  <= 4'(Window - 1);
      end else if (wait_q[each] != '0) begin
        wait_q[each] <= wait_q[each] - 1'b1;
      end
    end
    logic unused_bit;
    assign unused_bit = word[0];
  end

  always_ff @(posedge clk_i) begin
    if (busy_q) for (int unsigned each = 0; each < 4; each++) scalar_q[each] <= scalar_q[each] >> 1;
    if (load_i[0]) begin
      {scalar_q[1], scalar_q[0]} <= {Positions'(number_i[255:128]), Positions'(number_i[127:0])};
      negative_q[1:0] <= '0;
    end
    if (load_i[1]) begin
      scalar_q[2]   <= absolute;
      negative_q[2] <= number_i[255];
    end
    if (load_i[2]) begin
      scalar_q[3]   <= absolute;
      negative_q[3] <= number_i[255];
    end
    position_q <= busy_q ? position_q + 1'b1 : '0;
    if (load_i[2]) top_o <= '0;
    else if (write_o && |found) top_o <= position_q;
  end

  logic last;
  assign last = 32'(position_q) == Positions - 1;
  `FF(busy_q, load_i[2] || (busy_q && !last), 1'b0)
  `FF(done_o, busy_q && last, 1'b0)

  assign write_o = busy_q;
  assign position_o = position_q;
  assign digits_o = {found, sign, index[3][IndexQ-1:0], index[2][IndexQ-1:0], index[1], index[0]};

endmodule
