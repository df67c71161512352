// Made by rtl/nic/csr.py of rtl/nic/csr.yml; change that.
//
// An access takes one cycle and is never refused: what was read is there in the next. Words that are no register read 0.

`include "registers.svh"

module nic_csr
  import nic_csr_pkg::*;
#(
    parameter int unsigned Ports         = 4,
    parameter int unsigned Retries       = 1024,
    parameter int unsigned VerifyEngines = 0
) (
    input  logic                    clk_i,
    input  logic                    rst_ni,
    input  logic                    valid_i,
    input  logic                    write_i,
    input  logic [AddressWidth-1:0] address_i,
    input  logic [            31:0] write_data_i,
    output logic                    read_valid_o,
    output logic [            31:0] read_data_o,
    output config_t                 config_o,
    input  events_t                 events_i
);
  localparam int unsigned Counters = 39;
  localparam int unsigned CounterWidth = $clog2(Counters);

  logic write, read;
  number_t word;
  assign write = valid_i && write_i;
  assign read  = valid_i && !write_i;
  assign word  = address_i[AddressWidth-1:2];
  logic [1:0] unused_byte;
  assign unused_byte = address_i[1:0];

  `FFE(config_o.control, write_data_i[7:0], write && word == ControlWord, '0)
  `FFE(config_o.address, write_data_i, write && word == AddressWord, '0)
  `FFE(config_o.udp_port, write_data_i[15:0], write && word == UdpPortWord, '0)
  `FFE(config_o.promise, write_data_i[7:0], write && word == PromiseWord, '0)
  `FFE(config_o.trusted_address, write_data_i, write && word == TrustedAddressWord, '0)
  `FFE(config_o.trusted_mask, write_data_i, write && word == TrustedMaskWord, '0)
  `FFE(config_o.account_limit, write_data_i, write && word == AccountLimitWord, '0)
  `FFE(config_o.retry_tick, write_data_i[0:0], write && word == RetryTickWord, '0)
  `FFE(config_o.secret[0+:32], write_data_i, write && word == SecretWord + number_t'(0), '0)
  `FFE(config_o.secret[32+:32], write_data_i, write && word == SecretWord + number_t'(1), '0)
  `FFE(config_o.secret[64+:32], write_data_i, write && word == SecretWord + number_t'(2), '0)
  `FFE(config_o.secret[96+:32], write_data_i, write && word == SecretWord + number_t'(3), '0)
  `FFE(config_o.proof_secret[0+:32], write_data_i, write && word == ProofSecretWord + number_t'(0), '0)
  `FFE(config_o.proof_secret[32+:32], write_data_i, write && word == ProofSecretWord + number_t'(1), '0)
  `FFE(config_o.proof_secret[64+:32], write_data_i, write && word == ProofSecretWord + number_t'(2), '0)
  `FFE(config_o.proof_secret[96+:32], write_data_i, write && word == ProofSecretWord + number_t'(3), '0)
  `FFE(config_o.proof_secret[128+:32], write_data_i, write && word == ProofSecretWord + number_t'(4), '0)
  `FFE(config_o.proof_secret[160+:32], write_data_i, write && word == ProofSecretWord + number_t'(5), '0)
  `FFE(config_o.proof_secret[192+:32], write_data_i, write && word == ProofSecretWord + number_t'(6), '0)
  `FFE(config_o.proof_secret[224+:32], write_data_i, write && word == ProofSecretWord + number_t'(7), '0)
  `FFE(config_o.proof_secret[256+:32], write_data_i, write && word == ProofSecretWord + number_t'(8), '0)
  `FFE(config_o.proof_secret[288+:32], write_data_i, write && word == ProofSecretWord + number_t'(9), '0)
  `FFE(config_o.proof_secret[320+:32], write_data_i, write && word == ProofSecretWord + number_t'(10), '0)
  `FFE(config_o.proof_secret[352+:32], write_data_i, write && word == ProofSecretWord + number_t'(11), '0)
  `FFE(config_o.proof_secret[384+:32], write_data_i, write && word == ProofSecretWord + number_t'(12), '0)
  `FFE(config_o.proof_secret[416+:32], write_data_i, write && word == ProofSecretWord + number_t'(13), '0)
  `FFE(config_o.proof_secret[448+:32], write_data_i, write && word == ProofSecretWord + number_t'(14), '0)
  `FFE(config_o.proof_secret[480+:32], write_data_i, write && word == ProofSecretWord + number_t'(15), '0)

  // Counters, and the upper half of the one that was read last.
  logic [Counters-1:0] counts;
  logic [Counters-1:0][63:0] counter_q;
  logic [CounterWidth-1:0] counter;
  logic [31:0] upper_q;
  logic is_counter;
  assign counts = {
    events_i.verify_headers,
    events_i.verify_roots,
    events_i.verify_signatures,
    events_i.verify_passed,
    events_i.verify_packets,
    events_i.rx_dropped,
    events_i.host_dropped,
    events_i.sent_packets,
    events_i.host_packets,
    events_i.fills_refused,
    events_i.fills,
    events_i.proof_misses,
    events_i.proof_hits,
    events_i.operations,
    events_i.batch_packets,
    events_i.compact_packets,
    events_i.tx_packets,
    events_i.rx_packets
  };
  for (genvar at = 0; at < Counters; at++) begin : gen_counter
    `FFE(counter_q[at], counter_q[at] + 1'b1, counts[at], '0)
  end
  assign is_counter = word >= RxPacketsWord && word < RxPacketsWord + number_t'(2 * Counters);
  assign counter = CounterWidth'((word - RxPacketsWord) >> 1);
  `FFNE(upper_q, counter_q[counter][63:32], read && is_counter && !word[0])

  logic [31:0] value;
  always_comb begin
    value = '0;
    if (is_counter) value = word[0] ? upper_q : counter_q[counter][31:0];
    case (word)
      IdWord: value = 32'h54504e49;
      VersionWord: value = 32'd4;
      PortsWord: value = 32'(Ports);
      RetriesWord: value = 32'(Retries);
      ControlWord: value = 32'(config_o.control);
      AddressWord: value = 32'(config_o.address);
      UdpPortWord: value = 32'(config_o.udp_port);
      PromiseWord: value = 32'(config_o.promise);
      TrustedAddressWord: value = 32'(config_o.trusted_address);
      TrustedMaskWord: value = 32'(config_o.trusted_mask);
      AccountLimitWord: value = 32'(config_o.account_limit);
      RetryTickWord: value = 32'(config_o.retry_tick);
      VerifyEnginesWord: value = 32'(VerifyEngines);
      default: ;
    endcase
  end
  `FF(read_valid_o, read, 1'b0)
  `FFNE(read_data_o, value, read)
endmodule
