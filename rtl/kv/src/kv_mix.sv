// XOR of a key's bytes in a word with a secret. Synthesised separately (`keep_hierarchy`), and therefore a cell for
// each bit: tools would share the masked key between the halves of a fingerprint, which takes half more cells.

(* keep_hierarchy *)
module kv_mix
  import wire_pkg::*;
(
    input  logic [WordBytes-1:0] of_key_i,  // bytes that are
    input  logic [WordWidth-1:0] word_i,
    input  logic [WordWidth-1:0] secret_i,
    output logic [WordWidth-1:0] mixed_o
);
  always_comb begin
    for (int unsigned at = 0; at < WordBytes; at++) begin
      mixed_o[8*at+:8] = (of_key_i[at] ? word_i[8*at+:8] : '0) ^ secret_i[8*at+:8];
    end
  end
endmodule
