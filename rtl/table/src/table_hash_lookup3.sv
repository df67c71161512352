// Lookup3 (Jenkins 2006, `hashlittle2` with both initial values zero): one key per cycle; hash_o is {b, c}, `Latency`
// cycles after key_i. Byte 0 of the key is key_i[7:0]; bytes from length_i on must be zero.
//
// A key of up to twelve bytes is only finished, not mixed, and is delayed as long as a mixed one. A step of the mixing
// (two additions or subtractions, and a rotation, which is wiring) takes one cycle.

module table_hash_lookup3 #(
    localparam int unsigned Latency = 14
) (
    input  logic         clk_i,
    input  logic [127:0] key_i,
    input  logic [  4:0] length_i,
    output logic [ 63:0] hash_o
);

  typedef struct packed {
    logic [31:0] a;
    logic [31:0] b;
    logic [31:0] c;
    logic [31:0] rest;  // the key's last word, added after the mixing
    logic        mixed;  // more than twelve bytes
    logic        empty;
  } state_t;

  function automatic logic [31:0] rotate(input logic [31:0] x, input int unsigned k);
    return (x << k) | (x >> (32 - k));
  endfunction

  state_t start_d;
  state_t [Latency-1:0] state_q;

  always_comb begin
    automatic logic [31:0] initial_word = 32'hdead_beef + 32'(length_i);
    start_d.a     = initial_word + key_i[31:0];
    start_d.b     = initial_word + key_i[63:32];
    start_d.c     = initial_word + key_i[95:64];
    start_d.rest  = key_i[127:96];
    start_d.mixed  = length_i > 5'd12;
    start_d.empty = length_i == 5'd0;
  end

  // Steps 1 to 6 mix, 7 to 13 finish; the roles of the words rotate.
  localparam logic [5:0][4:0] MixRotation = {5'd4, 5'd19, 5'd16, 5'd8, 5'd6, 5'd4};
  localparam logic [6:0][4:0] FinalRotation = {5'd24, 5'd14, 5'd4, 5'd16, 5'd25, 5'd11, 5'd14};

  for (genvar s = 0; s < Latency; s++) begin : gen_step
    state_t next;
    if (s == 0) begin : gen_start
      assign next = start_d;
    end else if (s <= 6) begin : gen_mix
      // x -= z; x ^= rotate(z); z += y, for (x, y, z) = (a, b, c), (b, c, a), (c, a, b), twice
      always_comb begin
        automatic logic [31:0] x, y, z;
        next = state_q[s-1];
        unique case ((s - 1) % 3)
          0: {x, y, z} = {next.a, next.b, next.c};
          1: {x, y, z} = {next.b, next.c, next.a};
          default: {x, y, z} = {next.c, next.a, next.b};
        endcase
        x = (x - z) ^ rotate(z, int'(MixRotation[s-1]));
        z = z + y;
        if (next.mixed) begin
          unique case ((s - 1) % 3)
            0: {next.a, next.c} = {x, z};
            1: {next.b, next.a} = {x, z};
            default: {next.c, next.b} = {x, z};
          endcase
        end
      end
    end else begin : gen_finish
      // x ^= y; x -= rotate(y), for (x, y) = (c, b), (a, c), (b, a), repeated; the rest of the key is first added to a
      always_comb begin
        automatic logic [31:0] x, y;
        next = state_q[s-1];
        if (s == 7 && next.mixed) next.a = next.a + next.rest;
        unique case ((s - 7) % 3)
          0: {x, y} = {next.c, next.b};
          1: {x, y} = {next.a, next.c};
          default: {x, y} = {next.b, next.a};
        endcase
        x = (x ^ y) - rotate(y, int'(FinalRotation[s-7]));
        if (!next.empty) begin
          unique case ((s - 7) % 3)
            0: next.c = x;
            1: next.a = x;
            default: next.b = x;
          endcase
        end
      end
    end
    always_ff @(posedge clk_i) state_q[s] <= next;
  end

  assign hash_o = {state_q[Latency-1].b, state_q[Latency-1].c};

  logic unused_state;
  assign unused_state = ^state_q[Latency-1];

endmodule
