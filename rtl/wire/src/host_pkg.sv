// Codes and structures of the host's streams. Made by rtl/nic/csr.py of rtl/nic/csr.yml; change that.
package host_pkg;

  // What a packet to the host is.
  typedef enum logic [7:0] {
    // as it came from `port`
    HostPacket = 8'd0,
    // the same, a proof frame: to be answered once by a fill, or none, with this `id`
    HostMiss   = 8'd1,
    // with `hold`: the reply of an operation, to be sent out of `port` once it is durable; replies to port 255 as well
    HostReply  = 8'd2,
    // with `record`: an operation that was executed
    HostRecord = 8'd3
  } to_host_e;

  // What a packet from the host is.
  typedef enum logic [7:0] {
    // a packet to send out of `port`
    HostSend = 8'd0,
    // a packet to take as if it came from `port`; from 255, all that comes of it goes to the host
    HostInject = 8'd1,
    // the body of a proof reply, from its byte 48 on, for the miss `id`
    HostFill = 8'd2,
    // the miss `id` gets no fill; one byte that does not matter
    HostNone = 8'd3,
    // a change of a chain
    HostAnnounce = 8'd4
  } from_host_e;

  // What an announcement tells of a chain.
  typedef enum logic [7:0] {
    // a new block touches the address of the key
    ChangeForget = 8'd1,
    // the new block, on its parent: the tip is another one
    ChangeExtend = 8'd2,
    // the chain has another tip, and all replies of it are stale
    ChangeReorganise = 8'd3
  } change_e;

  // Ports that are none of the network's.
  typedef enum logic [7:0] {
    // the host itself
    PortHost = 8'd255
  } port_e;

  // An operation that was executed, 32 bytes, the first one highest.
  typedef struct packed {
    // the operation's request, with the status of its result
    frame_pkg::compact_frame_t frame;
    // 1 if it came in a batch
    logic [7:0] in_batch;
    // the port that it came from
    logic [7:0] port;
    // the source's balance, in full
    logic [63:0] value;
  } record_t;

  // A change of a chain, 106 bytes, the first one lowest.
  typedef struct packed {
    // with extend: hash of the tip before
    logic [255:0] parent;
    // height of the new tip
    logic [63:0] height;
    // with extend and reorganise: hash of the new tip
    logic [255:0] hash;
    // with forget: the address that a new block touches
    logic [255:0] address;
    // the chain in the upper four bits; with forget the query 1 in the lower
    logic [7:0] place;
    // what changes: forget, extend or reorganise
    logic [7:0] operation;
  } announcement_t;
endpackage
