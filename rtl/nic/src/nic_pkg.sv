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
    HostAnnounce = 8'd4   // a change of a chain, see announcement_t in proof_pkg
  } from_host_e;

  // Goes with every word of a packet, the same for all of them.
  typedef struct packed {
    logic [15:0] id;
    logic [7:0]  port;
    logic [7:0]  kind;
  } meta_t;

  localparam logic [7:0] HostPort = 8'd255;

  // Where packets for ports come from: the host, then the engines with their replies.
  localparam int unsigned SourceSent = 0;
  localparam int unsigned SourceCompact = 1;
  localparam int unsigned SourceBatch = 2;
  localparam int unsigned SourceProof = 3;
  localparam int unsigned SourceVerify = 4;
  localparam int unsigned Sources = 5;

  // The engines' replies alone.
  localparam int unsigned ReplyCompact = SourceCompact - 1;
  localparam int unsigned ReplyBatch = SourceBatch - 1;
  localparam int unsigned ReplyProof = SourceProof - 1;
  localparam int unsigned ReplyVerify = SourceVerify - 1;
  localparam int unsigned Replies = Sources - 1;
endpackage
