// Allocator of numbers from 0 to `Count` - 1 for requests in flight. Allocates one per cycle, ready before it is
// requested; one of `Returns` sides returns it.

`include "assertions.svh"
`include "registers.svh"

module proof_numbers #(
    parameter int unsigned Count = 64,
    parameter int unsigned Returns = 1,
    localparam int unsigned Width = $clog2(Count)
) (
    input  logic                          clk_i,
    input  logic                          rst_ni,
    output logic                          valid_o,
    output logic [  Width-1:0]            number_o,
    input  logic                          taken_i,
    input  logic [Returns-1:0]            return_i,
    input  logic [Returns-1:0][Width-1:0] returned_i
);
  `PARAMETER_CHECK(count, Count >= 2 && Count == 2 ** Width, "proof_numbers: Count must be a power of two, at least 2")
  `PARAMETER_CHECK(returns, Returns >= 1, "proof_numbers: Returns must be at least 1")

  // The returning side may be far away.
  logic [Returns-1:0] return_q;
  logic [Returns-1:0][Width-1:0] returned_q;
  `FF(return_q, return_i, '0)
  `FFN(returned_q, returned_i)

  logic wanted, all_given;
  logic [Width:0] given_q;
  logic [Returns-1:0] waits, first, has_room;
  logic [Returns-1:0][Width-1:0] waiting;
  logic [Returns-1:0][  Width:0] unused_count;
  assign wanted = taken_i || !valid_o;
  // Each number is allocated once, then in the order of return on each side.
  assign all_given = given_q[Width];
  `FFE(given_q, given_q + 1'b1, wanted && !all_given, '0)
  for (genvar side = 0; side < Returns; side++) begin : gen_side
    fifo #(
        .Width(Width),
        .Depth(Count)
    ) u_returned (
        .clk_i,
        .rst_ni,
        .valid_i(return_q[side]),
        .ready_o(has_room[side]),
        .data_i (returned_q[side]),
        .valid_o(waits[side]),
        .ready_i(wanted && all_given && first[side]),
        .data_o (waiting[side]),
        .count_o(unused_count[side])
    );
  end
  find_first #(
      .Width(Returns)
  ) u_first (
      .word_i (waits),
      .first_o(first)
  );

  logic [Width-1:0] number_d;
  always_comb begin
    number_d = all_given ? '0 : given_q[Width-1:0];
    for (int unsigned side = 0; side < Returns; side++) if (all_given && first[side]) number_d |= waiting[side];
  end
  `FFE(number_o, number_d, wanted, '0)
  `FFE(valid_o, !all_given || |waits, wanted, 1'b0)

  // Allocated numbers, for the assertion below.
  logic [Count-1:0] out_q;
  for (genvar i = 0; i < Count; i++) begin : gen_out
    logic taken;
    logic [Returns-1:0] freed;
    assign taken = taken_i && number_o == Width'(i);
    for (genvar side = 0; side < Returns; side++) begin : gen_freed
      assign freed[side] = return_i[side] && returned_i[side] == Width'(i);
    end
    `FFE(out_q[i], taken, taken || |freed, 1'b0)
    `ASSERT(numbers_return_once, freed == '0 || (out_q[i] && $onehot(freed)))
  end
  `ASSERT(returns_have_room, (return_q & ~has_room) == '0)
  `ASSERT(taken_ones_are_there, !taken_i || valid_o)

endmodule
