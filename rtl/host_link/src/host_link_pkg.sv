// Frames of the link between a NIC and its node over an Ethernet cable, see docs/board.md.
package host_link_pkg;
  // IEEE's EtherType for local experiments, then "TL".
  localparam logic [15:0] EtherType = 16'h88b5;
  localparam logic [15:0] Magic = 16'h544c;

  localparam int unsigned WordBytes = 16;
  // A segment's payload: with both header words it fits a frame that a host sends without jumbo frames.
  localparam int unsigned SegmentWords = 64;

  typedef logic [15:0] sequence_t;

  // The first word of a frame, the first byte highest.
  typedef struct packed {
    logic [47:0] destination;
    logic [47:0] source;
    logic [15:0] ether_type;
    logic [15:0] magic;
  } address_word_t;

  // The second word.
  typedef struct packed {
    // Chosen by the node for each connection: frames of another one are ignored.
    logic [31:0] session;
    logic [12:0] reserved;
    // Set in a segment; otherwise the frame only acknowledges.
    logic        has_data;
    // The segment begins a packet, or ends one.
    logic        first;
    logic        last;
    // Payload in bytes: short frames are padded.
    logic [15:0] length;
    // Number of this segment, and of the next one that the sender of this frame expects.
    sequence_t   number;
    sequence_t   expected;
    // The packet's kind, port and id: nic_pkg's meta_t.
    logic [31:0] meta;
  } header_word_t;

  // Words of a stream have the first byte lowest.
  function automatic logic [127:0] swap_bytes(logic [127:0] word);
    for (int unsigned b = 0; b < WordBytes; b++) swap_bytes[8*b+:8] = word[8*(WordBytes-1-b)+:8];
  endfunction
endpackage
