// Inverse of a number modulo a coprime odd modulus; the inverse of zero is zero. One at a time: Kaliski's almost
// inverse, followed by the corresponding halvings. A step takes one cycle, or two with a subtraction; a halving takes
// one. On average 3.3 `Width` cycles, at most 5 `Width` + 6.
//
// A carry through all bits takes most of a cycle. So no sum makes a choice in the cycle that computes it, except for
// the next halving's addend, which depends on only one of the sum's lowest bits.

`include "assertions.svh"
`include "registers.svh"

module invert #(
    parameter int unsigned Width = 256
) (
    input  logic             clk_i,
    input  logic             rst_ni,
    input  logic             valid_i,
    output logic             ready_o,
    input  logic [Width-1:0] number_i,
    input  logic [Width-1:0] modulus_i,
    output logic             valid_o,
    input  logic             ready_i,
    output logic [Width-1:0] number_o
);
  `PARAMETER_CHECK(width, Width >= 2, "invert: Width must be at least 2")

  typedef enum logic [2:0] {
    Idle,
    Begin,     // test for zero
    Step,      // binary GCD, with its coefficients
    Subtract,
    Reduce,    // negate
    Select,    // reduce below the modulus
    Halve,
    Done
  } state_e;
  state_e state_q;

  localparam int unsigned CountWidth = $clog2(2 * Width + 1);
  logic [CountWidth-1:0] count_q;
  logic [Width-1:0] modulus_q, u_q, v_q;
  // Below twice the modulus.
  logic [Width:0] r_q, s_q;

  // For two odd numbers, computed in `Step`. The sign of the difference tells which is larger.
  logic [Width:0] negative_q, sum_q;
  logic [Width-1:0] difference_q;
  `FFN(negative_q, {1'b0, v_q} - {1'b0, u_q})
  `FFN(difference_q, u_q - v_q)
  `FFN(sum_q, r_q + s_q)

  // Once and twice the modulus minus the coefficient, computed in `Reduce`.
  logic [Width:0] once_q, twice_q;
  `FFN(once_q, {1'b0, modulus_q} - r_q)
  `FFN(twice_q, {modulus_q, 1'b0} - r_q)

  // Addend of the next halving: the modulus if the number is odd.
  logic [Width-1:0] addend_q;
  logic [Width:0] even, selected;
  assign selected = once_q[Width] ? twice_q : once_q;
  assign even = r_q + {1'b0, addend_q};

  assign ready_o = state_q == Idle;
  assign valid_o = state_q == Done;
  assign number_o = r_q[Width-1:0];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= Idle;
    end else begin
      unique case (state_q)
        Idle: if (valid_i) state_q <= Begin;
        Begin: state_q <= v_q == '0 ? Done : Step;
        Step: if (u_q[0] && v_q[0]) state_q <= Subtract;
        Subtract: state_q <= negative_q == '0 ? Reduce : Step;
        Reduce: state_q <= Select;
        Select: state_q <= Halve;
        Halve: if (count_q == '0) state_q <= Done;
        default: if (ready_i) state_q <= Idle;
      endcase
    end
  end

  always_ff @(posedge clk_i) begin
    unique case (state_q)
      Idle: begin
        modulus_q <= modulus_i;
        u_q <= modulus_i;
        v_q <= number_i;
        r_q <= '0;
        s_q <= (Width + 1)'(1);
        count_q <= '0;
      end
      Step:
      if (!u_q[0]) begin
        u_q <= u_q >> 1;
        s_q <= s_q << 1;
        count_q <= count_q + 1'b1;
      end else if (!v_q[0]) begin
        v_q <= v_q >> 1;
        r_q <= r_q << 1;
        count_q <= count_q + 1'b1;
      end
      Subtract: begin
        count_q <= count_q + 1'b1;
        if (negative_q[Width]) begin
          u_q <= difference_q >> 1;
          r_q <= sum_q;
          s_q <= s_q << 1;
        end else begin
          v_q <= negative_q[Width-1:0] >> 1;
          s_q <= sum_q;
          r_q <= r_q << 1;
        end
      end
      Select: begin
        r_q <= selected;
        addend_q <= selected[0] ? modulus_q : '0;
      end
      Halve:
      if (count_q != '0) begin
        r_q <= even >> 1;
        addend_q <= even[1] ? modulus_q : '0;
        count_q <= count_q - 1'b1;
      end
      default: ;
    endcase
  end

endmodule
