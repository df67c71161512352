// What goes with packets on the host's streams.
package nic_pkg;
  // What a packet to the host is.
  typedef enum logic [7:0] {
    HostPacket = 8'd0,  // as it came from `port`
    HostMiss   = 8'd1,  // the same: a proof that is not in the cache, to be answered once by a fill with this `id`
    HostReply  = 8'd2,  // of an engine, to be sent out of `port` once its operations are durable
    HostRecord = 8'd3   // operations that were executed, see record_t in transfer_pkg
  } to_host_e;

  // What a packet from the host is.
  typedef enum logic [7:0] {
    HostSend     = 8'd0,  // to be sent out of `port`
    HostInject   = 8'd1,  // to be taken as if it came from a port; `port` 255 stands for the host, which gets the reply
    HostFill     = 8'd2,  // the body of the reply to the miss `id`
    HostNone     = 8'd3,  // there is no reply to the miss `id`; the word's bytes do not matter
    HostAnnounce = 8'd4   // a change of a chain, see announcement_t
  } from_host_e;

  // Goes with every word of a packet, the same for all of them.
  typedef struct packed {
    logic [15:0] id;
    logic [7:0]  port;
    logic [7:0]  kind;
  } meta_t;

  localparam logic [7:0] HostPort = 8'd255;

  // The packet of HostAnnounce, first byte highest: 106 bytes.
  typedef struct packed {
    logic [7:0]   op;      // op_e of proof_pkg: 1 forget, 2 extend, 3 reorganise
    logic [263:0] key;     // of forget; of the others the first byte is the chain, in its upper four bits
    logic [255:0] hash;    // the new tip
    logic [63:0]  height;
    logic [255:0] parent;  // of extend: the tip before
  } announcement_t;
endpackage
