// The first stage: which packets are compact transfer frames for this node. All others go to the host as they came.
//
// A transfer is one word of 64 bytes: Ethernet, IPv4 without options and not a fragment, UDP, to this node's address and port, both
// checksums right. What the host would not answer goes to the host as well: a reply that came back, and packets from its own port.
// Latency 3 cycles. A transfer that waits holds up the host's packets behind it, and the other way round: there is one order.

`include "assertions.svh"
`include "registers.svh"

module packet_selector
  import wire_pkg::*;
#(
    localparam int unsigned DataWidth = 512,
    localparam int unsigned KeepWidth = DataWidth / 8
) (
    input  logic                 clk_i,
    input  logic                 rst_ni,
    // This node, and from where unsigned operations are taken; constant while packets move.
    input  logic [         31:0] address_i,
    input  logic [         15:0] port_i,
    input  logic [         31:0] trusted_address_i,
    input  logic [         31:0] trusted_mask_i,
    input  logic                 valid_i,
    output logic                 ready_o,
    input  logic [DataWidth-1:0] data_i,
    input  logic [KeepWidth-1:0] keep_i,
    input  logic                 last_i,
    // To the host.
    output logic                 host_valid_o,
    input  logic                 host_ready_i,
    output logic [DataWidth-1:0] host_data_o,
    output logic [KeepWidth-1:0] host_keep_o,
    output logic                 host_last_o,
    // To the command extractor.
    output logic                 transfer_valid_o,
    input  logic                 transfer_ready_i,
    output packet_t              transfer_packet_o,
    output logic                 transfer_trusted_o
);
  localparam int unsigned Stages = 3;
  // MALFORMED, which compact replies carry that must not be answered again.
  localparam logic [15:0] Malformed = 16'd33;

  typedef struct packed {
    logic last;
    logic [KeepWidth-1:0] keep;
    logic [DataWidth-1:0] data;
    logic shaped;
    logic trusted;
  } word_t;

  logic [Stages:1] valid_q;
  word_t word, word_q[1:Stages];
  logic first_q, shaped, right, move, ours, leaves;
  packet_t packet;

  assign packet = swap_bytes(data_i);
  always_comb begin
    shaped = first_q && last_i && keep_i == '1;
    shaped &= packet.ethernet.kind == EthernetIpv4;
    shaped &= {packet.ipv4.version, packet.ipv4.header_words} == {4'd4, 4'd5} && packet.ipv4.length == Ipv4Length;
    shaped &= !packet.ipv4.reserved && !packet.ipv4.more_fragments && packet.ipv4.fragment_offset == '0;
    shaped &= packet.ipv4.protocol == ProtocolUdp && packet.ipv4.destination == address_i;
    shaped &= packet.udp.destination == port_i && packet.udp.length == UdpLength;
    shaped &= packet.udp.source != port_i && packet.udp.source != '0;
    shaped &= packet.compact.command[31:16] != Magic && packet.compact.status != Malformed;
    word.last = last_i;
    word.keep = keep_i;
    word.data = data_i;
    word.shaped = shaped;
    word.trusted = ((packet.ipv4.source ^ trusted_address_i) & trusted_mask_i) == '0;
  end

  assign move = !valid_q[Stages] || leaves;
  assign ready_o = move;
  `FFE(first_q, last_i, valid_i && ready_o, 1'b1)
  `FFE(valid_q, {valid_q[Stages-1:1], valid_i}, move, '0)
  `FFNE(word_q[1], word, move)
  for (genvar stage = 2; stage <= Stages; stage++) begin : gen_stage
    `FFNE(word_q[stage], word_q[stage-1], move)
  end

  checksum_check u_checksums (
      .clk_i,
      .move_i  (move),
      .packet_i(packet),
      .right_o (right)
  );

  assign ours = word_q[Stages].shaped && right;
  assign leaves = ours ? transfer_ready_i : host_ready_i;
  assign transfer_valid_o = valid_q[Stages] && ours;
  assign transfer_packet_o = swap_bytes(word_q[Stages].data);
  assign transfer_trusted_o = word_q[Stages].trusted;
  assign host_valid_o = valid_q[Stages] && !ours;
  assign host_data_o = word_q[Stages].data;
  assign host_keep_o = word_q[Stages].keep;
  assign host_last_o = word_q[Stages].last;
endmodule
