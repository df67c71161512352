// Operations and results of the hash table, and the latency of its hash.

package table_pkg;

  typedef enum logic [2:0] {
    OpGet    = 3'd0,  // reads a key's value
    OpInsert = 3'd1,  // adds a key, or replaces its value
    OpUpdate = 3'd2,  // replaces the value of an existing key
    OpDelete = 3'd3,  // removes a key and returns its value
    OpMove   = 3'd4   // internal: from the stash to a bucket
  } op_e;

  typedef enum logic [1:0] {
    StatusOk       = 2'd0,
    StatusNotFound = 2'd1,
    StatusFull     = 2'd2,  // both buckets and the stash are full; nothing has changed
    StatusNoRoom   = 2'd3   // no value block of this size is free; nothing has changed
  } status_e;

  // Cycles of table_fold.
  localparam int unsigned FoldLatency = 3;

  // Cycles of table_hash_keyed.
  function automatic int unsigned keyed_latency(input int unsigned key_bytes);
    return 1 + FoldLatency * ((key_bytes + 15) / 16 + 1);
  endfunction

endpackage
