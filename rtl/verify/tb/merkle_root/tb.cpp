// Roots of trees of 1 to 300 leaves, with repeated nodes on all levels, in lock step with Rust's, under all pairs of
// idle and back-pressure patterns and with resets with work in flight.

#include <deque>

#include "../../../twin/verification.hpp"
#include "../bytes.hpp"
#include "harness.hpp"

namespace {

struct Tree {
  Bytes leaves;
  Bytes root = Bytes(32);
  bool repeated = false;

  size_t count() const { return leaves.size() / 32; }
  void finish() { repeated = turnpike_merkle_root(leaves.data(), count(), root.data()); }
};

Tree random_tree(harness::Random& random, unsigned most) {
  Tree tree;
  const size_t count = 1 + random.below(random.chance(60) ? 9 : most);
  tree.leaves = random_bytes(random, 32 * count);
  if (random.chance(40)) {
    // Repeats the last 2^n leaves, as in CVE-2012-2459; or any leaf in any other place.
    const size_t some = size_t(1) << random.below(4);
    if (random.chance(70) && count % (2 * some) == some) {
      const Bytes again(tree.leaves.end() - ptrdiff_t(32 * some), tree.leaves.end());
      tree.leaves.insert(tree.leaves.end(), again.begin(), again.end());
    } else {
      memcpy(&tree.leaves[32 * random.below(count)], &tree.leaves[32 * random.below(count)], 32);
    }
  }
  tree.finish();
  return tree;
}

// Runs trees back to back. Returns the cycles from the first leaf to the last root.
uint64_t pass(harness::Bench& bench, const std::vector<Tree>& trees, harness::Throttle idle, harness::Throttle pressure, uint64_t resets_at) {
  auto& top = bench.top;
  bench.reset();
  size_t sending = 0, seen = 0, leaf = 0;
  bool held = false;
  const uint64_t begun = bench.cycle;
  while (seen < trees.size()) {
    if (bench.cycle - begun == resets_at) {
      top.valid_i = 0;
      bench.reset();
      // Unfinished trees are sent again.
      sending = seen, leaf = 0, held = false;
    }
    if (!held && sending < trees.size()) held = idle.open();
    top.valid_i = held;
    if (held) {
      const Tree& tree = trees[sending];
      const size_t count = std::min<size_t>(2, tree.count() - leaf);
      put(top.data_i, &tree.leaves[32 * leaf], 32 * count);
      top.single_i = count == 1;
      top.last_i = leaf + count == tree.count();
    }
    top.ready_i = pressure.open();
    bench.settle();
    if (top.valid_o && top.ready_i) {
      const Tree& tree = trees[seen++];
      if (top.repeated_o != tree.repeated) fail(bench, "tree " + std::to_string(seen) + " of " + std::to_string(tree.count()) + " leaves: " + (tree.repeated ? "equal nodes were not seen" : "there are no equal nodes"));
      if (get(top.root_o, 32) != tree.root) fail(bench, "another root of " + std::to_string(tree.count()) + " leaves");
    }
    if (held && top.ready_o) {
      held = false;
      leaf += 2;
      if (leaf >= trees[sending].count()) sending++, leaf = 0;
    }
    bench.step();
    if (bench.cycle - begun > 10'000'000) fail(bench, "nothing more comes");
  }
  return bench.cycle - begun;
}

void body(const harness::Options& options) {
  harness::Bench bench(options);
  harness::Random random(options.seed);
  const auto always = [] { return harness::Throttle(harness::Throttle::kAlways, 0); };
  unsigned done = 0, repeated = 0;
  for (int in = 0; in < harness::Throttle::kKinds; in++) {
    for (int out = 0; out < harness::Throttle::kKinds; out++) {
      std::vector<Tree> trees;
      for (int number = 0; number < TREES; number++) trees.push_back(random_tree(random, Pipelined ? 300 : 40));
      for (const Tree& tree : trees) repeated += tree.repeated;
      const uint64_t resets_at = random.chance(50) ? random.below(2000) : ~uint64_t(0);
      pass(bench, trees, harness::Throttle(harness::Throttle::Kind(in), random.next()), harness::Throttle(harness::Throttle::Kind(out), random.next()), resets_at);
      done += TREES;
    }
  }
  if (repeated == 0) fail(bench, "no tree had equal nodes");
  // Large trees: one cycle per node, plus the latency of the last hashes.
  const unsigned count = Pipelined ? 1024 : 64, trees = 8;
  std::vector<Tree> large(trees);
  for (Tree& tree : large) {
    tree.leaves = random_bytes(random, 32 * count);
    tree.finish();
  }
  const uint64_t one = pass(bench, {large[0]}, always(), always(), ~uint64_t(0));
  const uint64_t all = pass(bench, large, always(), always(), ~uint64_t(0));
  // The next tree's leaves enter while a tree's last nodes pass through the hash.
  if (Pipelined && all > one + uint64_t(trees - 1) * count) fail(bench, "trees wait for each other: " + std::to_string(all) + " cycles");
  harness::figure("cycles_" + std::to_string(count), double(one));
  harness::figure("eight_cycles_" + std::to_string(count), double(all));
  harness::figure("next_cycles_" + std::to_string(count), double(all - one) / (trees - 1), 0);
  // Bitcoin's block 100000: four transactions.
  Tree block;
  block.leaves = from_hex(
      "876dd0a3ef4a2816ffd1c12ab649825a958b0ff3bb3d6f3e1250f13ddbf0148cc40297f730dd7b5a99567eb8d27b78758f607507c52292d02d4031895b52f2ff"
      "c46e239ab7d28e2c019b6d66ad8fae98a56ef1f21aeecb94d1b1718186f05963"
      "1d0cb83721529a062d9675b98d6e5c587e4a770fc84ed00abc5a5de04568a6e9");
  block.root = from_hex("6657a9252aacd5c0b2940996ecff952228c3067cc38d4885efb5a4ac4247e9f3");
  pass(bench, {block}, always(), always(), ~uint64_t(0));
  printf("%u trees as in Rust, %u of them with equal nodes; %u leaves in %llu cycles, eight such trees in %llu", done, repeated, count,
         static_cast<unsigned long long>(one), static_cast<unsigned long long>(all));
}

}  // namespace

int main(int argc, char** argv) { return harness::run(argc, argv, body); }
