// The fixed parts of frames, most significant byte first. Made by schema/generate.py of schema/frames.toml; change that.
package frame_pkg;
  // The first 8 bytes of all frames except the compact one.
  typedef struct packed {
    logic [15:0] magic;
    logic [7:0] version;
    logic [7:0] kind;
    logic [31:0] id;
  } frame_header_t;

  // The frame of the in-NIC transfer paper, 22 bytes.
  typedef struct packed {
    logic [31:0] command;
    logic [31:0] transaction;
    logic [31:0] source;
    logic [31:0] destination;
    logic [31:0] amount;
    logic [15:0] status;
  } compact_frame_t;

  // The first 16 bytes of a batch.
  typedef struct packed {
    frame_header_t header;
    logic [15:0] count;
    logic [7:0] format;
    logic [7:0] promise;
    logic [15:0] status;
    logic [15:0] reserved;
  } batch_header_t;

  // Request of a proof, 48 bytes, and the first 48 bytes of its reply. Its first 16 bytes.
  typedef struct packed {
    frame_header_t header;
    logic [7:0] chain;
    logic [7:0] query;
    logic [15:0] status;
    logic [31:0] body_length;
  } proof_request_t;

  // The first 16 bytes of a verify frame; messages follow, or in replies VerifyResults.
  typedef struct packed {
    frame_header_t header;
    logic [15:0] count;
    logic [15:0] reserved;
    logic [15:0] status;
    logic [15:0] reserved_end;
  } verify_header_t;

  // The first 16 bytes of a message of a verify frame.
  typedef struct packed {
    logic [31:0] command;
    logic [31:0] length;
    logic [63:0] index;
  } message_header_t;

  // The reply to a message, 32 bytes.
  typedef struct packed {
    message_header_t message;
    logic [63:0] result_mask;
    logic [63:0] cycle_count;
  } verify_result_t;
endpackage
