// What goes with packets on the host's streams.
package nic_pkg;
  // Goes with every word of a packet, the same for all of them. Kinds, the host's port, records and announcements are in host_pkg.
  typedef struct packed {
    logic [15:0] id;
    logic [7:0]  port;
    logic [7:0]  kind;
  } meta_t;

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
