// Builds the replies to `get`, `gets` and `mg`: a packet, its verdict and the item's rows become the pieces of a
// UDP datagram without its checksum, which kv_join makes words of.
//
// A reply is a sequence of pieces of up to 64 bytes: the headers, words and numbers, the key, the value. Each takes a
// cycle: it is rotated to where the reply's last word ends. The flags of `mg` are read from the packet one by one, so
// that the reply has their order. Numbers become decimal meanwhile, four bits a cycle.
//
// A cycle to begin, one for each piece, row, and flag without a piece, one more if the last word is full, and those in
// which a number is waited for: 8 for a `get` of an item with one row of key and value, whose flags are less than 256.

`include "assertions.svh"
`include "registers.svh"

module kv_text_reply
  import wire_pkg::*;
  import memcached_pkg::*;
  import kv_pkg::*;
#(
    parameter int unsigned UserWidth = 1
) (
    input  logic                 clk_i,
    input  logic                 rst_ni,
    // Words of a packet whose line has been executed, each with the verdict.
    input  logic                 valid_i,
    output logic                 ready_o,
    input  word_t                packet_i,
    input  verdict_t             verdict_i,
    input  logic [UserWidth-1:0] user_i,
    output logic [BodyLengthWidth-1:0] total_o,   // bytes of the reply, from its first piece on
    input  frame_t               frame_i,
    input  logic                 none_i,          // the request has no checksum, so the reply gets none
    input  logic                 row_valid_i,
    output logic                 row_ready_o,
    input  logic                 row_last_i,
    input  logic                 ready_i,
    output piece_t               piece_o,
    output logic                 row_piece_o,     // the piece is the row
    output logic                 packet_piece_o,  // or the packet's word
    output logic [WordWidth-1:0] own_o,           // or else this
    output logic                 none_o,
    output logic [UserWidth-1:0] user_o
);
  localparam int unsigned FrameBytes = EthernetBytes + Ipv4Bytes + UdpBytes + $bits(datagram_t) / 8;
  localparam int unsigned MetaBytes = 3;  // of the verb, with the space
  localparam int unsigned EndBytes = 2;
  localparam int unsigned PlaceWidth = $clog2(WordBytes);
  typedef logic [BodyLengthWidth-1:0] length_t;
  // Of a byte in a packet with a line.
  typedef logic [8:0] position_t;

  // Digits of the numbers. The NIC's CAS has the top bit, so it has 19 or 20.
  localparam int unsigned LongDigits = 10;
  localparam int unsigned SizeDigits = 4;
  localparam int unsigned CasDigits = 20;
  typedef logic [$clog2(CasDigits+1)-1:0] digits_t;
  function automatic digits_t digits_of(logic [31:0] number);
    digits_t digits;
    logic [31:0] power;
    digits = digits_t'(1);
    power = 32'd10;
    for (int unsigned digit = 1; digit < LongDigits; digit++) begin
      digits += digits_t'(number >= power);
      power = 32'(power * 10);
    end
    return digits;
  endfunction

  request_t request;
  item_t item;
  meta_t meta;
  logic is_meta, returns_value;
  length_t key_length, size;
  assign request = verdict_i.request;
  assign item = verdict_i.item;
  assign meta = request.meta;
  assign is_meta = request.protocol == MetaLine;
  assign returns_value = !is_meta || meta.value;
  assign key_length = length_t'(item.key_length);
  assign size = item.body_length - key_length;

  typedef enum logic [3:0] {
    Idle    = 4'd0,
    Head    = 4'd1,   // headers and first word
    Key     = 4'd2,
    Flags   = 4'd3,
    Size    = 4'd4,
    Cas     = 4'd5,
    Scan    = 4'd6,   // the next flag of `mg`
    Opaque  = 4'd7,
    LineEnd = 4'd8,
    Value   = 4'd9,
    End     = 4'd10,
    Flush   = 4'd11,  // the last word, of which the one before left no room for all
    Drain   = 4'd12   // rows and words that the reply does not need
  } state_e;
  state_e state_q, state_d, after_key, after_move;
  logic begins, accepts, finishes;

  ////////////////////////////////////////////////////////////////////////
  // Lengths, before the first piece.

  packet_t request_headers;
  assign request_headers = swap_bytes(packet_i.data);

  digits_t flags_digits, size_digits, cas_digits, remaining_digits;
  assign flags_digits = digits_of(item.flags);
  assign size_digits = digits_of(32'(size));
  assign cas_digits = item.cas >= 64'd10000000000000000000 ? digits_t'(CasDigits) : digits_t'(CasDigits - 1);
  assign remaining_digits = item.expiry == '0 ? digits_t'(2) : digits_of(item.expiry);

  length_t total, total_q;
  position_t end_q, letter_q, letter_d, opaque_q, opaque_d, opaque_length;
  always_comb begin
    // The bytes between key and end of the line, less those of the other flags.
    opaque_length = position_t'(request_headers.udp.length) - position_t'(UdpBytes + $bits(datagram_t) / 8);
    opaque_length -= position_t'(MetaBytes + EndBytes + 1) + position_t'(key_length);
    total = length_t'(FrameBytes + EndBytes);
    if (is_meta) begin
      total += length_t'(2);
      if (meta.value) total += length_t'(1 + EndBytes) + length_t'(size_digits) + size;
      if (meta.flags) total += length_t'(2) + length_t'(flags_digits);
      if (meta.size) total += length_t'(2) + length_t'(size_digits);
      if (meta.cas) total += length_t'(2) + length_t'(cas_digits);
      if (meta.remaining) total += length_t'(2) + length_t'(remaining_digits);
      if (meta.key) total += length_t'(2) + key_length;
      for (int unsigned flag = 1; flag < $bits(meta_t); flag++) begin
        if (meta[flag]) opaque_length -= position_t'(2);
      end
      if (meta.opaque) total += length_t'(1) + length_t'(opaque_length);
    end else begin
      // "VALUE ", two spaces, and the end.
      total += length_t'(6 + 1 + 1 + 7) + key_length + length_t'(flags_digits) + length_t'(size_digits) + size;
      if (request.protocol == GetsLine) total += length_t'(1) + length_t'(cas_digits);
    end
  end
  logic none_q;
  assign none_o = none_q;
  assign total_o = total_q;
  `FFNE(total_q, total, begins)
  `FFNE(none_q, none_i, begins)
  `FFNE(user_o, user_i, begins)
  // Of the line's CR.
  `FFNE(end_q, position_t'(request_headers.udp.length) + position_t'(EthernetBytes + Ipv4Bytes - EndBytes), begins)

  ////////////////////////////////////////////////////////////////////////
  // Numbers.

  logic flags_done, size_done, cas_done, remaining_done;
  logic [LongDigits-1:0][3:0] flags_text, remaining_text;
  logic [SizeDigits-1:0][3:0] size_text;
  logic [ CasDigits-1:0][3:0] cas_text;
  kv_decimal #(
      .Width (32),
      .Digits(LongDigits)
  ) u_flags (
      .clk_i,
      .rst_ni,
      .start_i (begins),
      .number_i(item.flags),
      .done_o  (flags_done),
      .digits_o(flags_text)
  );
  kv_decimal #(
      .Width (12),
      .Digits(SizeDigits)
  ) u_size (
      .clk_i,
      .rst_ni,
      .start_i (begins),
      .number_i(12'(size)),
      .done_o  (size_done),
      .digits_o(size_text)
  );
  kv_decimal #(
      .Width (64),
      .Digits(CasDigits)
  ) u_cas (
      .clk_i,
      .rst_ni,
      .start_i (begins),
      .number_i(item.cas),
      .done_o  (cas_done),
      .digits_o(cas_text)
  );
  kv_decimal #(
      .Width (32),
      .Digits(LongDigits)
  ) u_remaining (
      .clk_i,
      .rst_ni,
      .start_i (begins),
      .number_i(item.expiry),
      .done_o  (remaining_done),
      .digits_o(remaining_text)
  );

  // The number of this piece, after a space, and a letter if it has one.
  logic [7:0] letter;
  logic number_done;
  logic [CasDigits-1:0][3:0] number;
  digits_t number_digits;
  always_comb begin
    letter = state_q == Scan ? packet_i.data[8*32'(letter_q[PlaceWidth-1:0])+:8] : " ";
    number = '0;
    if (state_q == Flags || letter == "f") begin
      {number_done, number_digits} = {flags_done, flags_digits};
      number[LongDigits-1:0] = flags_text;
    end else if (state_q == Size || letter == "s") begin
      {number_done, number_digits} = {size_done, size_digits};
      number[SizeDigits-1:0] = size_text;
    end else if (state_q == Cas || letter == "c") begin
      {number_done, number_digits} = {cas_done, cas_digits};
      number = cas_text;
    end else begin
      {number_done, number_digits} = {remaining_done, remaining_digits};
      number[LongDigits-1:0] = remaining_text;
      if (item.expiry == '0) number[0] = 4'd1;
    end
  end

  // From its end back: digits, the letter, a space.
  localparam int unsigned NumberBytes = CasDigits + 2;
  logic [8*NumberBytes-1:0] number_text;
  logic [PlaceWidth-1:0] number_start;
  assign number_start = PlaceWidth'(NumberBytes - 1) - PlaceWidth'(number_digits) - PlaceWidth'(state_q == Scan);
  always_comb begin
    number_text = {NumberBytes{8'(" ")}};
    for (int unsigned digit = 0; digit < NumberBytes; digit++) begin
      if (digit < 32'(number_digits)) begin
        if (digit < CasDigits) number_text[8*(NumberBytes-1-digit)+:8] = {4'h3, number[digit]};
      end else if (digit == 32'(number_digits)) begin
        number_text[8*(NumberBytes-1-digit)+:8] = letter;
      end
    end
    // "t-1" of an item that never expires.
    if (letter == "t" && item.expiry == '0) number_text[8*(NumberBytes-2)+:8] = "-";
  end

  ////////////////////////////////////////////////////////////////////////
  // Pieces.

  logic [8*WordBytes-1:0] head;
  always_comb begin
    head = '0;
    head[8*WordBytes-1-:8*(FrameBytes+6)] = {frame_i, "VALUE "};
    if (is_meta) head[8*(WordBytes-FrameBytes)-1-:16] = meta.value ? "VA" : "HD";
  end

  // The head row of rows begins with this byte of key and value.
  length_t row_q, key_left, body_left;
  logic rows_left_q, row_needed, in_row_key, in_packet, packet_taken;
  logic [2:0] packet_word_q;
  assign key_left = row_q < key_length ? key_length - row_q : '0;
  assign body_left = item.body_length - row_q;
  assign in_row_key = key_left < length_t'(WordBytes);
  assign in_packet = valid_i && 3'(letter_q >> PlaceWidth) == packet_word_q;

  logic piece_valid, passes, is_last, number_next;
  logic [PlaceWidth-1:0] start;
  logic [  PlaceWidth:0] count;
  assign after_key = is_meta ? Scan : Flags;
  assign number_next = state_q inside {Flags, Size, Cas} || letter inside {"f", "s", "c", "t"};
  always_comb begin
    piece_valid = 1'b0;
    passes = 1'b0;  // a step without a piece
    row_piece_o = 1'b0;
    packet_piece_o = 1'b0;
    // Bytes after a piece's end are ignored.
    own_o = swap_bytes(head);
    if (state_q != Head) own_o[8*NumberBytes-1:0] = number_text;
    start = number_start;
    count = (PlaceWidth + 1)'(NumberBytes) - (PlaceWidth + 1)'(number_start);
    is_last = 1'b0;
    row_needed = 1'b0;
    packet_taken = 1'b0;
    state_d = state_q;
    letter_d = letter_q;
    opaque_d = opaque_q;
    unique case (state_q)
      Head: begin
        piece_valid = valid_i && (!verdict_i.has_rows || row_valid_i);
        start = '0;
        count = (PlaceWidth + 1)'(is_meta ? FrameBytes + 2 : FrameBytes + 6);
        row_needed = verdict_i.has_rows;
        state_d = !is_meta ? Key : meta.value ? Size : Scan;
      end
      Key: begin
        piece_valid = row_valid_i;
        row_piece_o = 1'b1;
        start = '0;
        count = in_row_key ? (PlaceWidth + 1)'(key_left) : (PlaceWidth + 1)'(WordBytes);
        row_needed = !in_row_key;
        if (key_left <= length_t'(WordBytes)) state_d = after_key;
      end
      Flags: begin
        piece_valid = number_done;
        state_d = Size;
      end
      Size: begin
        piece_valid = number_done;
        state_d = is_meta ? Scan : request.protocol == GetsLine ? Cas : LineEnd;
      end
      Cas: begin
        piece_valid = number_done;
        state_d = LineEnd;
      end
      Scan: begin
        if (letter_q == end_q + 1'b1) begin
          passes = 1'b1;
          state_d = LineEnd;
        end else if (!in_packet) begin
          passes = 1'b1;
          packet_taken = 1'b1;
        end else if (number_next) begin
          piece_valid = number_done;
          letter_d = letter_q + position_t'(2);
        end else begin
          piece_valid = letter inside {"k", "O"};
          passes = !piece_valid;
          own_o[15:0] = {letter, 8'(" ")};
          start = '0;
          count = letter == "k" ? (PlaceWidth + 1)'(2) : (PlaceWidth + 1)'(1);
          letter_d = letter == "O" ? letter_q : letter_q + position_t'(2);
          if (letter == "k") state_d = Key;
          if (letter == "O") state_d = Opaque;
        end
      end
      Opaque: begin
        packet_piece_o = 1'b1;
        start = letter_q[PlaceWidth-1:0];
        count = (PlaceWidth + 1)'(opaque_q);
        if (32'(start) + 32'(opaque_q) > WordBytes) count = (PlaceWidth + 1)'(WordBytes) - (PlaceWidth + 1)'(start);
        if (!in_packet) begin
          passes = 1'b1;
          packet_taken = 1'b1;
        end else begin
          piece_valid = 1'b1;
          letter_d = letter_q + position_t'(count);
          opaque_d = opaque_q - position_t'(count);
          if (opaque_d == '0) begin
            letter_d += 1'b1;
            state_d = Scan;
          end
        end
      end
      LineEnd: begin
        piece_valid = 1'b1;
        own_o[15:0] = 16'h0a0d;
        start = '0;
        count = (PlaceWidth + 1)'(EndBytes);
        is_last = !returns_value;
        state_d = size == '0 ? End : Value;
      end
      Value: begin
        // Rows with nothing but the key pass.
        piece_valid = row_valid_i && in_row_key;
        passes = row_valid_i && !in_row_key;
        row_piece_o = 1'b1;
        start = PlaceWidth'(key_left);
        count = body_left < length_t'(WordBytes) ? (PlaceWidth + 1)'(body_left) : (PlaceWidth + 1)'(WordBytes);
        count -= (PlaceWidth + 1)'(start);
        row_needed = row_valid_i;
        if (row_last_i) state_d = End;
      end
      End: begin
        piece_valid = 1'b1;
        own_o[55:0] = {8'h0a, 8'h0d, "D", "N", "E", 8'h0a, 8'h0d};
        start = '0;
        count = (PlaceWidth + 1)'(is_meta ? EndBytes : 7);
        is_last = 1'b1;
      end
      Flush: begin
        piece_valid = 1'b1;
        count = '0;
        is_last = 1'b1;
      end
      default: ;
    endcase
    if (is_last) state_d = Drain;
  end

  ////////////////////////////////////////////////////////////////////////
  // Words: kv_join rotates a piece to the end of those before it.

  logic [PlaceWidth-1:0] fill_q;
  logic [  PlaceWidth:0] filled;
  logic emits, overflows, moves, row_goes, packet_goes;
  assign filled = {1'b0, fill_q} + count;
  assign overflows = 32'(fill_q) + 32'(count) > WordBytes;
  assign emits = piece_valid && (is_last || overflows || 32'(filled) == WordBytes);
  always_comb begin
    piece_o.valid = emits;
    piece_o.step = accepts;
    piece_o.rotate = start - fill_q;
    piece_o.fill = {1'b0, fill_q};
    piece_o.last = is_last && !overflows;
    piece_o.bytes = filled;
  end
  assign accepts = piece_valid && (!emits || ready_i);
  assign moves = accepts || passes;
  `FFE(fill_q, begins ? '0 : PlaceWidth'(filled), begins || accepts, '0)

  // Words of the packet that hold no more flags leave ahead, except the last, with which the verdict leaves.
  logic eager, built;
  assign eager = state_q inside {LineEnd, Value, End, Flush, Drain} || (!is_meta && !(state_q inside {Idle, Head}));
  assign packet_goes = valid_i && !packet_i.last && (eager || (moves && packet_taken));
  assign row_goes = row_valid_i && ((moves && row_needed) || (state_q == Drain && rows_left_q));
  assign begins = state_q == Idle && valid_i;
  assign built = state_q == Drain || (accepts && is_last && !overflows);
  assign finishes = built && valid_i && packet_i.last && !rows_left_q;
  assign ready_o = packet_goes || finishes;
  assign row_ready_o = row_goes;
  always_comb begin
    after_move = state_d;
    if (piece_valid && is_last && overflows) after_move = Flush;
    if (begins) after_move = Head;
    if (finishes) after_move = Idle;
  end
  `FFE(state_q, after_move, begins || moves || finishes, Idle)
  position_t first_letter;
  assign first_letter = position_t'(FrameBytes + MetaBytes + 1) + position_t'(key_length);
  `FFNE(letter_q, begins ? first_letter : letter_d, begins || moves)
  `FFNE(opaque_q, begins ? opaque_length : opaque_d, begins || moves)
  `FFE(packet_word_q, finishes ? '0 : packet_word_q + 1'b1, packet_goes || finishes, '0)
  // The first row is the item's header.
  `FFE(rows_left_q, !row_last_i, row_goes, 1'b0)
  `FFNE(row_q, begins || state_q == Head ? '0 : row_q + length_t'(WordBytes), begins || row_goes)

  `ASSUME(numbers_of_the_nic, !begins || item.cas[63])
  `ASSUME(items_are_short, !begins || item.body_length <= length_t'(LongestText))

  logic unused_fields;
  assign unused_fields = ^{packet_i, request_headers, verdict_i, request, item};
endmodule
