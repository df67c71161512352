// Headers of a reply, up to memcached's own: the request's with addresses and ports swapped, and new lengths. The UDP
// checksum is zero until checksum_writer adds it.

module kv_frame
  import wire_pkg::*;
  import memcached_pkg::*;
  import kv_pkg::*;
(
    input  logic   [      WordWidth-1:0] packet_i,  // the request's first word
    input  logic   [BodyLengthWidth-1:0] total_i,   // bytes of the reply
    output frame_t                       frame_o,
    output logic                         none_o     // the request has no UDP checksum, so the reply gets none
);
  packet_t request, swapped;
  assign request = swap_bytes(packet_i);
  assign swapped = swap_addresses(request);
  assign none_o  = request.udp.checksum == '0;
  always_comb begin
    frame_o.ethernet = swapped.ethernet;
    frame_o.ipv4 = swapped.ipv4;
    frame_o.ipv4.length = 16'(total_i) - 16'(EthernetBytes);
    // The TTL and the length have changed (RFC 1624, equation 3).
    frame_o.ipv4.checksum = ~add_three(~reply_checksum(request.ipv4), ~request.ipv4.length, frame_o.ipv4.length);
    frame_o.udp = swapped.udp;
    frame_o.udp.length = 16'(total_i) - 16'(EthernetBytes + Ipv4Bytes);
    frame_o.udp.checksum = '0;
    frame_o.datagram = '0;
    frame_o.datagram.id = swapped.compact[$bits(swapped.compact)-1-:16];
    frame_o.datagram.datagrams = 16'd1;
  end

  logic unused_fields;
  assign unused_fields = ^{request, swapped};
endmodule
