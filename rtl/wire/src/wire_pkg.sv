// Headers of Ethernet, IPv4 and UDP as they are on the wire, most significant bit first, and the arithmetic of their checksums.
package wire_pkg;
  typedef struct packed {
    logic [47:0] destination;
    logic [47:0] source;
    logic [15:0] kind;
  } ethernet_t;

  // Without options.
  typedef struct packed {
    logic [3:0]  version;
    logic [3:0]  header_words;
    logic [7:0]  service;
    logic [15:0] length;
    logic [15:0] identification;
    logic        reserved;
    logic        dont_fragment;
    logic        more_fragments;
    logic [12:0] fragment_offset;
    logic [7:0]  time_to_live;
    logic [7:0]  protocol;
    logic [15:0] checksum;
    logic [31:0] source;
    logic [31:0] destination;
  } ipv4_t;

  typedef struct packed {
    logic [15:0] source;
    logic [15:0] destination;
    logic [15:0] length;
    logic [15:0] checksum;
  } udp_t;

  // The compact transfer frame of docs/protocol.md.
  typedef struct packed {
    logic [31:0] command;
    logic [31:0] transaction;
    logic [31:0] source;
    logic [31:0] destination;
    logic [31:0] amount;
    logic [15:0] status;
  } compact_t;

  // The packet of 64 bytes that carries one.
  typedef struct packed {
    ethernet_t ethernet;
    ipv4_t ipv4;
    udp_t udp;
    compact_t compact;
  } packet_t;

  localparam logic [15:0] EthernetIpv4 = 16'h0800;
  localparam logic [7:0] ProtocolUdp = 8'd17;
  localparam logic [15:0] UdpLength = 16'd30;
  localparam logic [15:0] Ipv4Length = 16'd50;
  // The first two bytes of every frame but the compact one.
  localparam logic [15:0] Magic = 16'h5450;
  // What a reply starts with, as hosts do (RFC 1700).
  localparam logic [7:0] TimeToLive = 8'd64;

  // Between the byte order of streams, first byte lowest, and that of the structures above, first byte highest.
  function automatic logic [511:0] swap_bytes(logic [511:0] data);
    logic [511:0] swapped;
    for (int at = 0; at < 64; at++) swapped[8*at+:8] = data[8*(63-at)+:8];
    return swapped;
  endfunction

  // Sum with the carry brought around: what internet checksums are made of (RFC 1071).
  function automatic logic [15:0] add(logic [15:0] left, logic [15:0] right);
    logic [16:0] sum;
    sum = {1'b0, left} + {1'b0, right};
    return sum[15:0] + 16'(sum[16]);
  endfunction
endpackage
