// Metadata of packets on the host's streams.
package nic_pkg;
  // Accompanies every word of a packet, the same for all of them. host_pkg defines kinds, the host's port, records and
  // announcements.
  typedef struct packed {
    logic [15:0] id;
    logic [7:0]  port;
    logic [7:0]  kind;
  } meta_t;

  // Sources of packets for ports: the host, then the engines' replies.
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
