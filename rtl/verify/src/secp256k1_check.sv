// Checks a signature and key before any arithmetic: ranges of numbers, encoding. One at a time, three cycles each.
//
// A well-formed signature goes on as work; otherwise the first broken rule, in the protocol's order, is reported.

`include "registers.svh"

module secp256k1_check
  import secp256k1_pkg::*;
#(
    parameter int unsigned TagWidth = 8
) (
    input  logic                      clk_i,
    input  logic                      rst_ni,
    input  logic                      valid_i,
    output logic                      ready_o,
    input  logic       [TagWidth-1:0] tag_i,
    input  signature_t                signature_i,
    output logic                      work_valid_o,
    input  logic                      work_ready_i,
    output work_t                     work_o,
    output logic                      rule_valid_o,
    input  logic                      rule_ready_i,
    output logic       [         5:0] rule_o,
    // Of both.
    output logic       [TagWidth-1:0] tag_o
);

  typedef enum logic [1:0] {
    Idle,
    Compare,
    Decide,
    Told
  } state_e;
  state_e state_q;

  signature_t signature_q;
  `FFNE(signature_q, signature_i, valid_i && ready_o)
  `FFNE(tag_o, tag_i, valid_i && ready_o)

  // Compare.
  logic r_zero_q, s_zero_q, r_order_q, s_order_q, r_prime_q, s_half_q, x_prime_q, y_prime_q, wraps_q;
  always_ff @(posedge clk_i) begin
    r_zero_q  <= signature_q.r == '0;
    s_zero_q  <= signature_q.s == '0;
    r_order_q <= signature_q.r < Order;
    s_order_q <= signature_q.s < Order;
    r_prime_q <= signature_q.r < Prime;
    s_half_q  <= signature_q.s <= HalfOrder;
    x_prime_q <= signature_q.x < Prime;
    y_prime_q <= signature_q.y < Prime;
    wraps_q   <= signature_q.r < Prime - Order;
  end

  // Decide.
  logic compressed, hybrid;
  assign compressed = signature_q.key_form inside {8'd2, 8'd3};
  assign hybrid = signature_q.key_form inside {8'd6, 8'd7};
  logic [5:0] rule, rule_q;
  always_comb begin
    rule = protocol_pkg::RuleNone;
    if (signature_q.schnorr) begin
      if (!r_prime_q || !s_order_q) rule = protocol_pkg::RuleSignatureRange;
      else if (!x_prime_q) rule = protocol_pkg::RuleKeyRange;
    end else begin
      if (r_zero_q || s_zero_q || !r_order_q || !s_order_q) rule = protocol_pkg::RuleSignatureRange;
      else if (signature_q.low_s && !s_half_q) rule = protocol_pkg::RuleSignatureHighS;
      else if (signature_q.key_long ? !(hybrid || signature_q.key_form == 8'd4) : !compressed)
        rule = protocol_pkg::RuleKeyEncoding;
      else if (!x_prime_q || (signature_q.key_long && !y_prime_q)) rule = protocol_pkg::RuleKeyRange;
      else if (hybrid && signature_q.y[0] != signature_q.key_form[0]) rule = protocol_pkg::RuleKeyParity;
    end
  end
  `FFNE(rule_q, rule, state_q == Decide)

  assign ready_o = state_q == Idle;
  assign work_valid_o = state_q == Told && rule_q == protocol_pkg::RuleNone;
  assign rule_valid_o = state_q == Told && rule_q != protocol_pkg::RuleNone;
  assign rule_o = rule_q;

  always_comb begin
    work_o.schnorr = signature_q.schnorr;
    work_o.has_y = !signature_q.schnorr && signature_q.key_long;
    work_o.odd = !signature_q.schnorr && signature_q.key_form[0];
    work_o.wraps = wraps_q;
    work_o.r = signature_q.r;
    work_o.s = signature_q.s;
    work_o.e = signature_q.e;
    work_o.x = signature_q.x;
    work_o.y = signature_q.y;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= Idle;
    end else begin
      unique case (state_q)
        Idle: if (valid_i) state_q <= Compare;
        Compare: state_q <= Decide;
        Decide: state_q <= Told;
        default: if ((work_valid_o && work_ready_i) || (rule_valid_o && rule_ready_i)) state_q <= Idle;
      endcase
    end
  end

endmodule
