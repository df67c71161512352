// Adds points of BLS12-381's G1 to buckets, the part of a multi-scalar multiplication that takes nearly all of its
// products: one point per 11 cycles, one for each of its products, on a multiplier that starts a product per cycle.
//
// A barrel of 48 contexts as in secp256k1_engine: each adds a point to a bucket, one product per turn, and begins the
// next point in the turn after the last. No two contexts share a bucket: a point whose bucket is taken waits in a
// queue, which has priority over new points. Sums do not depend on order, so later points may overtake it.
//
// Points are affine, not at infinity, with coordinates below the prime in Montgomery form (times 2^381). Buckets are in
// Jacobian coordinates in that form. Equal and opposite points are handled. All buckets are empty after reset and after
// `clear_i`.

`include "assertions.svh"
`include "registers.svh"

module bls12_381_buckets
  import bls12_381_buckets_pkg::*;
#(
    parameter int unsigned BucketBits = 10,
    // Capacity for points that wait for their bucket.
    parameter int unsigned Waiting = 64,
    localparam int unsigned Width = 381
) (
    input  logic                  clk_i,
    input  logic                  rst_ni,
    input  logic                  valid_i,
    output logic                  ready_o,
    input  logic [BucketBits-1:0] bucket_i,
    input  logic                  negate_i,
    input  logic [     Width-1:0] x_i,
    input  logic [     Width-1:0] y_i,
    // Nothing is in flight and no point waits: buckets may be read and cleared.
    output logic                  idle_o,
    input  logic                  clear_i,
    // Reads a bucket, two cycles later: X, Y, Z, and whether it holds a point.
    input  logic [BucketBits-1:0] read_bucket_i,
    output logic [ 2:0][Width-1:0] read_point_o,
    output logic                  read_full_o,
    // A product begins; for counters.
    output logic                  busy_o
);
  `PARAMETER_CHECK(buckets, BucketBits > 0 && BucketBits <= 16, "bls12_381_buckets: BucketBits must be from 1 to 16")
  `PARAMETER_CHECK(waiting, Waiting > 1, "bls12_381_buckets: Waiting must be at least 2")

  localparam int unsigned Contexts = 48;
  localparam int unsigned Buckets = 2 ** BucketBits;
  typedef logic [$clog2(Contexts)-1:0] context_t;
  typedef logic [BucketBits-1:0] bucket_t;
  typedef logic [Width-1:0] number_t;

  // 2^381 modulo the prime.
  localparam logic [Width:0] Radix = {1'b1, number_t'(0)} - {1'b0, verify_pkg::Bls12Prime};
  localparam number_t One = Radix[Width-1:0];

  // Cycles of a turn: 0 state, 1 instruction, 2 and 3 factors.
  localparam int unsigned Product = 3 + verify_pkg::montgomery_latency(Width, 1);
  localparam int unsigned Sum = Product + 5;
  `ASSERT(turns_end, Sum < Contexts)

  // Empties all buckets, one per cycle.
  logic clearing_q;
  bucket_t cleared_q;
  `FF(clearing_q, clear_i || (clearing_q && cleared_q != '1), 1'b1)
  `FF(cleared_q, clearing_q ? cleared_q + 1'b1 : '0, '0)

  // One point is selected ahead; its bucket is reserved at once. Taking a bucket makes its two bits differ, leaving it
  // makes them equal.
  typedef struct packed {
    bucket_t bucket;
    logic negate;
    number_t x;
    number_t y;
  } point_t;
  logic [Buckets-1:0] taken_q, left_q, full_q;
  point_t offered, waiting, next_q;
  logic waiting_valid, waiting_ready, waits_ready, waits;
  logic next_valid_q, next_full_q, next_take, offered_free, waiting_free, accept_offered, accept_waiting, room;
  assign offered = '{bucket: bucket_i, negate: negate_i, x: x_i, y: y_i};
  assign offered_free = taken_q[offered.bucket] == left_q[offered.bucket];
  assign waiting_free = taken_q[waiting.bucket] == left_q[waiting.bucket];
  assign room = (!next_valid_q || next_take) && !clearing_q;
  assign accept_waiting = room && waiting_valid && waiting_free;
  assign accept_offered = room && valid_i && offered_free && !accept_waiting;
  assign waits = valid_i && !offered_free && !clearing_q;
  assign waiting_ready = accept_waiting;
  assign ready_o = accept_offered || (waits && waits_ready);
  logic [$clog2(Waiting+1)-1:0] unused_count;
  fifo #(
      .Width($bits(point_t)),
      .Depth(Waiting)
  ) u_waiting (
      .clk_i,
      .rst_ni,
      .valid_i(waits),
      .ready_o(waits_ready),
      .data_i (offered),
      .valid_o(waiting_valid),
      .ready_i(waiting_ready),
      .data_o (waiting),
      .count_o(unused_count)
  );
  point_t chosen;
  assign chosen = accept_waiting ? waiting : offered;
  `FF(next_valid_q, accept_waiting || accept_offered || (next_valid_q && !next_take), 1'b0)
  `FFNE(next_q, chosen, accept_waiting || accept_offered)
  `FFNE(next_full_q, full_q[chosen.bucket], accept_waiting || accept_offered)

  // 0: state of the context whose turn it is. In the first round after a reset all contexts are idle.
  typedef struct packed {
    step_e step;
    bucket_t bucket;
    logic negate;
  } state_t;
  context_t turn_q, context1_q;
  logic started_q, started1_q, last_turn;
  assign last_turn = 32'(turn_q) == Contexts - 1;
  `FF(turn_q, last_turn ? '0 : turn_q + 1'b1, '0)
  `FF(started_q, started_q || last_turn, 1'b0)
  `FF(started1_q, started_q, 1'b0)
  `FF(context1_q, turn_q, '0)
  state_t state_q[Contexts];
  state_t read1_q, state1, next1;
  `FFN(read1_q, state_q[turn_q])
  assign state1 = started1_q ? read1_q : state_t'(0);
  always_ff @(posedge clk_i) state_q[context1_q] <= next1;
  logic [Contexts-1:0] zero_q;
  logic zero1_q;
  `FFN(zero1_q, zero_q[turn_q])

  // 1: the instruction, and the next step. After the last step, the context releases its bucket and takes the next
  // point, if any.
  instruction_t instruction1;
  assign instruction1 = instruction(state1.step);
  logic ends, leaves, fills, empties;
  always_comb begin
    next1 = state1;
    {ends, fills, empties} = '0;
    unique case (state1.step)
      Idle: ends = 1'b1;
      Add3: next1.step = zero1_q ? Same1 : Add4;
      Same2: begin
        next1.step = Double1;
        ends = !zero1_q;
        empties = !zero1_q;
      end
      Add11, Double7: ends = 1'b1;
      Load3: begin
        ends  = 1'b1;
        fills = 1'b1;
      end
      default: next1.step = step_e'(state1.step + 1'b1);
    endcase
    leaves = ends && state1.step != Idle;
    next_take = ends && next_valid_q;
    if (ends) begin
      next1.step = !next_valid_q ? Idle : next_full_q ? Add1 : Load1;
      next1.bucket = next_q.bucket;
      next1.negate = next_q.negate;
    end
  end
  always_ff @(posedge clk_i) begin
    if (clearing_q) begin
      taken_q[cleared_q] <= 1'b0;
      left_q[cleared_q]  <= 1'b0;
      full_q[cleared_q]  <= 1'b0;
    end else begin
      if (accept_waiting || accept_offered) taken_q[chosen.bucket] <= !left_q[chosen.bucket];
      if (leaves) left_q[state1.bucket] <= taken_q[state1.bucket];
      if (fills || empties) full_q[state1.bucket] <= fills;
    end
  end

  // Data for the rest of the turn.
  typedef struct packed {
    context_t number;
    bucket_t bucket;
    logic negate;
    instruction_t instruction;
  } rest_t;
  rest_t rest1, rest_read, rest_select_q, rest_product, rest_sum;
  assign rest1 = '{number: context1_q, bucket: state1.bucket, negate: state1.negate, instruction: instruction1};
  delay #(
      .Width($bits(rest_t)),
      .Depth(Product - 3)
  ) u_rest_read (
      .clk_i,
      .data_i(rest1),
      .data_o(rest_read)
  );
  `FFN(rest_select_q, rest_read)
  `FFN(rest_product, rest_select_q)
  delay #(
      .Width($bits(rest_t)),
      .Depth(Sum - Product)
  ) u_rest_sum (
      .clk_i,
      .data_i(rest_product),
      .data_o(rest_sum)
  );
  // Nothing from before the reset is written.
  logic [$clog2(Contexts+1)-1:0] filled_q;
  logic filled;
  assign filled = 32'(filled_q) == Contexts;
  `FF(filled_q, filled ? filled_q : filled_q + 1'b1, '0)

  // Memories, one copy per operand: a, b, x, y.
  number_t product, sum;
  bucket_t  [3:0] read_bucket;
  context_t [3:0] read_context;
  logic [3:0][1:0] read_m, read_l;
  logic [3:0][2:0][Width-1:0] bucket_point;
  logic [3:0][Width-1:0] m, l;
  assign read_bucket = {rest_read.bucket, rest_read.bucket, state1.bucket, idle_o ? read_bucket_i : state1.bucket};
  assign read_context = {rest_read.number, rest_read.number, context1_q, context1_q};
  assign read_m = {
    rest_read.instruction.y_number, rest_read.instruction.x_number, instruction1.b_number, instruction1.a_number
  };
  assign read_l = read_m;
  logic [2:0] write_sum, write_product;
  for (genvar coordinate = 0; coordinate < 3; coordinate++) begin : gen_coordinate
    localparam target_e Target = target_e'(coordinate + 1);
    assign write_sum[coordinate] = filled && rest_sum.instruction.sum == Target;
    assign write_product[coordinate] = filled && rest_product.instruction.product == Target;
  end
  for (genvar operand = 0; operand < 4; operand++) begin : gen_operand
    // X and Y are sums, Z is a product. The sum's terms are never Z; x is always M.
    for (genvar coordinate = 0; coordinate < 3; coordinate++) begin : gen_bucket
      if (operand == 2 || (operand == 3 && coordinate == 2)) begin : gen_none
        assign bucket_point[operand][coordinate] = '0;
      end else begin : gen_memory
        ram_1r1w #(
            .Width(Width),
            .Depth(Buckets)
        ) u_memory (
            .clk_i,
            .write_i        (coordinate == 2 ? write_product[coordinate] : write_sum[coordinate]),
            .write_address_i(coordinate == 2 ? rest_product.bucket : rest_sum.bucket),
            .write_data_i   (coordinate == 2 ? product : sum),
            .read_i         (1'b1),
            .read_address_i (read_bucket[operand]),
            .read_data_o    (bucket_point[operand][coordinate])
        );
      end
    end
    ram_1r1w #(
        .Width(Width),
        .Depth(4 * Contexts)
    ) u_m (
        .clk_i,
        .write_i        (filled && rest_product.instruction.product == ToM),
        .write_address_i({rest_product.number, rest_product.instruction.product_number}),
        .write_data_i   (product),
        .read_i         (1'b1),
        .read_address_i ({read_context[operand], read_m[operand]}),
        .read_data_o    (m[operand])
    );
    if (operand == 2) begin : gen_none
      assign l[operand] = '0;
    end else begin : gen_l
      ram_1r1w #(
          .Width(Width),
          .Depth(4 * Contexts)
      ) u_l (
          .clk_i,
          .write_i        (filled && rest_sum.instruction.sum == ToL),
          .write_address_i({rest_sum.number, rest_sum.instruction.sum_number}),
          .write_data_i   (sum),
          .read_i         (1'b1),
          .read_address_i ({read_context[operand], read_l[operand]}),
          .read_data_o    (l[operand])
      );
    end
  end
  logic [1:0][Width-1:0] point;
  ram_1r1w #(
      .Width(2 * Width),
      .Depth(Contexts)
  ) u_points (
      .clk_i,
      .write_i        (next_take),
      .write_address_i(context1_q),
      .write_data_i   ({next_q.y, next_q.x}),
      .read_i         (1'b1),
      .read_address_i (context1_q),
      .read_data_o    (point)
  );

  // 2 and 3: factors, and their product.
  source_e a2_q, b2_q;
  number_t a3_q, b3_q;
  `FFN(a2_q, instruction1.a)
  `FFN(b2_q, instruction1.b)
  function automatic number_t selected(input source_e source, input logic [2:0][Width-1:0] bucket,
                                       input logic [1:0][Width-1:0] affine, input number_t of_m, input number_t of_l,
                                       input number_t nothing);
    unique case (source)
      FromBucketX: return bucket[0];
      FromBucketY: return bucket[1];
      FromBucketZ: return bucket[2];
      FromPointX: return affine[0];
      FromPointY: return affine[1];
      FromM: return of_m;
      FromL: return of_l;
      default: return nothing;
    endcase
  endfunction
  `FFN(a3_q, selected(a2_q, bucket_point[0], '0, m[0], l[0], One))
  `FFN(b3_q, selected(b2_q, bucket_point[1], point, m[1], l[1], One))
  logic unused_valid;
  montgomery u_multiply (
      .clk_i,
      .rst_ni,
      .valid_i (1'b1),
      .a_i     (a3_q),
      .b_i     (b3_q),
      .valid_o (unused_valid),
      .number_o(product)
  );

  // The sum: its terms are ready together with the product.
  number_t x_q, y_q;
  `FFN(x_q, m[2])
  `FFN(y_q, selected(rest_select_q.instruction.y, bucket_point[3], '0, m[3], l[3], '0))
  field_linear u_linear (
      .clk_i,
      .half_i    (rest_product.instruction.half),
      .x_i       (rest_product.instruction.x_is_product ? product : x_q),
      .x_double_i(rest_product.instruction.x_double),
      .x_negate_i(rest_product.instruction.x_signed && rest_product.negate),
      .y_i       (rest_product.instruction.y_is_product ? product : y_q),
      .y_double_i(rest_product.instruction.y_double),
      .y_negate_i(rest_product.instruction.y_negate),
      .number_o  (sum)
  );
  always_ff @(posedge clk_i) if (rest_sum.instruction.sum != ToNothing) zero_q[rest_sum.number] <= sum == '0;

  // Idle once every context has been idle, a whole turn after the last one finished.
  logic [$clog2(2*Contexts+1)-1:0] quiet_q;
  `FF(quiet_q,
      state1.step != Idle || next_valid_q || waiting_valid || clearing_q ? '0 : idle_o ? quiet_q : quiet_q + 1'b1, '0)
  assign idle_o = 32'(quiet_q) == 2 * Contexts;
  assign busy_o = state1.step inside {[Add1 : Add11], [Same1 : Load3]} && state1.step != Same2;
  `FFN(read_point_o, bucket_point[0])
  logic full1_q;
  `FFN(full1_q, full_q[read_bucket_i])
  `FFN(read_full_o, full1_q)

endmodule
