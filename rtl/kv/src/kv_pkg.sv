// Memcached's binary protocol over UDP (protocol_binary.txt), as far as the NIC handles it, and the operations that the
// requests become.

package kv_pkg;

  // In front of each datagram's request.
  typedef struct packed {
    logic [15:0] id;
    logic [15:0] sequence_number;
    logic [15:0] datagrams;
    logic [15:0] reserved;
  } datagram_t;

  typedef struct packed {
    logic [7:0]  magic;
    logic [7:0]  opcode;
    logic [15:0] key_length;
    logic [7:0]  extras_length;
    logic [7:0]  data_type;
    logic [15:0] vbucket;
    logic [31:0] body_length;    // extras, key and value
    logic [31:0] opaque;
    logic [63:0] cas;
  } message_t;

  // Longest key, as in crates/kv and memcached.
  localparam int unsigned LongestKey = 250;
  // Key and value fit the longest packet that an engine takes.
  localparam int unsigned BodyLengthWidth = $clog2(wire_pkg::LongestPacket + 1);

  typedef enum logic [2:0] {
    KvGet     = 3'd0,
    KvSet     = 3'd1,
    KvReplace = 3'd2,
    KvDelete  = 3'd3,
    KvTouch   = 3'd4
  } op_e;

  // A packet's request. The rest is undefined if it is not taken: such a packet goes to the host.
  typedef struct packed {
    logic                       taken;
    op_e                        op;
    logic                       quiet;          // no reply to a write that succeeds, or to a miss
    logic                       returns_key;
    logic                       returns_value;
    logic [7:0]                 opcode;         // the reply repeats it, and the opaque
    logic [31:0]                opaque;
    logic [7:0]                 key_length;
    logic [BodyLengthWidth-1:0] body_length;    // key and value
    logic [31:0]                flags;
    logic [31:0]                expiry;         // first second in which the item no longer exists; 0: never
  } request_t;

endpackage
