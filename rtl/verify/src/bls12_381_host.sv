// Host interface of the pairing coprocessor: registers and both memories in one map of words. A request is accepted
// when nothing else uses its target, and answered a cycle later. Writes to targets that are read-only while a program
// runs have no effect then.

`include "registers.svh"

module bls12_381_host
  import bls12_381_codes_pkg::*;
  import bls12_381_coprocessor_pkg::*;
(
    input  logic         clk_i,
    input  logic         rst_ni,
    input  logic         request_valid_i,
    output logic         request_ready_o,
    input  logic         request_write_i,
    input  logic [ 16:0] request_address_i,
    // Bits of the written word that concern the control register: reset, start, stop.
    input  logic [  2:0] request_control_i,
    // For reads.
    output logic         response_valid_o,
    output logic [ 31:0] response_data_o,
    // Reasons to hold requests: all of them, or those to a memory.
    input  logic         busy_i,
    input  logic         instructions_busy_i,
    input  logic         slots_busy_i,
    // Registers.
    input  logic         running_i,
    input  fault_e       fault_i,
    input  logic [ 15:0] counter_i,
    output logic         reset_o,
    output logic         start_o,
    output logic         stop_o,
    output logic         counter_write_o,
    // Memories. One write enable per word, the first word highest; read data come a cycle later.
    output logic         instruction_read_o,
    output logic [  1:0] instruction_write_o,
    output logic [  9:0] instruction_address_o,
    input  logic [ 63:0] instruction_i,
    output logic         slot_read_o,
    output logic [ 11:0] slot_write_o,
    output logic [  9:0] slot_address_o,
    input  logic [383:0] slot_i
);

  typedef enum logic [14:0] {
    RegisterIdentification = 15'd0,
    RegisterControl = 15'd1,
    RegisterStatus = 15'd2,
    RegisterCounter = 15'd3
  } register_e;

  logic request, reads, writes, controls, of_slots, of_instructions;
  logic [14:0] word_number;
  logic [ 3:0] word;
  assign of_slots = request_address_i[16];
  assign of_instructions = request_address_i[16:13] == 4'd1;
  assign word_number = request_address_i[16:2];
  assign word = request_address_i[5:2];
  assign request_ready_o = !busy_i && !(of_slots && slots_busy_i) && !(of_instructions && instructions_busy_i);
  assign request = request_valid_i && request_ready_o;
  assign reads = request && !request_write_i;
  assign writes = request && request_write_i;

  assign controls = writes && word_number == RegisterControl;
  assign reset_o = controls && request_control_i[0];
  assign start_o = controls && request_control_i[1] && !running_i;
  assign stop_o = controls && request_control_i[2] && running_i;
  assign counter_write_o = writes && word_number == RegisterCounter && !running_i;

  assign instruction_address_o = request_address_i[12:3];
  assign instruction_read_o = reads && of_instructions;
  assign instruction_write_o = writes && of_instructions && !running_i ? (request_address_i[2] ? 2'b01 : 2'b10) : 2'b00;
  assign slot_address_o = request_address_i[15:6];
  assign slot_read_o = reads && of_slots;
  always_comb begin
    for (int unsigned each = 0; each < 12; each++) begin
      slot_write_o[11-each] = writes && of_slots && !running_i && word == 4'(each);
    end
  end

  // Responses.
  typedef enum logic [1:0] {
    FromRegisters,
    FromInstructions,
    FromSlots
  } source_e;
  source_e source_q;
  logic [31:0] register_q;
  logic [3:0] word_q;
  `FF(response_valid_o, reads, 1'b0)
  always_ff @(posedge clk_i) begin
    source_q <= of_slots ? FromSlots : of_instructions ? FromInstructions : FromRegisters;
    word_q   <= word;
    unique case (word_number)
      RegisterIdentification: register_q <= 32'h54504350;
      RegisterStatus: register_q <= running_i ? 32'd1 : {21'd0, fault_i, 6'd0, fault_i != FaultNone, 1'b0};
      RegisterCounter: register_q <= {16'd0, counter_i};
      default: register_q <= '0;
    endcase
  end
  logic [15:0][31:0] slot_words;
  always_comb begin
    slot_words = '0;
    for (int unsigned each = 0; each < 12; each++) slot_words[each] = slot_i[32*(11-each)+:32];
    unique case (source_q)
      FromSlots: response_data_o = slot_words[word_q];
      FromInstructions: response_data_o = word_q[0] ? instruction_i[31:0] : instruction_i[63:32];
      default: response_data_o = register_q;
    endcase
  end

endmodule
