// What passes through the proof cache.

package proof_pkg;

  // Changes of a chain have the codes that the host announces them with.
  typedef enum logic [2:0] {
    OpLookup     = 3'd0,                            // a client asks
    OpForget     = 3'(host_pkg::ChangeForget),
    OpExtend     = 3'(host_pkg::ChangeExtend),
    OpReorganise = 3'(host_pkg::ChangeReorganise),
    OpClaim      = 3'd4,                            // the filler's: a place for a reply
    OpCommit     = 3'd5                             // the filler's: the reply is in its place
  } op_e;

  // The tip of a chain, as the first 40 bytes of every reply's body have it: the header's hash, then the height, big-endian.
  typedef logic [319:0] tip_t;

  // Chain and query of a request are the first byte of its key, as in crates/proof; then come the 32 bytes asked for.
  localparam int unsigned KeyBytes = 33;
  typedef logic [8*KeyBytes-1:0] key_t;
  localparam logic [3:0] QueryIndex = 4'(protocol_pkg::QueryIndex);

  // A request: the 90 bytes of its packet that are not zeros for sure, first byte lowest, and two numbers whose sum is that of the reply's IPv4
  // header without length and checksum.
  localparam int unsigned RequestBits = 8 * 90;
  typedef struct packed {
    logic [1:0][15:0]       sum;
    logic [RequestBits-1:0] head;
  } request_t;

endpackage
