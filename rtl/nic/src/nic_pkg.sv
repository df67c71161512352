// Metadata of packets on the host's streams.
package nic_pkg;
  // Accompanies every word of a packet, the same for all of them. host_pkg defines kinds, the host's port, records and
  // announcements.
  typedef struct packed {
    logic [15:0] id;
    logic [7:0]  port;
    logic [7:0]  kind;
  } meta_t;

  // The id of a request of memcached for the host: whether it is a write that the NIC had no room for.
  localparam logic [15:0] KvNoRoom = 16'd1;

  // Sources of packets for ports: the host, then the engines' replies.
  localparam int unsigned SourceSent = 0;
  localparam int unsigned SourceCompact = 1;
  localparam int unsigned SourceBatch = 2;
  localparam int unsigned SourceProof = 3;
  localparam int unsigned SourceVerify = 4;
  // The key-value store, if there is one, adds another.
  localparam int unsigned BasicSources = 5;
  localparam int unsigned SourceKv = BasicSources;

  // The engines' replies alone.
  localparam int unsigned ReplyCompact = SourceCompact - 1;
  localparam int unsigned ReplyBatch = SourceBatch - 1;
  localparam int unsigned ReplyProof = SourceProof - 1;
  localparam int unsigned ReplyVerify = SourceVerify - 1;
  localparam int unsigned ReplyKv = SourceKv - 1;
endpackage
