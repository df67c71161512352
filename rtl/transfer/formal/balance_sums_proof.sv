// Proof of balance_sums: a TRANSFER neither creates nor destroys money, an ISSUE creates exactly its amount, and
// underflow and overflow are reported.

`include "assertions.svh"

module balance_sums_proof
  import transfer_pkg::*;
(
    input logic     clk_i,
    input logic     rst_ni,
    input command_e command_i,
    input amount_t  amount_i,
    input balance_t source_i,
    input balance_t destination_i
);
  `PROOF_RESET

  logic is_transfer, underflow_o, overflow_o;
  balance_t addend_i, source_o, destination_o;
  assign is_transfer = command_i == Transfer;
  assign addend_i = {64{is_transfer}} ^ 64'(amount_i);

  balance_sums u_sums (.*);

  logic [64:0] sum, sum_after, received, issued;
  assign sum = {1'b0, source_i} + {1'b0, destination_i};
  assign sum_after = {1'b0, source_o} + {1'b0, destination_o};
  assign received = {1'b0, destination_i} + 65'(amount_i);
  assign issued = {1'b0, source_i} + 65'(amount_i);

  `COVER(more_than_there_is, is_transfer && underflow_o)
  `COVER(more_than_a_balance_holds, is_transfer && !underflow_o && overflow_o)
  `COVER(more_is_issued_than_a_balance_holds, command_i == Issue && overflow_o)
  `ASSERT(no_more_goes_than_there_is, underflow_o == (is_transfer && source_i < 64'(amount_i)))
  `ASSERT(no_balance_wraps,
          overflow_o == (is_transfer && received[64] || command_i == Issue && issued[64]))
  `ASSERT(a_transfer_keeps_the_sum, !is_transfer || underflow_o || overflow_o || sum == sum_after)
  `ASSERT(the_source_gives_the_amount, !is_transfer || underflow_o || source_o == source_i - 64'(amount_i))
  `ASSERT(an_issue_adds_its_amount, command_i != Issue || overflow_o || {1'b0, source_o} == issued)
endmodule
