// Types of the proof cache.

package proof_pkg;

  // Changes of a chain have the codes with which the host announces them.
  typedef enum logic [2:0] {
    OpLookup     = 3'd0,                            // a client's request
    OpForget     = 3'(host_pkg::ChangeForget),
    OpExtend     = 3'(host_pkg::ChangeExtend),
    OpReorganise = 3'(host_pkg::ChangeReorganise),
    OpClaim      = 3'd4,                            // internal, from the filler: claim a place for a reply
    OpCommit     = 3'd5                             // internal, from the filler: the reply is in its place
  } op_e;

  // Tip of a chain, as in the first 40 bytes of every reply's body: the header's hash, then the height, big-endian.
  typedef logic [319:0] tip_t;

  // The first byte of a key is the request's chain and query, as in crates/proof; then come the 32 bytes of the
  // argument.
  localparam int unsigned KeyBytes = 33;
  typedef logic [8*KeyBytes-1:0] key_t;
  localparam logic [3:0] QueryIndex = 4'(protocol_pkg::QueryIndex);

  // Request: the 90 bytes of its packet that may be nonzero, first byte lowest, and two numbers that add up to the sum
  // of the reply's IPv4 header without length and checksum.
  localparam int unsigned RequestBits = 8 * 90;
  typedef struct packed {
    logic [1:0][15:0]       sum;
    logic [RequestBits-1:0] head;
  } request_t;

endpackage
