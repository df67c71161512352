// Value blocks of the table: no two keys ever share a block, no block is lost, and a key keeps its block while the
// class fits.

#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include "../table_tb.hpp"
#include "harness.hpp"

using harness::Throttle;
using namespace table;

namespace {

constexpr uint8_t kSeed[17] = "0123456789abcdef";
// Blocks freed by the two previous operations, not yet back in their queue.
constexpr unsigned kOnTheirWay = 2;
constexpr unsigned kClasses = 4, kLength = 16, kBlock = __builtin_ctz(Blocks);

struct Value {
  unsigned kind, block, length;
};
Value value_of(uint64_t bits) {
  return {unsigned(bits >> (kLength + kBlock)), unsigned(bits >> kLength) % Blocks, unsigned(bits) & 0xffff};
}
uint64_t bits_of(unsigned kind, unsigned length) { return uint64_t(kind) << (kLength + kBlock) | length; }

struct Entry {
  Value value;
  uint32_t expiry;
};

class Test : public harness::Bench {
 public:
  explicit Test(const harness::Options& options) : Bench(options), random(options.seed) {
    static constexpr int kSecrets[4] = {0, 1, 14, 15};
    const Hasher hasher(kSeed);
    for (int i = 0; i < 4; i++) memcpy(&top.secrets_i[2 * i], &hasher.secrets[kSecrets[i]], 8);
  }

  harness::Random random;
  uint64_t operations = 0, no_room = 0, full = 0, reused = 0;

  void begin(Throttle::Kind requests, Throttle::Kind results) {
    top.request_valid_i = top.result_ready_i = 0;
    reset();
    requests_ = Throttle(requests, random.next());
    results_ = Throttle(results, random.next());
    entries_.clear(), blocks_.clear(), expected_.clear();
  }

  void run(const Request& request) {
    while (!requests_.open()) clock(nullptr);
    for (int i = 0; !clock(&request); i++)
      if (i > 10000) fail(*this, "nothing is taken");
  }
  void drain() {
    for (int i = 0; !expected_.empty(); i++) {
      clock(nullptr);
      if (i > 10000) fail(*this, "results are missing");
    }
  }

  static Key key(uint64_t number) {
    const uint64_t words[2] = {number * 0x9e3779b97f4a7c15, number};
    Key key;
    memcpy(key.data(), words, 16);
    return key;
  }

  void mix(unsigned count, unsigned keys, bool expiring) {
    for (unsigned i = 0; i < count; i++) {
      const uint64_t draw = random.below(10);
      const Op op = draw < 5 ? Insert : draw < 7 ? Delete : draw < 8 ? Update : Get;
      if (expiring && random.chance(10)) now_ += uint32_t(random.below(3));
      const uint32_t expiry = expiring && random.chance(60) ? now_ + uint32_t(random.below(5)) : 0;
      run({op, key(random.below(keys)), bits_of(unsigned(random.below(kClasses)), unsigned(random.below(65536))), expiry, uint8_t(random.next())});
    }
    drain();
  }

  // Once all keys are gone, every block of every class can be allocated again.
  void none_is_lost(unsigned keys) {
    for (unsigned i = 0; i < keys; i++) run({Delete, key(i), 0, 0, 0});
    drain();
    const uint64_t before = no_room + full;
    for (unsigned i = 0; i < kClasses * Blocks; i++) run({Insert, key(keys + i), bits_of(i % kClasses, i), 0, 0});
    drain();
    if (no_room + full != before) fail(*this, "blocks are lost");
    for (unsigned kind = 0; kind < kClasses; kind++) run({Insert, key(1000000 + kind), bits_of(kind, 1), 0, 0});
    drain();
    if (no_room + full != before + kClasses) fail(*this, "there are more blocks than there were");
  }

 private:
  bool clock(const Request* request) {
    top.now_i = now_;
    top.request_valid_i = request != nullptr;
    if (request != nullptr) {
      top.request_op_i = request->op;
      memcpy(&top.request_key_i[0], request->key.data(), 16);
      top.request_value_i = request->value;
      top.request_expiry_i = request->expiry;
      top.request_tag_i = request->tag;
    }
    top.result_ready_i = results_.open();
    settle();
    const bool taken = request != nullptr && top.request_ready_o;
    if (taken) expected_.push_back({*request, now_}), operations++;
    if (top.result_valid_o && top.result_ready_i) check();
    step();
    return taken;
  }

  void require(bool holds, const char* what) {
    if (!holds) fail(*this, what);
  }

  void check() {
    require(!expected_.empty(), "a result that nobody asked for");
    const auto [request, then] = expected_.front();
    expected_.pop_front();
    const auto found = entries_.find(request.key);
    const bool there = found != entries_.end();
    const bool live = there && (found->second.expiry == 0 || then < found->second.expiry);
    const Value is = value_of(top.result_value_o), asked = value_of(request.value);
    const auto status = Status(top.result_status_o);
    require(top.result_tag_o == request.tag, "tag");
    const bool puts = request.op == Insert || (request.op == Update && live);
    if (puts && (status == Full || status == NoRoom)) {
      // Expired entries keep their blocks until something replaces them.
      require(!live || found->second.value.kind != asked.kind, "a key that has a block is refused");
      require(status == Full ? !live : in_class(asked.kind) + kOnTheirWay >= Blocks, "refused too early");
      (status == Full ? full : no_room)++;
      return;
    }
    require(status == (puts || live ? Ok : NotFound), "status");
    if (puts) {
      require(is.kind == asked.kind && is.length == asked.length, "another class or length");
      if (there) {
        const Value was = found->second.value;
        const bool same = was.kind == is.kind && was.block == is.block;
        // An expired entry, and its block, may already be gone.
        require(same || !live || was.kind != is.kind, "the block is not used again");
        reused += same;
        if (!same) blocks_.erase({was.kind, was.block});
      }
      // An expired entry's block may go to the key that replaced it.
      const auto owner = blocks_.find({is.kind, is.block});
      if (owner != blocks_.end() && owner->second != request.key) {
        const auto other = entries_.find(owner->second);
        require(other != entries_.end() && other->second.expiry != 0 && then >= other->second.expiry, "a block has two keys");
        entries_.erase(other);
      }
      blocks_[{is.kind, is.block}] = request.key;
      entries_[request.key] = {is, request.expiry};
    } else if (live) {
      const Value was = found->second.value;
      require(is.kind == was.kind && is.block == was.block && is.length == was.length, "another value");
    }
    if (request.op == Delete && there) {
      blocks_.erase({found->second.value.kind, found->second.value.block});
      entries_.erase(found);
    }
  }

  size_t in_class(unsigned kind) const {
    return size_t(std::count_if(blocks_.begin(), blocks_.end(), [&](const auto& block) { return block.first.first == kind; }));
  }

  struct Expected {
    Request request;
    uint32_t now;
  };
  std::map<Key, Entry> entries_;
  std::map<std::pair<unsigned, unsigned>, Key> blocks_;
  std::deque<Expected> expected_;
  Throttle requests_{Throttle::kAlways, 1}, results_{Throttle::kAlways, 1};
  uint32_t now_ = 1000;
};

void body(const harness::Options& options) {
  Test test(options);
  for (int requests = 0; requests < Throttle::kKinds; requests++) {
    for (int results = 0; results < Throttle::kKinds; results++) {
      for (unsigned keys : {1u, 3u, 20u, 60u, 200u}) {
        test.begin(Throttle::Kind(requests), Throttle::Kind(results));
        test.mix(800, keys, false);
        test.none_is_lost(keys);
        test.begin(Throttle::Kind(requests), Throttle::Kind(results));
        test.mix(800, keys, true);
      }
    }
  }
  if (test.no_room == 0 || test.reused == 0) fail(test, "what is to be tested did not come up");
  printf("%lu operations, %lu without a block, %lu blocks used again", test.operations, test.no_room, test.reused);
}

}  // namespace

int main(int argc, char** argv) { return harness::run(argc, argv, body); }
