// Verifies signatures of secp256k1, 32 at a time, on one multiplier: a barrel of contexts, each with a turn in every
// 32nd cycle.
//
// In its turn a context begins a product and a sum that may use this product; both are in its registers before its next
// turn. So there are no stalls, no forwarding and no hazards: a turn is one cycle of the multiplier, and a signature
// occupies the engine for as many cycles as it takes turns. A turn executes one instruction of the program in
// secp256k1_rom_pkg.
//
// Cycles of a turn: 0 state, 1 program and digits, 2 control flow, 3 factors, 4 multiplier, 24 product, 29 sum.
// Separate units compute inverses and digits for one context at a time, while the others go on.

`include "assertions.svh"
`include "registers.svh"

module secp256k1_engine
  import secp256k1_pkg::*;
  import secp256k1_rom_pkg::*;
#(
    parameter int unsigned TagWidth = 8
) (
    input  logic                 clk_i,
    input  logic                 rst_ni,
    input  logic                 valid_i,
    output logic                 ready_o,
    input  logic  [TagWidth-1:0] tag_i,
    input  work_t                work_i,
    // In any order; rule 0 means a good signature.
    output logic                 valid_o,
    input  logic                 ready_i,
    output logic  [TagWidth-1:0] tag_o,
    output logic  [         5:0] rule_o,
    // A product that a signature needs begins; for counters.
    output logic                 busy_o
);

  localparam int unsigned Contexts = 32;
  typedef logic [$clog2(Contexts)-1:0] context_t;

  // Cycles of a turn.
  localparam int unsigned Factors = 4;
  localparam int unsigned Product = Factors + ProductLatency;
  localparam int unsigned Sum = Product + LinearLatency;
  // A turn's results are written before the next turn.
  `ASSERT(turns_end, Sum <= Contexts)

  typedef struct packed {
    logic [8:0] counter;
    logic [8:0] repeated;
    logic [7:0] position;
    // Digits at this position still to be added; the current one.
    logic [3:0] pending;
    logic [1:0] scalar;
    logic phase;
    logic infinity;
    logic schnorr;
    logic has_y;
    logic odd;
    logic wraps;
    logic [TagWidth-1:0] tag;
  } state_t;

  // 0: the context whose turn it is. In the first round after a reset all start over.
  context_t turn_q, context1_q, context2_q;
  logic started_q, started1_q;
  `FF(turn_q, turn_q + 1'b1, '0)
  `FF(started_q, started_q || turn_q == '1, 1'b0)
  `FFN(context1_q, turn_q)
  `FFN(context2_q, context1_q)
  `FF(started1_q, started_q, 1'b0)

  state_t state_q[Contexts];
  state_t begin_state, read1_q, state1, state2_q, next2;
  always_comb begin
    begin_state = '0;
    begin_state.counter = AtStart;
  end
  `FFN(read1_q, state_q[turn_q])
  assign state1 = started1_q ? read1_q : begin_state;
  `FFN(state2_q, state1)
  always_ff @(posedge clk_i) state_q[context2_q] <= next2;

  // 1: the instruction, the flags of the context's last sum, and its digits.
  instruction_t instruction2_q;
  logic [$bits(instruction_t)-1:0] program_q[Instructions];
  initial program_q = Program;
  always_ff @(posedge clk_i) instruction2_q <= program_q[state1.counter];

  logic [Contexts-1:0] zero_q, odd_q;
  logic zero2_q, odd2_q;
  `FFN(zero2_q, zero_q[context1_q])
  `FFN(odd2_q, odd_q[context1_q])

  localparam int unsigned IndexG = WindowG - 2;
  localparam int unsigned IndexQ = WindowQ - 2;
  typedef struct packed {
    logic [3:0] found;
    logic [3:0] negative;
    logic [1:0][IndexQ-1:0] key;
    logic [1:0][IndexG-1:0] generator;
  } digits_t;
  digits_t digits2, recoded;
  logic recode_write;
  logic [7:0] recode_position, recode_top;
  context_t recode_owner_q;
  ram_1r1w #(
      .Width($bits(digits_t)),
      .Depth(256 * Contexts)
  ) u_digits (
      .clk_i,
      .write_i        (recode_write),
      .write_address_i({recode_owner_q, recode_position}),
      .write_data_i   (recoded),
      .read_i         (1'b1),
      .read_address_i ({context1_q, state1.position}),
      .read_data_o    (digits2)
  );

  // 2: control flow. A busy unit, or a result that cannot leave, keeps the context where it is.
  logic loading_q, recoding_q, recode_done_q;
  logic [Contexts-1:0] inverted_q;
  logic result_ready;
  logic accept_work, loaded, begins_recoding, ends_recoding, recodes, inverts, finishes, stays;
  logic holds;
  always_comb begin
    unique case (instruction2_q.condition)
      IfAlways: holds = 1'b1;
      IfZero: holds = zero2_q;
      IfNonzero: holds = !zero2_q;
      IfSchnorr: holds = state2_q.schnorr;
      IfHasY: holds = state2_q.has_y;
      IfParityRight: holds = odd2_q == state2_q.odd;
      IfOdd: holds = odd2_q;
      IfWraps: holds = state2_q.wraps;
      IfPhase: holds = state2_q.phase;
      IfInfinity: holds = state2_q.infinity;
      default: holds = 1'b0;
    endcase
  end

  logic infinity2;
  assign infinity2 = instruction2_q.infinity[1] ? instruction2_q.infinity[0] : state2_q.infinity;
  logic [3:0] first_pending;
  find_first #(
      .Width(4)
  ) u_first (
      .word_i (state2_q.pending),
      .first_o(first_pending)
  );

  always_comb begin
    next2 = state2_q;
    next2.infinity = infinity2;
    next2.counter = state2_q.counter + 1'b1;
    {accept_work, loaded, begins_recoding, ends_recoding, recodes, inverts, finishes, stays} = '0;
    unique case (instruction2_q.next)
      ThenNext: ;
      ThenIf: if (holds) next2.counter = instruction2_q.target;
      ThenRepeat: begin
        next2.repeated = state2_q.repeated + 1'b1;
        if (next2.repeated == instruction2_q.target) next2.repeated = '0;
        else next2.counter = state2_q.counter;
      end
      ThenWait: begin
        accept_work = valid_i && !loading_q;
        stays = !accept_work;
        {next2.schnorr, next2.has_y, next2.odd, next2.wraps} = {work_i.schnorr, work_i.has_y, work_i.odd, work_i.wraps};
        next2.tag = tag_i;
        next2.phase = 1'b0;
      end
      ThenLoaded: loaded = 1'b1;
      ThenDown: next2.position = state2_q.position - 1'b1;
      ThenPending: next2.pending = digits2.found;
      ThenDispatch: begin
        next2.pending = state2_q.pending & ~first_pending;
        next2.scalar = {|first_pending[3:2], first_pending[3] || first_pending[1]};
        if (|state2_q.pending[1:0]) next2.counter = infinity2 ? AtLoadG : AtAddG;
        else if (|state2_q.pending[3:2]) next2.counter = infinity2 ? AtLoadQ : AtAddQ;
        else next2.counter = state2_q.position == '0 ? AtEnd : AtDouble;
      end
      ThenFinish: begin
        finishes = result_ready;
        stays = !result_ready;
        next2.counter = AtStart;
      end
      ThenInvert: inverts = 1'b1;
      ThenInverted: stays = !inverted_q[context2_q];
      ThenRecode: begin
        begins_recoding = instruction2_q.target == '0 && !recoding_q;
        stays = instruction2_q.target == '0 && recoding_q;
        recodes = !stays;
      end
      ThenRecoded: begin
        ends_recoding = recode_done_q;
        stays = !recode_done_q;
        next2.position = recode_top;
      end
      ThenPhase: next2.phase = 1'b1;
      default: ;
    endcase
    if (stays) next2.counter = state2_q.counter;
  end

  // Factors. The digit selects the table's point: of G in the constants, of the key in M.
  logic [IndexG-1:0] index_g;
  logic [IndexQ-1:0] index_q;
  assign index_g = digits2.generator[state2_q.scalar[0]];
  assign index_q = digits2.key[state2_q.scalar[0]];
  logic of_table, y_of_table;
  assign of_table = instruction2_q.b_source == 2'd3;
  assign y_of_table = instruction2_q.b_register[0];
  logic [4:0] b_register;
  always_comb begin
    b_register = instruction2_q.b_register;
    if (of_table) b_register = {y_of_table, !y_of_table && state2_q.scalar[0], index_q};
  end
  logic [$clog2(Constants)-1:0] constant_number;
  assign constant_number = of_table ? ($clog2(
      Constants
  ))'({state2_q.scalar[0], index_g, y_of_table}) : ($clog2(
      Constants
  ))'(FirstConstant + 32'(instruction2_q.b_register));

  (* ram_style = "block" *) logic [255:0] constant_q[Constants];
  initial constant_q = Constant;
  logic [255:0] constant3_q;
  always_ff @(posedge clk_i) constant3_q <= constant_q[constant_number];

  // Fields of the instruction for the rest of the turn.
  typedef struct packed {
    context_t number;
    logic mul_write;
    logic [4:0] mul_register;
    logic lin_write;
    logic [4:0] lin_register;
    logic [1:0] x_source;
    logic [4:0] x_register;
    logic x_double;
    logic x_negate;
    logic [1:0] y_source;
    logic [4:0] y_register;
    logic y_double;
    logic y_negate;
    logic [1:0] modulus;
    logic half;
    logic loaded;
    logic inverts;
    logic [2:0] recodes;
  } rest_t;
  rest_t rest2, rest_read, rest_product, rest_sum;
  always_comb begin
    rest2.number = context2_q;
    rest2.mul_write = instruction2_q.mul_write;
    rest2.mul_register = instruction2_q.mul_register;
    rest2.lin_write = instruction2_q.lin_write;
    rest2.lin_register = instruction2_q.lin_register;
    rest2.x_source = instruction2_q.x_source;
    rest2.x_register = instruction2_q.x_register;
    rest2.x_double = instruction2_q.x_double;
    rest2.x_negate = sign_e'(instruction2_q.x_sign) == SignMinus ||
        (sign_e'(instruction2_q.x_sign) == SignDigit && digits2.negative[state2_q.scalar]);
    rest2.y_source = instruction2_q.y_source;
    rest2.y_register = instruction2_q.y_register;
    rest2.y_double = instruction2_q.y_double;
    rest2.y_negate = instruction2_q.y_negate;
    rest2.modulus = instruction2_q.modulus;
    rest2.half = instruction2_q.half;
    rest2.loaded = loaded;
    rest2.inverts = inverts;
    rest2.recodes = recodes ? 3'b001 << instruction2_q.target[1:0] : '0;
  end
  delay #(
      .Width($bits(rest_t)),
      .Depth(Product - 4)
  ) u_rest_read (
      .clk_i,
      .data_i(rest2),
      .data_o(rest_read)
  );
  delay #(
      .Width($bits(rest_t)),
      .Depth(2)
  ) u_rest_product (
      .clk_i,
      .data_i(rest_read),
      .data_o(rest_product)
  );
  delay #(
      .Width($bits(rest_t)),
      .Depth(LinearLatency)
  ) u_rest_sum (
      .clk_i,
      .data_i(rest_product),
      .data_o(rest_sum)
  );
  // Discards everything from before the reset: units receive nothing until the first turn has ended.
  localparam int unsigned FirstRound = $clog2(Contexts + 1);
  logic [FirstRound-1:0] filled_q;
  logic filled;
  assign filled = 32'(filled_q) == Contexts;
  `FF(filled_q, filled ? filled_q : filled_q + 1'b1, '0)

  // Registers, one copy per operand.
  logic [255:0] product, sum;
  logic [3:0][1:0][  9:0] read_register;
  logic [3:0][1:0][255:0] read_number;
  assign read_register[0] = {2{context2_q, instruction2_q.a_register}};
  assign read_register[1] = {2{context2_q, b_register}};
  assign read_register[2] = {2{rest_read.number, rest_read.x_register}};
  assign read_register[3] = {2{rest_read.number, rest_read.y_register}};
  for (genvar operand = 0; operand < 4; operand++) begin : gen_operand
    secp256k1_registers u_registers (
        .clk_i,
        .product_write_i   (rest_product.mul_write && filled),
        .product_register_i({rest_product.number, rest_product.mul_register}),
        .product_i         (product),
        .sum_write_i       (rest_sum.lin_write && filled),
        .sum_register_i    ({rest_sum.number, rest_sum.lin_register}),
        .sum_i             (sum),
        .register_i        (read_register[operand]),
        .number_o          (read_number[operand])
    );
  end

  // 3: factors; from 4: their product.
  logic a_bank3_q, of_key3_q;
  logic [1:0] b_source3_q;
  logic [1:0] take3_q, take4_q;
  logic [255:0] a4_q, b4_q;
  `FFN(a_bank3_q, instruction2_q.a_bank)
  `FFN(b_source3_q, instruction2_q.b_source)
  `FFN(of_key3_q, state2_q.scalar[1])
  `FFN(take3_q, instruction2_q.mul_take)
  `FFN(take4_q, take3_q)
  `FFN(a4_q, read_number[0][a_bank3_q])
  always_ff @(posedge clk_i) begin
    unique case (b_source3_q)
      2'd0: b4_q <= read_number[1][0];
      2'd1: b4_q <= read_number[1][1];
      2'd2: b4_q <= constant3_q;
      2'd3: b4_q <= of_key3_q ? read_number[1][0] : constant3_q;
    endcase
  end
  secp256k1_multiply u_multiply (
      .clk_i,
      .rst_ni,
      .take_i  (take_e'(take4_q)),
      .a_i     (a4_q),
      .b_i     (b4_q),
      .number_o(product)
  );

  // Terms of the sum: registers and inputs arrive with the product.
  rest_t rest_input_q;
  `FFN(rest_input_q, rest_read)
  logic [255:0] inverse;
  logic [255:0] input_number, x_q, y_q;
  always_comb begin
    unique case (rest_input_q.x_register[2:0])
      3'd0: input_number = work_i.r;
      3'd1: input_number = work_i.s;
      3'd2: input_number = work_i.e;
      3'd3: input_number = work_i.x;
      3'd4: input_number = work_i.y;
      3'd5: input_number = 256'd1;
      3'd6: input_number = 256'd7;
      3'd7: input_number = inverse;
    endcase
  end
  always_ff @(posedge clk_i) begin
    x_q <= rest_input_q.x_source == 2'd3 ? input_number : read_number[2][rest_input_q.x_source[0]];
    y_q <= rest_input_q.y_source == 2'd3 ? '0 : read_number[3][rest_input_q.y_source[0]];
  end
  secp256k1_linear u_linear (
      .clk_i,
      .modulus_i (modulus_e'(rest_product.modulus)),
      .half_i    (rest_product.half),
      .x_i       (rest_product.x_source == 2'd2 ? product : x_q),
      .x_double_i(rest_product.x_double),
      .x_negate_i(rest_product.x_negate),
      .y_i       (rest_product.y_source == 2'd2 ? product : y_q),
      .y_double_i(rest_product.y_double),
      .y_negate_i(rest_product.y_negate),
      .number_o  (sum)
  );
  always_ff @(posedge clk_i) begin
    if (rest_sum.lin_write) begin
      zero_q[rest_sum.number] <= sum == '0;
      odd_q[rest_sum.number]  <= sum[0];
    end
  end

  // One context at a time takes work, a number per turn; the work leaves when its last number is read.
  logic work_read;
  assign work_read = rest_input_q.loaded && filled;
  assign ready_o = work_read;
  `FF(loading_q, (loading_q || accept_work) && !work_read, 1'b0)

  // Inverses: each context has at most one in flight, so the queue never fills.
  logic invert_valid, invert_ready, inverse_valid, invert_queued;
  context_t invert_owner, inverse_owner_q;
  logic invert_order;
  logic [255:0] invert_number, inverse_number;
  ram_fifo #(
      .Width(257 + $bits(context_t)),
      .Depth(Contexts)
  ) u_invert_queue (
      .clk_i,
      .rst_ni,
      .valid_i(rest_sum.inverts && filled),
      .ready_o(invert_queued),
      .data_i ({rest_sum.number, modulus_e'(rest_sum.modulus) == ModulusOrder, sum}),
      .valid_o(invert_valid),
      .ready_i(invert_ready),
      .data_o ({invert_owner, invert_order, invert_number})
  );
  `ASSERT(inverses_have_room, !(rest_sum.inverts && filled) || invert_queued)
  invert #(
      .Width(256)
  ) u_invert (
      .clk_i,
      .rst_ni,
      .valid_i  (invert_valid),
      .ready_o  (invert_ready),
      .number_i (invert_number),
      .modulus_i(invert_order ? Order : Prime),
      .valid_o  (inverse_valid),
      .ready_i  (1'b1),
      .number_o (inverse_number)
  );
  `FFNE(inverse_owner_q, invert_owner, invert_valid && invert_ready)
  ram_1r1w #(
      .Width(256),
      .Depth(Contexts)
  ) u_inverses (
      .clk_i,
      .write_i        (inverse_valid),
      .write_address_i(inverse_owner_q),
      .write_data_i   (inverse_number),
      .read_i         (1'b1),
      .read_address_i (rest_read.number),
      .read_data_o    (inverse)
  );
  always_ff @(posedge clk_i) begin
    if (inverts) inverted_q[context2_q] <= 1'b0;
    if (inverse_valid) inverted_q[inverse_owner_q] <= 1'b1;
  end

  // Digits: one context at a time.
  logic recode_done;
  secp256k1_recode u_recode (
      .clk_i,
      .rst_ni,
      .load_i    (rest_sum.recodes & {3{filled}}),
      .number_i  (sum),
      .write_o   (recode_write),
      .position_o(recode_position),
      .digits_o  (recoded),
      .done_o    (recode_done),
      .top_o     (recode_top)
  );
  `FF(recoding_q, (recoding_q || begins_recoding) && !ends_recoding, 1'b0)
  `FF(recode_done_q, (recode_done_q || recode_done) && !ends_recoding, 1'b0)
  `FFNE(recode_owner_q, context2_q, begins_recoding)

  // Results.
  logic [1:0] unused_count;
  fifo #(
      .Width(TagWidth + 6),
      .Depth(2)
  ) u_results (
      .clk_i,
      .rst_ni,
      .valid_i(finishes && filled),
      .ready_o(result_ready),
      .data_i ({state2_q.tag, instruction2_q.target[5:0]}),
      .valid_o,
      .ready_i,
      .data_o ({tag_o, rule_o}),
      .count_o(unused_count)
  );

  // A sum that uses the product implies that the product is needed.
  logic uses_product;
  assign uses_product = instruction2_q.x_source == 2'd2 || instruction2_q.y_source == 2'd2;
  assign busy_o = instruction2_q.mul_write || (instruction2_q.lin_write && uses_product);

endmodule
