// Operations and results of the hash table, and how long its hash takes.

package table_pkg;

  typedef enum logic [2:0] {
    OpGet    = 3'd0,  // the value of a key
    OpInsert = 3'd1,  // adds a key, or changes its value
    OpUpdate = 3'd2,  // changes the value of a key that is there
    OpDelete = 3'd3,  // takes a key out, and gives its value
    OpMove   = 3'd4   // the table's own: from the stash to a bucket
  } op_e;

  typedef enum logic [1:0] {
    StatusOk       = 2'd0,
    StatusNotFound = 2'd1,
    StatusFull     = 2'd2,  // both buckets and the stash are full; nothing has changed
    StatusNoRoom   = 2'd3   // no value block of this size is free; nothing has changed
  } status_e;

  // Of table_fold.
  localparam int unsigned FoldLatency = 3;

  // Of table_hash_keyed.
  function automatic int unsigned keyed_latency(input int unsigned key_bytes);
    return 1 + FoldLatency * ((key_bytes + 15) / 16 + 1);
  endfunction

endpackage
