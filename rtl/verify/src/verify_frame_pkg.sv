// Verify frames on the NIC: metadata of a message on its way through an engine.

package verify_frame_pkg;
  import wire_pkg::*;

  // Number of frames in the engines at a time, and maximum messages per frame: the shortest message for an engine has
  // 80 bytes.
  localparam int unsigned Frames = 8;
  localparam int unsigned MostMessages = 32;
  localparam int unsigned ShortestMessage = 80;
  // Bytes of a packet before its messages, in whole parts of 8 bytes and the remainder.
  localparam int unsigned FrameBytes = $bits(frame_pkg::verify_header_t) / 8;
  localparam int unsigned HeadBytes = EthernetBytes + Ipv4Bytes + UdpBytes + FrameBytes;
  localparam int unsigned HeadParts = HeadBytes / 8;
  localparam int unsigned HeadRest = HeadBytes % 8;
  // Bytes of a message before its command's operands, and of a result.
  localparam int unsigned MessageBytes = $bits(frame_pkg::message_header_t) / 8;
  localparam int unsigned ResultBytes = $bits(frame_pkg::verify_result_t) / 8;

  // Identifies a message: its frame and its number in it.
  typedef struct packed {
    logic [$clog2(Frames)-1:0] frame;
    logic [$clog2(MostMessages)-1:0] number;
  } tag_t;

  // Eight bytes of a message, the first one lowest.
  typedef struct packed {
    logic        first;   // command and length
    logic        last;    // of the message
    logic        ends;    // of the packet
    logic        broken;  // not a message: none ends within the packet
    logic [7:0]  keep;
    logic [63:0] data;
  } part_t;

  // Engine of a message.
  typedef enum logic [1:0] {
    SchemeSignature = 2'd0,
    SchemeRoot      = 2'd1,
    SchemeHeader    = 2'd2
  } scheme_e;
  localparam int unsigned Schemes = 3;

  // Verdict on a message: number of the first broken rule in the protocol, 0 if none.
  typedef struct packed {
    tag_t       tag;
    logic [1:0] reserved;  // pads to whole bytes, which streams require
    logic [5:0] rule;
  } verdict_t;

  function automatic logic [63:0] swap_part(logic [63:0] data);
    logic [63:0] swapped;
    for (int at = 0; at < 8; at++) swapped[8*at+:8] = data[8*(7-at)+:8];
    return swapped;
  endfunction

endpackage
