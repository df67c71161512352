// Memcached's binary protocol (protocol_binary.txt) over UDP: headers, and the rule for expirations.

package memcached_pkg;

  // In front of each datagram's request or reply.
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
    logic [15:0] vbucket;        // in replies: status
    logic [31:0] body_length;    // extras, key and value
    logic [31:0] opaque;
    logic [63:0] cas;
  } message_t;

  localparam logic [7:0] RequestMagic = 8'h80;
  localparam logic [7:0] ReplyMagic = 8'h81;
  localparam logic [7:0] OpcodeFlush = 8'h08;

  // Extras of SET and its kin: flags and an expiration. TOUCH and GAT have the expiration alone.
  localparam int unsigned WriteExtras = 8;
  localparam int unsigned TouchExtras = 4;

  // An expiration of up to thirty days is relative, a larger one is in seconds since 1970.
  localparam logic [31:0] LongestRelative = 32'd2592000;

  // First second in which an item no longer exists; 0: never. As in crates/kv, an expiration has no sign, and a
  // relative one saturates.
  function automatic logic [31:0] expiry_at(logic [31:0] now, logic [31:0] expiration);
    logic [32:0] sum;
    sum = {1'b0, now} + {1'b0, expiration};
    if (expiration == '0 || expiration > LongestRelative) return expiration;
    return sum[32] ? '1 : sum[31:0];
  endfunction

endpackage
