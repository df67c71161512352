// The inverse of a number modulo an odd modulus that it has no factor with; of zero, zero. One at a time: Kaliski's almost inverse, a step a
// cycle, then as many halvings. On average 2.8 `Width` cycles, at most 4 `Width` + 4.

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
  `PARAMETER_CHECK(width, Width >= 2, "invert: Width has to be at least 2")

  typedef enum logic [2:0] {
    Idle,
    Step,    // the greatest common divisor, and what it is a multiple of
    Reduce,  // below the modulus
    Negate,
    Halve,
    Done
  } state_e;
  state_e state_q;

  localparam int unsigned CountWidth = $clog2(2 * Width + 1);
  logic [CountWidth-1:0] count_q;
  logic [Width-1:0] modulus_q, u_q, v_q;
  // Below twice the modulus.
  logic [Width:0] r_q, s_q;

  // Which of them is larger is told by a sign: whether a difference is zero would be known later.
  logic [Width:0] negative, less, even;
  logic [Width-1:0] difference;
  assign difference = u_q - v_q;
  assign negative = {1'b0, v_q} - {1'b0, u_q};
  assign less = r_q - {1'b0, modulus_q};
  assign even = r_q + (r_q[0] ? {1'b0, modulus_q} : '0);

  assign ready_o = state_q == Idle;
  assign valid_o = state_q == Done;
  assign number_o = r_q[Width-1:0];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= Idle;
    end else begin
      unique case (state_q)
        Idle: if (valid_i) state_q <= Step;
        Step: if (v_q == '0) state_q <= Reduce;
        Reduce: state_q <= Negate;
        Negate: state_q <= Halve;
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
      if (v_q != '0) begin
        count_q <= count_q + 1'b1;
        if (!u_q[0]) begin
          u_q <= u_q >> 1;
          s_q <= s_q << 1;
        end else if (!v_q[0]) begin
          v_q <= v_q >> 1;
          r_q <= r_q << 1;
        end else if (negative[Width]) begin
          u_q <= difference >> 1;
          r_q <= r_q + s_q;
          s_q <= s_q << 1;
        end else begin
          v_q <= negative[Width-1:0] >> 1;
          s_q <= s_q + r_q;
          r_q <= r_q << 1;
        end
      end
      Reduce:  if (!less[Width]) r_q <= less;
      // Of zero it stays zero.
      Negate:  if (r_q != '0) r_q <= {1'b0, modulus_q} - r_q;
      Halve:
      if (count_q != '0) begin
        r_q <= even >> 1;
        count_q <= count_q - 1'b1;
      end
      default: ;
    endcase
  end

endmodule
