// Executes the coprocessor instructions that need multiplications: eight at a time, on one multiplier.
//
// A barrel of contexts, each with a slot of the micro-program in every eighth cycle: a product of two factors, each a
// sum of up to two registers, and two sums of up to four. The micro-program is scheduled for the latency of results, so
// there are no stalls and no comparisons.
//
// Cycles of a slot: 0 state, 1 program, 2 registers, 4 both terms of each factor and of the sums, 6 multiplier, 9 sums
// are written, 44 product.

`include "assertions.svh"
`include "registers.svh"

module bls12_381_engine
  import bls12_381_coprocessor_pkg::*;
  import bls12_381_program_pkg::*;
(
    input  logic            clk_i,
    input  logic            rst_ni,
    // Discards everything in flight. Must be held for longer than a product takes.
    input  logic            clear_i,
    // Operands of the next instruction, until they are loaded.
    input  logic            operand_write_i,
    input  logic      [4:0] operand_place_i,
    input  number_t         operand_i,
    input  logic            valid_i,
    output logic            ready_o,
    input  work_t           work_i,
    output context_t        context_o,
    output logic            loaded_o,
    // Numbers of a result, by place.
    output logic            store_o,
    output context_t        store_context_o,
    output logic      [3:0] store_place_o,
    output number_t         store_number_o,
    // An instruction has finished, or cannot finish because it would divide by zero.
    output logic            finish_o,
    output context_t        finish_context_o,
    output logic            fault_o,
    // Inverses of scalars, one at a time.
    input  logic            scalar_valid_i,
    input  number_t         scalar_i,
    output logic            scalar_valid_o,
    output number_t         scalar_o,
    // A product begins; for counters.
    output logic            busy_o
);

  localparam int unsigned SumLatency = 7;
  localparam int unsigned ProductLatency = 4 + verify_pkg::montgomery_latency(Width, 1);
  `ASSERT(products_are_there, ProductLatency < 6 * Contexts)
  `ASSERT(slot_is_as_encoded, $bits(slot_t) == SlotWidth)

  typedef struct packed {
    logic [12:0] counter;
    logic [12:0] back;
    logic [7:0]  position;
    logic        pairing;
    logic        trivial;
  } state_t;

  // 0: the context whose slot it is. After a reset all contexts start over.
  context_t turn_q, context1_q, context2_q;
  logic started_q, started1_q;
  `FF(turn_q, turn_q + 1'b1, '0)
  `FF(started_q, !clear_i && (started_q || turn_q == '1), 1'b0)
  `FF(started1_q, !clear_i && started_q, 1'b0)
  `FFN(context1_q, turn_q)
  `FFN(context2_q, context1_q)

  state_t state_q[Contexts];
  state_t begin_state, read1_q, state1, state2_q, next2;
  always_comb begin
    begin_state = '0;
    begin_state.counter = AtIdle;
  end
  `FFN(read1_q, state_q[turn_q])
  assign state1 = started1_q ? read1_q : begin_state;
  `FFN(state2_q, state1)
  always_ff @(posedge clk_i) state_q[context2_q] <= next2;

  // 1: the slot, the context's flags, the current bit of its scalar.
  slot_t slot2_q;
  (* ram_style = "block" *) logic [SlotWidth-1:0] program_q[Slots];
  initial program_q = Program;
  always_ff @(posedge clk_i) slot2_q <= program_q[state1.counter[$clog2(Slots)-1:0]];

  logic [Contexts-1:0][7:0] flags_q;
  logic [255:0] scalar_q[Contexts];
  logic [255:0] scalar2_q;
  `FFN(scalar2_q, scalar_q[context1_q])
  logic bit2;
  assign bit2 = scalar2_q[state2_q.position];

  // 2: control flow.
  logic [Contexts-1:0] inverted_q;
  logic accept, loaded, finishes, faults, holds;
  logic [9:0] flags;
  assign flags = {state2_q.pairing, state2_q.trivial, flags_q[context2_q]};
  assign holds = (flags & slot2_q.mask) == slot2_q.mask;
  always_comb begin
    next2 = state2_q;
    next2.counter = state2_q.counter + 1'b1;
    {accept, loaded, finishes, faults} = '0;
    unique case (slot2_q.next)
      ThenNext: ;
      ThenWait: begin
        accept = valid_i && !clear_i;
        next2.counter = accept ? work_i.entry : AtIdle;
        next2.position = work_i.position;
        next2.pairing = work_i.pairing;
        next2.trivial = work_i.trivial;
      end
      ThenLoaded: loaded = 1'b1;
      ThenIf: if (holds) next2.counter = slot2_q.target;
      ThenCall: begin
        next2.back = state2_q.counter + 1'b1;
        next2.counter = slot2_q.target;
      end
      ThenReturn: next2.counter = state2_q.back;
      ThenSeek: begin
        if (!bit2) begin
          next2.position = state2_q.position - 1'b1;
          next2.counter = state2_q.counter;
        end
      end
      ThenDown: begin
        if (state2_q.position == '0) next2.counter = slot2_q.target;
        else next2.position = state2_q.position - 1'b1;
      end
      ThenIfBit: if (bit2) next2.counter = slot2_q.target;
      ThenInverted: if (!inverted_q[context2_q]) next2.counter = state2_q.counter;
      ThenFinish: begin
        finishes = 1'b1;
        next2.counter = AtIdle;
      end
      ThenFault: begin
        faults = 1'b1;
        next2.counter = AtIdle;
      end
      default: ;
    endcase
  end
  assign ready_o = accept;
  assign context_o = context2_q;
  assign loaded_o = loaded && !clear_i;
  assign finish_o = (finishes || faults) && !clear_i;
  assign finish_context_o = context2_q;
  assign fault_o = faults && !clear_i;
  assign busy_o = slot2_q.mul_write || slot2_q.mul_store;
  always_ff @(posedge clk_i) if (accept) scalar_q[context2_q] <= work_i.scalar;

  // Data for the rest of the slot.
  typedef struct packed {
    logic write;
    logic store;
    context_t number;
    logic [6:0] index;
  } product_t;
  typedef struct packed {
    context_t number;
    logic [1:0] write;
    logic [1:0][6:0] index;
    logic test;
    logic [2:0] flag;
    logic invert;
  } sums_t;
  product_t product_begun, product_done;
  sums_t sums_begun, sums_done;
  assign product_begun = '{
          write: slot2_q.mul_write,
          store: slot2_q.mul_store,
          number: context2_q,
          index: slot2_q.mul_register
      };
  assign sums_begun = '{
          number: context2_q,
          write: {slot2_q.linear[1].write, slot2_q.linear[0].write},
          index: {slot2_q.linear[1].index, slot2_q.linear[0].index},
          test: slot2_q.test,
          flag: slot2_q.flag,
          invert: slot2_q.invert
      };
  delay #(
      .Width($bits(product_t)),
      .Depth(ProductLatency)
  ) u_product_done (
      .clk_i,
      .data_i(product_begun),
      .data_o(product_done)
  );
  delay #(
      .Width($bits(sums_t)),
      .Depth(SumLatency)
  ) u_sums_done (
      .clk_i,
      .data_i(sums_begun),
      .data_o(sums_done)
  );

  // Bank 3: constants for the first factor; operands, the number one or an inverse for the second.
  (* ram_style = "block" *) number_t constant_q[Constants];
  initial constant_q = Constant;
  number_t operand_q[32];
  number_t inverse_q[Contexts];
  number_t constant3_q, operand3_q, inverse3_q, input3;
  logic [4:0] place, place3_q;
  assign place = slot2_q.factor[1].operand[0].index[4:0];
  always_ff @(posedge clk_i) begin
    if (operand_write_i) operand_q[operand_place_i] <= operand_i;
    constant3_q <= constant_q[slot2_q.factor[0].operand[0].index[$clog2(Constants)-1:0]];
    operand3_q <= operand_q[place];
    inverse3_q <= inverse_q[context2_q];
    place3_q <= place;
  end
  assign input3 = place3_q == InputInverse ? inverse3_q : place3_q == InputOne ? number_t'(1) : operand3_q;

  // 2 to 4: operands.
  number_t product;
  number_t [1:0] sum;
  logic [2:0] write;
  logic [2:0][9:0] write_register;
  assign write = {sums_done.write[1], sums_done.write[0], product_done.write};
  assign write_register = {
    {sums_done.number, sums_done.index[1]},
    {sums_done.number, sums_done.index[0]},
    {product_done.number, product_done.index}
  };

  number_t [1:0] factor;
  for (genvar which = 0; which < 2; which++) begin : gen_factor
    number_t [1:0] number;
    for (genvar at = 0; at < 2; at++) begin : gen_operand
      bls12_381_operand u_operand (
          .clk_i,
          .write_i         (write),
          .write_register_i(write_register),
          .write_number_i  ({sum[1], sum[0], product}),
          .context_i       (context2_q),
          .operand_i       (slot2_q.factor[which].operand[at]),
          .special_i       (at == 1 ? '0 : which == 0 ? constant3_q : input3),
          .number_o        (number[at])
      );
    end
    logic [1:0] second;
    delay #(
        .Width(2),
        .Depth(2)
    ) u_second (
        .clk_i,
        .data_i(slot2_q.factor[which].second),
        .data_o(second)
    );
    bls12_381_factor u_factor (
        .clk_i,
        .number_i(number),
        .second_i(second),
        .number_o(factor[which])
    );
  end

  logic unused_valid;
  montgomery u_multiply (
      .clk_i,
      .rst_ni,
      .valid_i (1'b1),
      .a_i     (factor[0]),
      .b_i     (factor[1]),
      .valid_o (unused_valid),
      .number_o(product)
  );

  for (genvar unit = 0; unit < 2; unit++) begin : gen_linear
    number_t [3:0] number;
    logic [3:0] negate;
    logic [3:0][1:0] times;
    for (genvar at = 0; at < 4; at++) begin : gen_term
      bls12_381_operand u_operand (
          .clk_i,
          .write_i         (write),
          .write_register_i(write_register),
          .write_number_i  ({sum[1], sum[0], product}),
          .context_i       (context2_q),
          .operand_i       (slot2_q.linear[unit].term[at].operand),
          .special_i       ('0),
          .number_o        (number[at])
      );
      delay #(
          .Width(3),
          .Depth(2)
      ) u_term (
          .clk_i,
          .data_i({slot2_q.linear[unit].term[at].negate, slot2_q.linear[unit].term[at].factor}),
          .data_o({negate[at], times[at]})
      );
    end
    bls12_381_linear u_linear (
        .clk_i,
        .number_i(number),
        .negate_i(negate),
        .factor_i(times),
        .number_o(sum[unit])
    );
  end

  assign store_o = product_done.store;
  assign store_context_o = product_done.number;
  assign store_place_o = product_done.index[3:0];
  assign store_number_o = product;

  always_ff @(posedge clk_i) if (sums_done.test) flags_q[sums_done.number][sums_done.flag] <= sum[0] == '0;

  // Inverses: each context requests one at a time; the last requester is for scalars.
  localparam int unsigned Askers = Contexts + 1;
  logic [Askers-1:0] pending_q, asks, first, owner_q, done;
  number_t asked_q[Contexts];
  number_t invert_number, inverse;
  logic invert_valid, invert_ready, inverse_valid;
  assign asks = {
    scalar_valid_i, sums_done.invert ? (Contexts)'(1) << sums_done.number : (Contexts)'(0)
  } & {Askers{!clear_i}};
  find_first #(
      .Width(Askers)
  ) u_first (
      .word_i (pending_q),
      .first_o(first)
  );
  always_comb begin
    invert_number = scalar_i;
    for (int unsigned at = 0; at < Contexts; at++) if (first[at]) invert_number = asked_q[at];
  end
  assign invert_valid = |pending_q;
  assign done = inverse_valid ? owner_q : '0;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      pending_q  <= '0;
      owner_q    <= '0;
      inverted_q <= '0;
    end else if (clear_i) begin
      pending_q  <= '0;
      owner_q    <= '0;
      inverted_q <= '0;
    end else begin
      pending_q <= (pending_q | asks) & ~(invert_ready ? first : '0);
      if (invert_ready) owner_q <= first;
      inverted_q <= (inverted_q | done[Contexts-1:0]) & ~asks[Contexts-1:0];
    end
  end
  always_ff @(posedge clk_i) begin
    if (sums_done.invert) asked_q[sums_done.number] <= sum[0];
    for (int unsigned at = 0; at < Contexts; at++) if (done[at]) inverse_q[at] <= inverse;
  end
  invert #(
      .Width(Width)
  ) u_invert (
      .clk_i,
      .rst_ni,
      .valid_i  (invert_valid),
      .ready_o  (invert_ready),
      .number_i (invert_number),
      .modulus_i(first[Contexts] ? Order : verify_pkg::Bls12Prime),
      .valid_o  (inverse_valid),
      .ready_i  (1'b1),
      .number_o (inverse)
  );
  assign scalar_valid_o = done[Contexts];
  assign scalar_o = inverse;

endmodule
