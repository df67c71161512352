// Headers of Ethernet, IPv4 and UDP as on the wire, most significant bit first, and their checksum arithmetic.
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

  // The 64-byte packet that carries a compact frame, or the first bytes of a longer packet.
  typedef struct packed {
    ethernet_t ethernet;
    ipv4_t ipv4;
    udp_t udp;
    frame_pkg::compact_frame_t compact;
  } packet_t;

  // Internally, packets are streams of 64-byte words, whatever the width of the ports.
  localparam int unsigned WordWidth = 512;
  localparam int unsigned WordBytes = WordWidth / 8;
  // Longest packet that an engine takes: an Ethernet frame of 1,514 bytes without its check sequence. Verify frames may
  // be longer, as a header with a solution of Equihash (200,9) takes 1,577 bytes: up to what a queue of 32 words has
  // room for while the checksums are computed.
  localparam int unsigned LongestPacket = 1514;
  localparam int unsigned LongestVerify = 1792;
  localparam int unsigned ShortWords = (LongestPacket + WordBytes - 1) / WordBytes;
  localparam int unsigned PacketWords = (LongestVerify + WordBytes - 1) / WordBytes;

  typedef struct packed {
    logic last;
    logic [WordBytes-1:0] keep;
    logic [WordWidth-1:0] data;
  } word_t;

  // Engine that a packet is for.
  typedef enum logic [2:0] {
    ForHost    = 3'd0,
    ForCompact = 3'd1,
    ForBatch   = 3'd2,
    ForProof   = 3'd3,
    ForVerify  = 3'd4,
    ForKv      = 3'd5
  } engine_e;

  localparam logic [15:0] EthernetIpv4 = 16'h0800;
  localparam logic [7:0] ProtocolUdp = 8'd17;
  localparam int unsigned EthernetBytes = $bits(ethernet_t) / 8;
  localparam int unsigned Ipv4Bytes = $bits(ipv4_t) / 8;
  localparam int unsigned UdpBytes = $bits(udp_t) / 8;
  // Length in the UDP header of a compact frame.
  localparam logic [15:0] UdpLength = 16'(UdpBytes + $bits(frame_pkg::compact_frame_t) / 8);
  // Initial TTL of replies, as hosts use (RFC 1700).
  localparam logic [7:0] TimeToLive = 8'd64;

  // Converts between the byte order of streams, first byte lowest, and that of the structures above, first byte
  // highest.
  function automatic logic [511:0] swap_bytes(logic [511:0] data);
    logic [511:0] swapped;
    for (int at = 0; at < 64; at++) swapped[8*at+:8] = data[8*(63-at)+:8];
    return swapped;
  endfunction

  // Bytes of a word below a count, in two steps: eight bytes, then one.
  function automatic logic [WordBytes-1:0] first_bytes(logic [$clog2(WordBytes):0] count);
    logic [WordBytes-1:0] first;
    for (int unsigned at = 0; at < WordBytes; at++) begin
      first[at] = count[6] || 32'(count[5:3]) > at / 8 || (32'(count[5:3]) == at / 8 && 32'(count[2:0]) > at % 8);
    end
    return first;
  endfunction

  // One's complement sum with end-around carry, as in internet checksums (RFC 1071).
  function automatic logic [15:0] add(logic [15:0] left, logic [15:0] right);
    logic [16:0] sum;
    sum = {1'b0, left} + {1'b0, right};
    return sum[15:0] + 16'(sum[16]);
  endfunction

  // Carry-save adder: three numbers to two with the same sum, a full adder per bit, no carry chain.
  function automatic logic [1:0][15:0] save(logic [15:0] a, logic [15:0] b, logic [15:0] c);
    logic [15:0] carries;
    carries = a & b | a & c | b & c;
    return {a ^ b ^ c, carries[14:0], carries[15]};
  endfunction

  // `add` of three numbers.
  function automatic logic [15:0] add_three(logic [15:0] a, logic [15:0] b, logic [15:0] c);
    logic [1:0][15:0] two;
    two = save(a, b, c);
    return add(two[1], two[0]);
  endfunction

  // Turns a request's headers around: swaps addresses and ports, and resets the TTL. Lengths, checksums and frame are
  // unchanged.
  function automatic packet_t swap_addresses(packet_t request);
    packet_t reply;
    reply = request;
    reply.ethernet.destination = request.ethernet.source;
    reply.ethernet.source = request.ethernet.destination;
    reply.ipv4.source = request.ipv4.destination;
    reply.ipv4.destination = request.ipv4.source;
    reply.ipv4.time_to_live = TimeToLive;
    reply.udp.source = request.udp.destination;
    reply.udp.destination = request.udp.source;
    return reply;
  endfunction

  // IPv4 header checksum of the reply, updated incrementally (RFC 1624, equation 3): swapping does not change a sum.
  function automatic logic [15:0] reply_checksum(ipv4_t request);
    return ~add_three(~request.checksum, ~{request.time_to_live, 8'b0}, {TimeToLive, 8'b0});
  endfunction
endpackage
