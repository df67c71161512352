// Pairing coprocessor of docs/coprocessor.md: program, memories, faults and interrupts. The engine does the
// multiplications.
//
// Instructions begin in order and do not wait for earlier ones in the engine: the next one begins once its own operands
// are ready. The slots that it reads and writes are compared with the results in flight. No instruction begins before
// all possible faults of the previous ones are known, so faults are precise.
//
// Interrupts are messages on a stream of 8-byte words, first byte lowest. The host is answered a cycle after its
// request.

`include "assertions.svh"
`include "registers.svh"

module bls12_381_coprocessor
  import bls12_381_codes_pkg::*;
  import bls12_381_coprocessor_pkg::*;
(
    input  logic        clk_i,
    input  logic        rst_ni,
    input  logic        request_valid_i,
    output logic        request_ready_o,
    input  logic        request_write_i,
    input  logic [16:0] request_address_i,
    input  logic [31:0] request_data_i,
    // For reads.
    output logic        response_valid_o,
    output logic [31:0] response_data_o,
    output logic        interrupt_valid_o,
    input  logic        interrupt_ready_i,
    output logic [63:0] interrupt_data_o,
    output logic        interrupt_last_o,
    // A product begins; for counters.
    output logic        busy_o
);

  typedef enum logic [4:0] {
    Clear,
    Stopped,
    Fetch,
    Fetched,
    Decode,
    Read,     // read a slot of an operand
    Take,
    Taken,    // an operand has been read
    Judge,
    Convert,  // convert points to Jacobian coordinates
    Begin,    // begin in the engine
    Alone,    // wait for a pairing that may divide by zero
    Copy,
    CopyWrite,
    Scalar,
    ScalarWait,
    ScalarWrite,
    SendCommand,
    SendIndex,
    SendLoad,
    SendWord,
    Drain
  } state_e;
  state_e state_q;

  // Instruction.
  typedef struct packed {
    logic [7:0] opcode;
    logic [7:0] zero;
    logic [15:0] a;
    logic [15:0] b;
    logic [15:0] c;
  } instruction_t;
  instruction_t instruction_q;
  opcode_e opcode;
  logic [15:0] counter_q;
  fault_e fault_q;
  logic stop_q, reset_q;
  assign opcode = opcode_e'(instruction_q.opcode);

  // Operands: which one is being read, which of its slots, and findings.
  logic which_q, mixed_q, range_q, equal_q;
  logic  [ 3:0] index_q;
  logic  [15:0] base_q;
  kind_e [ 1:0] kind_q;
  logic [1:0] zero_q, x_zero_q;
  logic [1:0][254:0] scalar_q;
  logic [254:0] result_q;
  logic [9:0] sweep_q;
  logic [2:0] word_q;
  logic loading_q;

  logic running;
  assign running = state_q != Stopped;

  // Host.
  logic reads_slot, resets, starts, stops, writes_counter, host_reads_instruction, host_reads_slot;
  logic [ 1:0] host_writes_instruction;
  logic [11:0] host_writes_slot;
  logic [9:0] host_instruction, host_slot;
  logic [ 63:0] instruction_data;
  logic [383:0] slot;
  bls12_381_host u_host (
      .clk_i,
      .rst_ni,
      .request_valid_i,
      .request_ready_o,
      .request_write_i,
      .request_address_i,
      .request_control_i    (request_data_i[2:0]),
      .response_valid_o,
      .response_data_o,
      .busy_i               (state_q == Clear || reset_q),
      .instructions_busy_i  (state_q == Fetch),
      .slots_busy_i         (reads_slot),
      .running_i            (running),
      .fault_i              (fault_q),
      .counter_i            (counter_q),
      .reset_o              (resets),
      .start_o              (starts),
      .stop_o               (stops),
      .counter_write_o      (writes_counter),
      .instruction_read_o   (host_reads_instruction),
      .instruction_write_o  (host_writes_instruction),
      .instruction_address_o(host_instruction),
      .instruction_i        (instruction_data),
      .slot_read_o          (host_reads_slot),
      .slot_write_o         (host_writes_slot),
      .slot_address_o       (host_slot),
      .slot_i               (slot)
  );

  // Instruction memory.
  ram_1r1w #(
      .Width(64),
      .Depth(1024),
      .Parts(2)
  ) u_instructions (
      .clk_i,
      .write_i        (state_q == Clear ? 2'b11 : host_writes_instruction),
      .write_address_i(state_q == Clear ? sweep_q : host_instruction),
      .write_data_i   (state_q == Clear ? '0 : {2{request_data_i}}),
      .read_i         (state_q == Fetch || host_reads_instruction),
      .read_address_i (state_q == Fetch ? counter_q[9:0] : host_instruction),
      .read_data_o    (instruction_data)
  );

  // Data memory. Results of the engine have priority, as they cannot wait.
  logic store;
  context_t store_context;
  logic [3:0] store_place;
  number_t store_number;
  result_t store_result;
  logic own_write;
  logic [9:0] own_address;
  logic [383:0] own_data;
  logic [11:0] data_write;
  logic [9:0] data_address;
  logic [383:0] data_in;
  logic [15:0] read_address;
  assign read_address = base_q + 16'(index_q);
  always_comb begin
    data_write = host_writes_slot;
    data_address = host_slot;
    data_in = {12{request_data_i}};
    if (state_q == Clear) begin
      data_write = '1;
      data_address = sweep_q;
      data_in = '0;
    end else if (store) begin
      data_write = {12{!store_result.dropped}};
      data_address = store_result.base[9:0] + 10'(store_place);
      data_in = {store_result.kind, store_number};
    end else if (own_write) begin
      data_write = '1;
      data_address = own_address;
      data_in = own_data;
    end
  end
  ram_1r1w #(
      .Width(384),
      .Depth(1024),
      .Parts(12)
  ) u_data (
      .clk_i,
      .write_i        (data_write),
      .write_address_i(data_address),
      .write_data_i   (data_in),
      .read_i         (reads_slot || host_reads_slot),
      .read_address_i (reads_slot ? read_address[9:0] : host_slot),
      .read_data_o    (slot)
  );

  // Results in flight.
  logic engine_ready, engine_finish, behind_memory, result_under_way, slot_under_way, none_under_way;
  context_t engine_context, finish_context;
  kind_e result_kind;
  logic [15:0] result_base;
  bls12_381_under_way u_under_way (
      .clk_i,
      .rst_ni,
      .clear_i         (state_q == Clear),
      .begin_i         (engine_ready),
      .begin_context_i (engine_context),
      .dropped_i       (behind_memory),
      .finish_i        (engine_finish),
      .finish_context_i(finish_context),
      .result_i        (result_base),
      .result_kind_i   (result_kind),
      .result_o        (result_under_way),
      .slot_i          (read_address),
      .slot_o          (slot_under_way),
      .none_o          (none_under_way),
      .store_context_i (store_context),
      .store_o         (store_result)
  );
  assign reads_slot = state_q == Read && !slot_under_way;

  // A slot that was read.
  kind_e slot_kind;
  number_t number, kept;
  logic below;
  assign slot_kind = kind_e'(slot[383:381]);
  assign number = slot[380:0];
  assign below = number < (slot_kind == KindScalar ? Order : verify_pkg::Bls12Prime);

  // Operands, for the engine and for local instructions.
  logic operand_write;
  logic [4:0] operand_place;
  number_t operand;
  bls12_381_convert u_convert (
      .clk_i,
      .take_i   (state_q == Take),
      .convert_i(state_q == Convert),
      .which_i  (which_q),
      .index_i  (index_q),
      .number_i (number),
      .kind_i   (kind_q),
      .zero_i   (zero_q),
      .write_o  (operand_write),
      .place_o  (operand_place),
      .operand_o(operand),
      .kept_o   (kept)
  );

  // Decoded action.
  logic wrong_type, divides, has_result, for_engine;
  logic [12:0] entry;
  bls12_381_judge u_judge (
      .opcode_i     (opcode),
      .field_i      ({instruction_q.c, instruction_q.b, instruction_q.a}),
      .kind_i       (kind_q),
      .zero_i       (zero_q),
      .type_o       (wrong_type),
      .division_o   (divides),
      .writes_o     (has_result),
      .result_o     (result_base),
      .result_kind_o(result_kind),
      .engine_o     (for_engine),
      .entry_o      (entry)
  );
  assign behind_memory = 17'(result_base) + 17'(kind_slots(result_kind)) > 17'd1024;

  // A Miller loop is zero only if one of its lines is zero, and a line is zero only if a coordinate x is: the
  // coefficients of the line at (x, y) are a constant, a multiple of x, and a multiple of y. So only a pairing of two
  // points with x = 0 may divide by zero; the coprocessor waits for its result.
  logic may_divide;
  assign may_divide = opcode == AtePairing && &x_zero_q;

  logic engine_loaded, engine_fault, inverse_valid;
  number_t inverse;
  work_t   work;
  assign work.entry = entry;
  assign work.pairing = opcode == AtePairing;
  assign work.trivial = opcode == PointMult ? zero_q[0] : |zero_q;
  assign work.position = opcode == PointMult ? 8'd254 : 8'd63;
  assign work.scalar = opcode == PointMult ? 256'(scalar_q[0]) : 256'(Parameter);
  bls12_381_engine u_engine (
      .clk_i,
      .rst_ni,
      .clear_i         (state_q == Clear),
      .operand_write_i (operand_write),
      .operand_place_i (operand_place),
      .operand_i       (operand),
      .valid_i         (state_q == Begin && !reset_q),
      .ready_o         (engine_ready),
      .work_i          (work),
      .context_o       (engine_context),
      .loaded_o        (engine_loaded),
      .store_o         (store),
      .store_context_o (store_context),
      .store_place_o   (store_place),
      .store_number_o  (store_number),
      .finish_o        (engine_finish),
      .finish_context_o(finish_context),
      .fault_o         (engine_fault),
      .scalar_valid_i  (state_q == Scalar && opcode == InvElement),
      .scalar_i        (number_t'(scalar_q[0])),
      .scalar_valid_o  (inverse_valid),
      .scalar_o        (inverse),
      .busy_o
  );
  `ASSERT(only_one_alone_divides_by_zero, !engine_fault || state_q == Alone)

  logic scalar_valid;
  logic [254:0] scalar_number;
  bls12_381_scalar u_scalar (
      .clk_i,
      .rst_ni,
      .clear_i   (state_q == Clear),
      .valid_i   (state_q == Scalar && opcode != InvElement),
      .multiply_i(opcode == MulElement),
      .subtract_i(opcode inside {SubElement, JumpNonzeroSub}),
      .a_i       (scalar_q[0]),
      .b_i       (opcode == JumpNonzeroSub ? 255'd1 : scalar_q[1]),
      .valid_o   (scalar_valid),
      .number_o  (scalar_number)
  );

  assign own_write = state_q inside {CopyWrite, ScalarWrite} && !store;
  assign own_address = result_base[9:0] + (state_q == CopyWrite ? 10'(index_q) : '0);
  assign own_data = state_q == CopyWrite ? {kind_q[0], kept} : {KindScalar, number_t'(result_q)};

  // Interrupts, big-endian.
  logic send_valid, send_ready, send_last;
  logic [63:0] send_data, send_bytes;
  logic [3:0] slots;
  logic last_slot;
  assign slots = kind_slots(kind_q[which_q]);
  assign last_slot = index_q + 1'b1 == slots;
  assign send_valid = state_q inside {SendCommand, SendIndex, SendWord};
  assign send_last = state_q == SendWord && last_slot && word_q == 3'd5;
  logic [5:0][63:0] words;
  assign words = {kind_q[0], kept};
  always_comb begin
    unique case (state_q)
      SendCommand: send_data = {32'h8000_0200, 32'd16 + 32'd48 * 32'(slots)};
      SendIndex:   send_data = 64'(instruction_q.b);
      default:     send_data = words[3'd5-word_q];
    endcase
    for (int unsigned at = 0; at < 8; at++) send_bytes[8*at+:8] = send_data[8*(7-at)+:8];
  end
  ram_fifo #(
      .Width(65),
      .Depth(256)
  ) u_interrupts (
      .clk_i,
      .rst_ni,
      .valid_i(send_valid),
      .ready_o(send_ready),
      .data_i ({send_last, send_bytes}),
      .valid_o(interrupt_valid_o),
      .ready_i(interrupt_ready_i),
      .data_o ({interrupt_last_o, interrupt_data_o})
  );

  // Number of operand fields of an instruction, and which operands are read.
  function automatic logic [2:0] fields(input opcode_e code);
    unique case (code)
      NoopWait: return 3'd0;
      Jump: return 3'd1;
      CopyReg, JumpNonzeroSub, SendInterrupt, InvElement, FinalExp: return 3'd2;
      JumpIfEq, MulElement, AddElement, SubElement, PointMult, MillerLoop, AtePairing: return 3'd3;
      default: return 3'd7;
    endcase
  endfunction
  logic wrong_opcode, two_operands;
  logic [2:0] field_count;
  assign field_count = fields(opcode);
  assign wrong_opcode = field_count == 3'd7 || instruction_q.zero != '0 || (field_count < 3'd3 && instruction_q.c != '0)
      || (field_count < 3'd2 && instruction_q.b != '0) || (field_count < 3'd1 && instruction_q.a != '0);
  assign two_operands = field_count == 3'd3;

  // Next instruction, and the reason for stopping.
  logic ends, jumps, stopping;
  fault_e fault;
  always_comb begin
    {ends, jumps, stopping} = '0;
    fault = FaultNone;
    unique case (state_q)
      Fetch: begin
        if (stop_q) stopping = 1'b1;
        else if (counter_q >= 16'd1024) fault = FaultCounter;
      end
      Decode: begin
        if (wrong_opcode) fault = FaultOpcode;
        else if (opcode == NoopWait) stopping = 1'b1;
        else if (opcode == Jump) jumps = 1'b1;
      end
      Read: if (read_address >= 16'd1024 || read_address < base_q) fault = FaultAddress;
      Take: if (index_q == '0 && 17'(base_q) + 17'(kind_slots(slot_kind)) > 17'd1024) fault = FaultAddress;
      Taken: begin
        if (mixed_q) fault = FaultType;
        else if (range_q) fault = FaultRange;
      end
      Judge: begin
        if (wrong_type) fault = FaultType;
        else if (divides) fault = FaultDivision;
        else if (has_result && behind_memory && !may_divide) fault = FaultAddress;
        else if (opcode == JumpIfEq) {jumps, ends} = {equal_q, !equal_q};
        else if (opcode == JumpNonzeroSub) ends = zero_q[0];
      end
      Begin: ends = engine_ready && !may_divide;
      Alone: begin
        if (engine_fault) fault = FaultDivision;
        else if (engine_finish && behind_memory) fault = FaultAddress;
        else ends = engine_finish;
      end
      CopyWrite: ends = own_write && last_slot;
      ScalarWrite: begin
        ends  = own_write && opcode != JumpNonzeroSub;
        jumps = own_write && opcode == JumpNonzeroSub;
      end
      SendWord: ends = send_ready && send_last;
      default: ;
    endcase
  end

  logic is_sending;
  assign is_sending = state_q inside {SendCommand, SendIndex, SendLoad, SendWord};
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= Clear;
    end else if (reset_q && !is_sending) begin
      state_q <= Clear;
    end else if (fault != FaultNone || stopping) begin
      state_q <= Drain;
    end else if (ends || jumps) begin
      state_q <= Fetch;
    end else begin
      unique case (state_q)
        Clear: if (sweep_q == '1) state_q <= Stopped;
        Stopped: if (starts) state_q <= Fetch;
        Fetch: state_q <= Fetched;
        Fetched: state_q <= Decode;
        // The engine must have read the previous operands.
        Decode: if (!loading_q) state_q <= Read;
        Read: if (reads_slot) state_q <= Take;
        Take: state_q <= index_q + 1'b1 == kind_slots(index_q == '0 ? slot_kind : kind_q[which_q]) ? Taken : Read;
        Taken: state_q <= two_operands && !which_q ? Read : Judge;
        Judge: begin
          if (opcode == SendInterrupt) state_q <= SendCommand;
          else if (may_divide ? none_under_way : !result_under_way) begin
            state_q <= opcode == CopyReg ? Copy : for_engine ? Convert : Scalar;
          end
        end
        Convert: if (index_q == 4'd11) state_q <= Begin;
        Begin: if (engine_ready) state_q <= Alone;
        Copy: state_q <= CopyWrite;
        CopyWrite: if (own_write) state_q <= Copy;
        Scalar: state_q <= ScalarWait;
        ScalarWait: if (scalar_valid || inverse_valid) state_q <= ScalarWrite;
        SendCommand: if (send_ready) state_q <= SendIndex;
        SendIndex: if (send_ready) state_q <= SendLoad;
        SendLoad: state_q <= SendWord;
        SendWord: if (send_ready && word_q == 3'd5) state_q <= SendLoad;
        Drain: if (none_under_way) state_q <= Stopped;
        default: ;
      endcase
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      counter_q <= '0;
      fault_q   <= FaultNone;
      stop_q    <= 1'b0;
      reset_q   <= 1'b0;
      sweep_q   <= '0;
      loading_q <= 1'b0;
    end else if (state_q == Clear) begin
      counter_q <= '0;
      fault_q   <= FaultNone;
      stop_q    <= 1'b0;
      reset_q   <= 1'b0;
      sweep_q   <= sweep_q + 1'b1;
      loading_q <= 1'b0;
    end else begin
      if (resets) reset_q <= 1'b1;
      stop_q <= (stop_q || stops) && running;
      if (starts) fault_q <= FaultNone;
      if (fault != FaultNone) fault_q <= fault;
      if (writes_counter) counter_q <= request_data_i[15:0];
      if (ends) counter_q <= counter_q + 1'b1;
      if (jumps) counter_q <= instruction_q.a;
      loading_q <= (loading_q || (state_q == Begin && engine_ready)) && !engine_loaded;
    end
  end

  always_ff @(posedge clk_i) begin
    if (state_q == Fetched) instruction_q <= instruction_data;
    unique case (state_q)
      Decode: begin
        which_q <= 1'b0;
        index_q <= '0;
        base_q <= opcode inside {JumpIfEq, JumpNonzeroSub} ? instruction_q.b : instruction_q.a;
        {mixed_q, range_q} <= '0;
        equal_q <= 1'b1;
        zero_q <= '1;
        x_zero_q <= '1;
        kind_q <= {KindScalar, KindScalar};
      end
      Take: begin
        if (index_q == '0) begin
          kind_q[which_q] <= slot_kind;
          scalar_q[which_q] <= number[254:0];
        end else begin
          mixed_q <= mixed_q || slot_kind != kind_q[which_q];
        end
        range_q <= range_q || !below;
        if (number != '0) begin
          zero_q[which_q] <= 1'b0;
          if (index_q == '0 || (which_q && index_q == 4'd1)) x_zero_q[which_q] <= 1'b0;
        end
        // Compares the second operand with the first.
        if (which_q) equal_q <= equal_q && number == kept && slot_kind == kind_q[0];
        index_q <= index_q + 1'b1;
      end
      Taken: begin
        index_q <= '0;
        if (two_operands) which_q <= 1'b1;
        base_q <= opcode == JumpIfEq ? instruction_q.c : instruction_q.b;
      end
      Judge: begin
        index_q <= '0;
        which_q <= 1'b0;
      end
      Convert: index_q <= opcode inside {AddElement, SubElement, PointMult} ? index_q + 1'b1 : 4'd11;
      CopyWrite: if (own_write) index_q <= index_q + 1'b1;
      ScalarWait: result_q <= inverse_valid ? inverse[254:0] : scalar_number;
      SendLoad: word_q <= '0;
      SendWord: begin
        if (send_ready) begin
          word_q <= word_q + 1'b1;
          if (word_q == 3'd5) index_q <= index_q + 1'b1;
        end
      end
      default: ;
    endcase
  end

endmodule
