// Memcached's requests, as far as the NIC handles them, and the items and verdicts that they become.

package kv_pkg;

  // Longest key, as in crates/kv and memcached.
  localparam int unsigned LongestKey = 250;
  // Key and value fit the longest packet that an engine takes.
  localparam int unsigned BodyLengthWidth = $clog2(wire_pkg::LongestPacket + 1);

  typedef enum logic [2:0] {
    KvGet     = 3'd0,
    KvSet     = 3'd1,
    KvReplace = 3'd2,
    KvDelete  = 3'd3,
    KvTouch   = 3'd4
  } op_e;

  // Protocol of a request: binary, or a line of text that reads one item.
  typedef enum logic [1:0] {
    Binary   = 2'd0,
    GetLine  = 2'd1,  // `get`
    GetsLine = 2'd2,  // `gets`
    MetaLine = 2'd3   // `mg`
  } protocol_e;

  // Flags of `mg` that the NIC answers, in no order: the reply has that of the line.
  typedef struct packed {
    logic value;      // v
    logic flags;      // f
    logic size;       // s
    logic cas;        // c
    logic remaining;  // t: seconds until the expiry
    logic key;        // k
    logic quiet;      // q: no reply to a miss, which is the host's
    logic no_trace;   // u: of the read, which the NIC never leaves
    logic opaque;     // O, with a token
  } meta_t;

  // Longest part of a line after the key: all flags, and a token of 14 bytes, or O alone with one of 30. Memcached's
  // limit is 31, the NIC leaves the last one to the host.
  localparam int unsigned LongestFlags = 32;
  // Longest item that a line gets from the NIC: with the longest words of `mg` around it, of 97 bytes, and the frame's
  // header, the reply fits the host's longest datagram of 1,400 bytes, so that the host would not split it either.
  localparam int unsigned LongestText = 1280;

  // A packet's request. The rest is undefined if it is not taken: such a packet goes to the host.
  typedef struct packed {
    logic                       taken;
    logic                       flushes;        // not taken, but executed: all items here become invalid
    // The request has a body and a fingerprint, also if it is not taken: a line's end decides that, and its key has
    // gone ahead. Such a body is dropped.
    logic                       keyed;
    protocol_e                  protocol;
    meta_t                      meta;           // of a MetaLine
    op_e                        op;
    logic                       quiet;          // no reply to a write that succeeds, or to a miss
    logic                       returns_key;
    logic                       returns_value;  // or the key of a line: the item's rows
    logic [7:0]                 opcode;         // the reply repeats it, and the opaque
    logic [31:0]                opaque;
    logic [7:0]                 key_length;
    logic [BodyLengthWidth-1:0] body_length;    // key and value
    logic [31:0]                flags;
    logic [31:0]                expiry;         // first second in which the item no longer exists; 0: never
  } request_t;

  // Headers of a binary reply without flags, and the bytes of its second word that they take with flags.
  localparam int unsigned ReplyBytes = wire_pkg::EthernetBytes + wire_pkg::Ipv4Bytes + wire_pkg::UdpBytes + ($bits(
      memcached_pkg::datagram_t
  ) + $bits(
      memcached_pkg::message_t
  )) / 8;
  localparam int unsigned FlagsBytes = 4;
  localparam int unsigned SecondBytes = ReplyBytes + FlagsBytes - wire_pkg::WordBytes;

  // Headers that all replies have.
  typedef struct packed {
    wire_pkg::ethernet_t      ethernet;
    wire_pkg::ipv4_t          ipv4;
    wire_pkg::udp_t           udp;
    memcached_pkg::datagram_t datagram;
  } frame_t;

  // A piece of a reply, for kv_join.
  typedef struct packed {
    logic                                 valid;   // the word is complete
    logic                                 step;    // the piece is taken
    logic [$clog2(wire_pkg::WordBytes)-1:0] rotate;  // bytes from the piece's start to that of the word
    logic [$clog2(wire_pkg::WordBytes):0] fill;    // bytes of the word before this piece
    logic                                 last;    // the word is
    logic [$clog2(wire_pkg::WordBytes):0] bytes;   // of the last word
  } piece_t;

  // Items are in rows of a word each: this header, then key and value as kv_request aligns them. A row is one of a
  // block; class c has blocks of 2^(c + 2) rows.
  localparam int unsigned Classes = 4;
  localparam int unsigned ClassWidth = $clog2(Classes);
  localparam int unsigned FirstRows = 4;
  localparam int unsigned LastRows = FirstRows << (Classes - 1);
  localparam int unsigned RowsWidth = $clog2(LastRows + 1);

  typedef struct packed {
    logic                       valid;
    logic [7:0]                 key_length;
    logic [BodyLengthWidth-1:0] body_length;
    logic [31:0]                flags;
    logic [63:0]                cas;
    logic [31:0]                expiry;       // as that of a request
    logic [31:0]                epoch;
  } item_t;

  // Whether the NIC has executed a packet's request. If not, the host must: there is no such item here, or no room for
  // it.
  typedef struct packed {
    logic     executed;
    logic     no_room;   // a write that is the host's because there is no free block, or no entry
    logic     replies;   // unless it is a quiet write
    logic     has_rows;  // the item's rows follow, executed or not
    item_t    item;      // that a request has read or written; for a line, `expiry` is the seconds that are left
    request_t request;
  } verdict_t;

  // Rows of an item, with its header.
  function automatic logic [RowsWidth-1:0] rows_of(logic [BodyLengthWidth-1:0] body_length);
    return RowsWidth'((32'(body_length) + 32'(2 * wire_pkg::WordBytes - 1)) / wire_pkg::WordBytes);
  endfunction

  // Bytes of a body's or a key's word, of which others precede `at`.
  function automatic logic [$clog2(wire_pkg::WordBytes):0] bytes_of_word(logic [BodyLengthWidth-1:0] length,
                                                                         logic [RowsWidth-1:0] at);
    localparam int unsigned PlaceWidth = $clog2(wire_pkg::WordBytes);
    logic [RowsWidth-1:0] whole;
    whole = RowsWidth'(length[BodyLengthWidth-1:PlaceWidth]);
    if (whole > at) return (PlaceWidth + 1)'(wire_pkg::WordBytes);
    return whole == at ? {1'b0, length[PlaceWidth-1:0]} : '0;
  endfunction

  // Smallest class whose blocks have this many rows.
  function automatic logic [ClassWidth-1:0] class_of(logic [RowsWidth-1:0] rows);
    logic [ClassWidth-1:0] fits;
    fits = ClassWidth'(Classes - 1);
    for (int unsigned c = Classes - 1; c > 0; c--) begin
      if (32'(rows) <= FirstRows << (c - 1)) fits = ClassWidth'(c - 1);
    end
    return fits;
  endfunction

endpackage
