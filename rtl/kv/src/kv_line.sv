// Checks the line of a text read, a word of 64 bytes a cycle: the key after the verb, for `mg` flags, and CR LF.
//
//     KEY CR LF
//     KEY (SP FLAG)* CR LF
//
// It takes less than crates/kv does, which answers the rest: words with one space between them, no control characters,
// each flag once, and only flags of meta_t. That each is there once shows in their number: it is that of the spaces.
//
// The key's bytes are known with their word, and what the line is with its end, a cycle later.

`include "assertions.svh"
`include "registers.svh"

module kv_line
  import wire_pkg::*;
  import kv_pkg::*;
#(
    localparam int unsigned CountWidth = $clog2(WordBytes) + 1
) (
    input  logic                         clk_i,
    input  logic                         rst_ni,
    input  logic                         step_i,       // a word passes
    input  logic                         first_i,      // of a line
    input  logic                         has_flags_i,  // flags may follow the key
    input  logic [8*(WordBytes+1)-1:0]   word_i,       // from the key's first byte on; and the next word's first byte
    input  logic [  BodyLengthWidth-1:0] left_i,       // bytes of the line from this word on
    output logic                         key_o,        // bytes of the key are in this word
    output logic [       CountWidth-1:0] key_bytes_o,
    output logic                         key_last_o,   // none follow
    // Of the line that ended last.
    output logic                         valid_o,
    output logic [                  8:0] key_length_o,
    output meta_t                        meta_o
);
  localparam int unsigned EndBytes = 2;
  // A longer key is not taken, and need not leave in full.
  localparam int unsigned KeyWords = (LongestKey + WordBytes - 1) / WordBytes;

  // Flags in the order of meta_t.
  localparam logic [$bits(meta_t)-1:0][7:0] Letters = "vfsctkquO";

  // Whether a byte is of the line's text, its CR or its LF. Text and CR include the next word's first byte.
  logic [WordBytes:0] is_text, ends, space;
  logic [ WordBytes-1:0] feeds;
  logic [CountWidth-1:0] text_bytes;
  always_comb begin
    text_bytes = CountWidth'(left_i) - CountWidth'(EndBytes);
    if (left_i < BodyLengthWidth'(EndBytes)) text_bytes = '0;
    if (left_i >= BodyLengthWidth'(WordBytes + EndBytes)) text_bytes = CountWidth'(WordBytes);
    is_text = {left_i > BodyLengthWidth'(WordBytes + EndBytes), first_bytes(text_bytes)};
    ends = {is_text[WordBytes-1:0], left_i >= BodyLengthWidth'(EndBytes)} & ~is_text;
    feeds = {ends[WordBytes-2:0], left_i == BodyLengthWidth'(1)};
    for (int unsigned at = 0; at <= WordBytes; at++) space[at] = is_text[at] && word_i[8*at+:8] == " ";
  end

  // Words that start, and of these the flags. Of two neighbours only one can start a word, or the one between them is
  // empty. So pairs of bytes are compared with the letters, and counted.
  localparam int unsigned Pairs = WordBytes / 2;
  logic [WordBytes-1:0] starts, flag_starts, single, ended;
  logic [Pairs-1:0][$bits(meta_t)-1:0] letters;
  logic after_space_q, after_single_q, in_key_q, in_key, right_q, right;
  logic [8:0] key_length_q, line_length_q, spaces_q;
  logic [$clog2(KeyWords)-1:0] key_words_q;
  meta_t meta_q, meta;
  assign starts = {space[WordBytes-2:0], first_i || after_space_q};
  assign flag_starts = {space[WordBytes-2:0], after_space_q && !first_i} & is_text[WordBytes-1:0];
  assign ended = {single[WordBytes-2:0], after_single_q && !first_i};
  always_comb begin
    for (int unsigned pair = 0; pair < Pairs; pair++) begin
      automatic logic [7:0] letter;
      letter = flag_starts[2*pair] ? word_i[16*pair+:8] : word_i[16*pair+8+:8];
      for (int unsigned flag = 0; flag < $bits(meta_t); flag++) begin
        letters[pair][flag] = |flag_starts[2*pair+:2] && letter == Letters[flag];
      end
      // A flag without a token, which nothing but a space may follow.
      single[2*pair+:2] = flag_starts[2*pair+:2] & {2{!letters[pair][0]}};
    end
  end

  // Where the key ends: the next word's first byte shows whether that is with this word. First the eight bytes, then
  // the one.
  localparam int unsigned Groups = WordBytes / 8;
  logic [WordBytes:0] stops;
  logic [Groups-1:0] group_stops;
  logic [7:0] group;
  logic [CountWidth-1:0] key_bytes;
  logic found;
  assign stops = space | ends;
  assign found = |stops;
  always_comb begin
    for (int unsigned n = 0; n < Groups; n++) group_stops[n] = |stops[8*n+:8];
    key_bytes = CountWidth'(WordBytes);
    for (int unsigned n = Groups; n > 0; n--) begin
      if (group_stops[n-1]) key_bytes = CountWidth'(8 * (n - 1));
    end
    group = stops[8*32'(key_bytes[CountWidth-2:3])+:8];
    for (int unsigned at = 8; at > 0; at--) begin
      if (!key_bytes[CountWidth-1] && group[at-1]) key_bytes[2:0] = 3'(at - 1);
    end
  end
  assign in_key = first_i || in_key_q;
  assign key_bytes_o = key_bytes;
  assign key_o = in_key && key_bytes != '0;
  assign key_last_o = found || key_words_q == $clog2(KeyWords)'(KeyWords - 1);

  logic [CountWidth-1:0] spaces;
  always_comb begin
    right = first_i || right_q;
    meta = first_i ? '0 : meta_q;
    spaces = '0;
    for (int unsigned at = 0; at < WordBytes; at++) begin
      right &= !is_text[at] || word_i[8*at+:8] >= " ";
      right &= !ends[at] || word_i[8*at+:8] == 8'h0d;
      right &= !feeds[at] || word_i[8*at+:8] == 8'h0a;
      right &= !ended[at] || !is_text[at] || space[at];
      // No word is empty.
      right &= !starts[at] || !stops[at];
    end
    for (int unsigned pair = 0; pair < Pairs; pair++) begin
      right &= flag_starts[2*pair+:2] == '0 || letters[pair] != '0;
      meta |= letters[pair];
      spaces += CountWidth'(|space[2*pair+:2]);
    end
  end
  `FFNE(right_q, right, step_i)
  `FFNE(meta_q, meta, step_i)
  `FFNE(after_space_q, space[WordBytes-1], step_i)
  `FFNE(after_single_q, single[WordBytes-1], step_i)
  `FFNE(spaces_q, 9'(spaces) + (first_i ? '0 : spaces_q), step_i)
  `FFNE(line_length_q, 9'(left_i) - 9'(EndBytes), step_i && first_i)
  `FFNE(in_key_q, in_key && !key_last_o, step_i)
  `FFNE(key_length_q, 9'(key_bytes) + (first_i ? '0 : key_length_q), step_i && in_key)
  `FFE(key_words_q, in_key && !key_last_o ? key_words_q + 1'b1 : '0, step_i, '0)

  logic [8:0] flags;
  always_comb begin
    flags = '0;
    for (int unsigned flag = 0; flag < $bits(meta_t); flag++) flags += 9'(meta_q[flag]);
    valid_o = right_q && key_length_q <= 9'(LongestKey);
    valid_o &= has_flags_i ? flags == spaces_q && line_length_q - key_length_q <= 9'(LongestFlags) : spaces_q == '0;
  end
  assign key_length_o = key_length_q;
  assign meta_o = meta_q;

  `ASSUME(lines_have_a_key, !step_i || !first_i || left_i > BodyLengthWidth'(EndBytes))
  `ASSUME(lines_are_short, !step_i || 32'(left_i) <= LongestKey + LongestFlags + EndBytes)
endmodule
