// Equihash: sizes derived from the parameters, and the place where a solution breaks a rule.

package equihash_pkg;

  // Up to 2^10 leaves.
  localparam int unsigned MostLevels = 10;

  // Subtrees are checked from the leaves up and from left to right: ordered by their last leaf, then by height.
  typedef struct packed {
    logic [MostLevels-1:0] leaf;
    logic [3:0]            height;
  } place_t;

  // The first rule broken in a subtree.
  typedef struct packed {
    logic       valid;
    logic [2:0] rule;
    place_t     place;
  } broken_t;

  // Bits in which the two halves of a subtree must agree, per level.
  function automatic int unsigned collision_bits(input int unsigned n, input int unsigned k);
    return n / (k + 1);
  endfunction

  function automatic int unsigned index_width(input int unsigned n, input int unsigned k);
    return collision_bits(n, k) + 1;
  endfunction

  function automatic int unsigned solution_bytes(input int unsigned n, input int unsigned k);
    return (1 << k) * index_width(n, k) / 8;
  endfunction

  // Length of the compact size that precedes a solution.
  function automatic int unsigned prefix_bytes(input int unsigned n, input int unsigned k);
    return solution_bytes(n, k) < 253 ? 1 : 3;
  endfunction

  // Number of leaves cut from one hash.
  function automatic int unsigned leaves_per_hash(input int unsigned n);
    return 512 / n;
  endfunction

  function automatic bit legal(input int unsigned n, input int unsigned k);
    return n > 0 && n % 8 == 0 && n <= 256 && k >= 3 && k <= MostLevels && n % (k + 1) == 0 && n / (k + 1) < 31;
  endfunction

endpackage
