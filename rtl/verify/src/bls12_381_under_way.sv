// Results of the coprocessor's engine in flight: their target slots, and whether an operand or another result overlaps
// them. An instruction counts from the cycle after it begins.

`include "assertions.svh"
`include "registers.svh"

module bls12_381_under_way
  import bls12_381_codes_pkg::*;
  import bls12_381_coprocessor_pkg::*;
(
    input  logic            clk_i,
    input  logic            rst_ni,
    input  logic            clear_i,
    // begin_i: an instruction begins, with the result below; dropped_i: the result lies beyond the memory. finish_i:
    // one has finished.
    input  logic            begin_i,
    input  context_t        begin_context_i,
    input  logic            dropped_i,
    input  logic            finish_i,
    input  context_t        finish_context_i,
    // A result and a slot, and whether results in flight overlap them.
    input  logic     [15:0] result_i,
    input  kind_e           result_kind_i,
    output logic            result_o,
    input  logic     [15:0] slot_i,
    output logic            slot_o,
    output logic            none_o,
    // Destination of the engine's numbers.
    input  context_t        store_context_i,
    output result_t         store_o
);

  logic [Contexts-1:0] working_q, working;
  result_t result_of_q[Contexts];
  always_comb begin
    working = working_q;
    if (begin_i) working[begin_context_i] = 1'b1;
    if (finish_i) working[finish_context_i] = 1'b0;
  end
  `FF(working_q, clear_i ? '0 : working, '0)
  always_ff @(posedge clk_i) begin
    if (begin_i) result_of_q[begin_context_i] <= '{base: result_i, kind: result_kind_i, dropped: dropped_i};
  end
  assign none_o = working_q == '0;
  assign store_o = result_of_q[store_context_i];

  function automatic logic overlaps(input logic [15:0] base, input logic [3:0] count, input result_t result);
    return 17'(base) < 17'(result.base) + 17'(kind_slots(result.kind)) && 17'(result.base) < 17'(base) + 17'(count);
  endfunction
  always_comb begin
    result_o = 1'b0;
    slot_o   = 1'b0;
    for (int unsigned each = 0; each < Contexts; each++) begin
      result_o |= working_q[each] && overlaps(result_i, kind_slots(result_kind_i), result_of_q[each]);
      slot_o |= working_q[each] && overlaps(slot_i, 4'd1, result_of_q[each]);
    end
  end

endmodule
