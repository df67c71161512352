// Which frames the application block takes: those for the NIC out of the network's, and those of the host link out of
// the host's. It decides by a frame's first word.
package mqnic_app_pkg;
  import wire_pkg::*;

  localparam logic [15:0] EthernetArp = 16'h0806;

  // ARP for IPv4 (RFC 826).
  typedef struct packed {
    logic [15:0] hardware_type;
    logic [15:0] protocol_type;
    logic [7:0]  hardware_bytes;
    logic [7:0]  protocol_bytes;
    logic [15:0] operation;
    logic [47:0] sender_hardware;
    logic [31:0] sender;
    logic [47:0] target_hardware;
    logic [31:0] target;
  } arp_t;
  localparam int unsigned ArpBytes = $bits(arp_t) / 8;

  // The first word of a frame that is part of ARP.
  typedef struct packed {
    ethernet_t ethernet;
    arp_t arp;
    logic [WordWidth-$bits(ethernet_t)-$bits(arp_t)-1:0] rest;
  } arp_word_t;

  // Outputs of the router of a port's received frames; none: the frame is dropped.
  localparam int unsigned RxToNic = 0;
  localparam int unsigned RxToHost = 1;
  localparam int unsigned RxOutputs = 2;
  // Outputs of the router of the host's frames.
  localparam int unsigned TxToLink = 0;
  localparam int unsigned TxToNetwork = 1;
  localparam int unsigned TxOutputs = 2;

  // A frame from the network, the first byte of its first word lowest. The NIC gets IPv4 and ARP for its address. Only
  // the block sends frames of the host link in its name, so others do not reach the host.
  function automatic logic [RxOutputs-1:0] route_received(logic [WordWidth-1:0] data, logic [WordBytes-1:0] keep,
                                                          logic run, logic [31:0] address, logic [47:0] mac);
    packet_t   packet;
    arp_word_t arp_word;
    logic for_nic, forged;
    packet = swap_bytes(data);
    arp_word = swap_bytes(data);
    for_nic = packet.ethernet.kind == EthernetIpv4 && packet.ipv4.destination == address &&
        keep[EthernetBytes+Ipv4Bytes-1];
    for_nic |= packet.ethernet.kind == EthernetArp && arp_word.arp.target == address && keep[EthernetBytes+ArpBytes-1];
    forged = packet.ethernet.kind == host_link_pkg::EtherType && packet.ethernet.source == mac;
    route_received = '0;
    route_received[RxToNic] = for_nic && run;
    route_received[RxToHost] = !(for_nic && run) && !forged;
  endfunction

  // A frame from the host: the host link's go to the block's address, or to any board.
  function automatic logic [TxOutputs-1:0] route_sent(logic [WordWidth-1:0] data, logic [WordBytes-1:0] keep,
                                                      logic [47:0] mac);
    host_link_pkg::address_word_t addresses;
    logic is_link;
    addresses = host_link_pkg::swap_bytes(data[8*host_link_pkg::WordBytes-1:0]);
    is_link = addresses.ether_type == host_link_pkg::EtherType && keep[host_link_pkg::WordBytes-1];
    is_link &= addresses.destination == mac || addresses.destination == '1;
    is_link &= addresses.magic == host_link_pkg::LinkMagic || addresses.magic == host_link_pkg::RegisterMagic;
    route_sent = '0;
    route_sent[TxToLink] = is_link;
    route_sent[TxToNetwork] = !is_link;
  endfunction
endpackage
