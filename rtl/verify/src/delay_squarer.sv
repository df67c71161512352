// Squares a number repeatedly modulo a loaded modulus: the evaluation of a delay function. A squaring takes `Digits` +
// 3 cycles, for numbers of `Digits` digits of `Digit` 16-bit limbs; with 2,048 bits and digits of 128 bits that is 22.
//
// Montgomery multiplication, one digit of the number per cycle, with Orup's quotients ("Simplifying quotient
// determination in high-radix modular multiplication", 1995): it adds multiples of a multiple of the modulus that is -1
// modulo B^2, B = 2^(16 Digit). The quotient of a cycle is then simply the lowest digit, and its product has an extra
// cycle. Carries move only one limb per cycle, so limbs have 17 bits, as do those of the quotient.
//
//   T(i) = T(i - 1) / B + a(i) A + q(i - 2) M,   q(i) = T(i) mod B, limb by limb,
//   M = (modulus * k + 1) / B^2, k making it an integer
//
// The squared value is x R modulo the modulus, R = B^Digits. Checkpoints have this form too, in full 16-bit limbs and
// not reduced below the modulus. A number is below 1.01 B^2 times the modulus, at least a limb less than its storage.
//
// 17-bit multipliers: Digit * (Digits * Digit + ModulusLimbs).

`include "assertions.svh"
`include "registers.svh"

module delay_squarer #(
    // Of 16 bits each.
    parameter int unsigned ModulusLimbs = 128,
    parameter int unsigned Digit = 8,
    localparam int unsigned Digits = (ModulusLimbs + 2 * Digit) / Digit + 1,
    localparam int unsigned Limbs = Digits * Digit
) (
    input  logic        clk_i,
    input  logic        rst_ni,
    // Starts a run: M, then the number to square, lowest word first. The inputs below must be stable until the run
    // ends.
    input  logic        valid_i,
    output logic        ready_o,
    input  logic [63:0] data_i,
    input  logic [47:0] squarings_i,
    input  logic [31:0] every_i,      // squarings between checkpoints
    // Checkpoint after at_o squarings, lowest word first; the last checkpoint of a run comes after all squarings.
    // Squaring continues meanwhile, but the squaring that makes the next checkpoint waits for this one to leave.
    output logic        valid_o,
    input  logic        ready_i,
    output logic [63:0] data_o,
    output logic        last_o,
    output logic [47:0] at_o
);
  `PARAMETER_CHECK(limbs, ModulusLimbs > 0 && ModulusLimbs % 4 == 0,
                   "delay_squarer: ModulusLimbs must be a multiple of 4")
  `PARAMETER_CHECK(digit, Digit > 0 && Digit % 4 == 0 && Digit <= 32, "delay_squarer: Digit must be 4, 8, ... or 32")
  localparam int unsigned Loads = (ModulusLimbs + Limbs) / 4;
  localparam int unsigned LoadWidth = $clog2(Loads + 1);
  localparam int unsigned Columns = Limbs + Digit + 1;
  // Cycles of a squaring; its result is complete in the last one.
  localparam int unsigned Last = Digits + 2;
  localparam int unsigned CycleWidth = $clog2(Last + 1);

  typedef logic [16:0] limb_t;

  // Load, then square.
  logic running_q, loads, loaded, ends, stalls, keeps, kept_busy_q;
  logic [ LoadWidth-1:0] load_q;
  logic [CycleWidth-1:0] cycle_q;
  logic [47:0] squarings_q, squarings;
  logic [31:0] since_q;
  assign ready_o = !running_q;
  assign loads   = valid_i && ready_o;
  assign loaded  = loads && load_q == LoadWidth'(Loads - 1);
  `FFE(load_q, loaded ? '0 : load_q + 1'b1, loads, '0)

  // A squaring that makes a checkpoint waits until the previous checkpoint has left.
  logic is_last_cycle, is_last, is_kept;
  assign is_last_cycle = cycle_q == CycleWidth'(Last);
  assign squarings = squarings_q + 1'b1;
  assign is_last = squarings == squarings_i;
  assign is_kept = is_last || since_q + 1'b1 == every_i;
  assign stalls = running_q && cycle_q == '0 && is_kept && kept_busy_q;
  assign ends = running_q && is_last_cycle;
  assign keeps = ends && is_kept;
  `FF(running_q, loaded || (running_q && !(ends && is_last)), 1'b0)
  `FFE(cycle_q, ends || !running_q ? '0 : cycle_q + 1'b1, !stalls, '0)
  `FFE(squarings_q, running_q ? squarings : '0, ends || !running_q, '0)
  `FFE(since_q, running_q && !keeps ? since_q + 1'b1 : '0, ends || !running_q, '0)

  // M and the number, and the remaining digits of the number.
  logic [ModulusLimbs-1:0][15:0] modulus_q;
  limb_t [ModulusLimbs-1:0] modulus;
  limb_t [Limbs-1:0] number_q, digits_q, result, loaded_number;
  for (genvar limb = 0; limb < ModulusLimbs; limb++) begin : gen_modulus
    assign modulus[limb] = {1'b0, modulus_q[limb]};
  end
  // Words shift in from the top, the number's after those of M.
  for (genvar limb = 0; limb < Limbs; limb++) begin : gen_number
    if (limb >= Limbs - 4) begin : gen_word
      assign loaded_number[limb] = {1'b0, data_i[16*(limb+4-Limbs)+:16]};
    end else begin : gen_shift
      assign loaded_number[limb] = number_q[limb+4];
    end
  end
  localparam int unsigned ModulusWords = ModulusLimbs / 4;
  `FFNE(modulus_q, (16 * ModulusLimbs)'({data_i, modulus_q} >> 64), loads && load_q < LoadWidth'(ModulusWords))
  `FFNE(number_q, running_q ? result : loaded_number, running_q ? ends : loads)
  `FFNE(digits_q, ends ? result : running_q ? digits_q >> 17 * Digit : loaded_number, !stalls && (running_q || loads))

  // Products of a cycle are ready in the next one.
  localparam int unsigned SumWidth = 18 + $clog2(2 * Digit);
  localparam int unsigned QuotientColumns = ModulusLimbs + Digit + 1;
  limb_t [Columns-1:0] total_q, total;
  limb_t [Digit-1:0] quotient;
  logic [Columns-1:0][SumWidth-1:0] number_sum;
  logic [QuotientColumns-1:0][SumWidth-1:0] quotient_sum;
  logic has_quotient;
  assign has_quotient = cycle_q >= CycleWidth'(2);
  assign quotient = has_quotient ? total_q[Digit-1:0] : '0;
  delay_rows #(
      .Limbs(Limbs),
      .Digit(Digit)
  ) u_number (
      .clk_i,
      .digit_i (digits_q[Digit-1:0]),
      .number_i(number_q),
      .sum_o   (number_sum)
  );
  delay_rows #(
      .Limbs(ModulusLimbs),
      .Digit(Digit)
  ) u_quotient (
      .clk_i,
      .digit_i (quotient),
      .number_i(modulus),
      .sum_o   (quotient_sum)
  );

  // Sums a column; then every column keeps 16 bits and passes the rest on. Before the first digit the total is zero. In
  // the last cycle, the product of the last quotient lies one digit higher than those before.
  localparam int unsigned ColumnWidth = SumWidth + 2;
  logic is_first;
  logic [ColumnWidth-1:0] column[Columns];
  assign is_first = cycle_q == CycleWidth'(1);
  for (genvar at = 0; at < Columns; at++) begin : gen_column
    logic [SumWidth-1:0] straight, shifted;
    limb_t next, held;
    if (at < QuotientColumns) begin : gen_straight
      assign straight = quotient_sum[at];
    end else begin : gen_no_straight
      assign straight = '0;
    end
    if (at >= Digit && at - Digit < QuotientColumns) begin : gen_shifted
      assign shifted = quotient_sum[at-Digit];
    end else begin : gen_no_shifted
      assign shifted = '0;
    end
    if (at + Digit < Columns) begin : gen_next
      assign next = total_q[at+Digit];
    end else begin : gen_no_next
      assign next = '0;
    end
    assign held = is_first ? '0 : is_last_cycle ? total_q[at] : next;
    assign column[at] = ColumnWidth'(number_sum[at]) + ColumnWidth'(is_last_cycle ? shifted : straight) +
        ColumnWidth'(held);
    if (at == 0) begin : gen_lowest
      assign total[at] = {1'b0, column[at][15:0]};
    end else begin : gen_carry
      assign total[at] = {1'b0, column[at][15:0]} + 17'(column[at-1][ColumnWidth-1:16]);
    end
  end
  `FFNE(total_q, total, !stalls)
  assign result = total[Limbs-1:0];
  `ASSUME(something_to_do, !valid_i || (squarings_i != '0 && every_i != '0))
  `ASSERT(nothing_is_lost, !(running_q && cycle_q > CycleWidth'(0)) || column[Columns-1][ColumnWidth-1:16] == '0)
  `ASSERT(result_fits, !ends || total[Columns-1:Limbs] == '0)

  // Checkpoints: four limbs per cycle, propagating their carries.
  localparam int unsigned KeptWords = Limbs / 4;
  localparam int unsigned KeptWidth = $clog2(KeptWords + 1);
  limb_t [Limbs-1:0] kept_q;
  logic [KeptWidth-1:0] kept_word_q;
  logic [2:0] carry_q, carry;
  logic moves;
  assign moves = valid_o && ready_i;
  always_comb begin
    {carry, data_o} = 67'(carry_q);
    for (int unsigned limb = 0; limb < 4; limb++) {carry, data_o} += 67'(kept_q[limb]) << 16 * limb;
  end
  assign valid_o = kept_busy_q;
  assign last_o  = kept_word_q == KeptWidth'(KeptWords - 1);
  `FF(kept_busy_q, keeps || (kept_busy_q && !(moves && last_o)), 1'b0)
  `FFE(kept_word_q, keeps ? '0 : kept_word_q + 1'b1, keeps || moves, '0)
  `FFE(carry_q, keeps ? '0 : carry, keeps || moves, '0)
  `FFNE(kept_q, keeps ? result : kept_q >> 17 * 4, keeps || moves)
  `FFNE(at_o, squarings, keeps)
  `ASSERT(kept_fits, !(moves && last_o) || carry == '0)
endmodule
