// The proof cache between clients, a host that answers misses late and in any order, and announcements, all at random
// rates.
//
// The world has a correct reply for each key, which changes by the rules of crates/proof: with a block that touches the
// address, with any block for an index entry, with a reorganisation for all. Whatever the timing, a hit must be the
// correct reply as of the tip at the lookup's place in the order of lookups and announcements; and a cached reply that
// is still correct must be a hit as long as no more keys are in use than a set has ways.

#include <array>
#include <map>
#include <set>
#include <vector>

#include "../../../table/tb/table_tb.hpp"
#include "harness.hpp"

using harness::Throttle;

namespace {

#ifndef Sets
#define Sets 64
#endif
constexpr unsigned kWays = 4, kBeats = 16, kMisses = 64;
constexpr uint8_t kSeed[17] = "0123456789abcdef";
constexpr unsigned kLookup = 0, kForget = 1, kExtend = 2, kReorganise = 3;
constexpr unsigned kLatest = 1, kIndex = 4;

// Timing of the external memory, see dram_model.
struct Latency {
  uint16_t least, spread;  // cycles from a request to its answer
  uint16_t refresh, gap;   // cycles between refreshes, 0 for none; cycles of a refresh
};

using Key = std::array<uint8_t, 33>;
using Tip = std::array<uint8_t, 40>;

Key key_of(unsigned chain, unsigned query, uint32_t number) {
  Key key{};
  key[0] = uint8_t(chain << 4 | query);
  memcpy(&key[1], &number, 4);
  key[32] = uint8_t(number * 7);
  return key;
}
unsigned chain_of(const Key& key) { return key[0] >> 4; }
unsigned query_of(const Key& key) { return key[0] & 15; }

// Chain and replies, as one side knows them.
struct World {
  std::array<Tip, 2> tip{};
  std::array<uint32_t, 2> blocks{};      // number of blocks announced
  std::array<uint32_t, 2> epoch{};       // number of reorganisations
  std::map<Key, uint32_t> touched;       // number of blocks that touched the address

  uint64_t version(const Key& key) const {
    const unsigned chain = chain_of(key);
    const auto found = touched.find(key);
    uint64_t version = uint64_t(epoch[chain]) << 40 | (found == touched.end() ? 0 : found->second);
    if (query_of(key) == kIndex) version |= uint64_t(blocks[chain]) << 20;
    return version;
  }

  // The body without its tip, which precedes it.
  std::vector<uint8_t> body(const Key& key, unsigned longest) const {
    uint64_t seed = version(key);
    for (uint8_t byte : key) seed = seed * 0x100000001b3 ^ byte;
    harness::Random random(seed);
    std::vector<uint8_t> body(40 + random.below(longest - 39));
    for (auto& byte : body) byte = uint8_t(random.next());
    memcpy(body.data(), tip[chain_of(key)].data(), 40);
    return body;
  }
};

struct Announcement {
  unsigned op;
  Key key;
  Tip tip;
  std::array<uint8_t, 32> parent;
  World after;  // state after the announcement
};

struct Lookup {
  Key key;
  unsigned room;
  bool must_hit;
  Tip tip;
  std::vector<uint8_t> truth;
};

struct Answer {
  uint64_t due;
  unsigned id;
  bool none;
  std::vector<uint8_t> body;
  Key key;
};

struct Counts {
  uint64_t lookups = 0, hits = 0, misses = 0, unfilled = 0, filled = 0, refused = 0, announced = 0, most = 0;
};

class Test : public harness::Bench {
 public:
  explicit Test(const harness::Options& options) : Bench(options), random(options.seed) {
    static constexpr int kSecrets[8] = {0, 1, 2, 3, 4, 5, 14, 15};
    const table::Hasher hasher(kSeed);
    for (int i = 0; i < 8; i++) memcpy(&top.secrets_i[2 * i], &hasher.secrets[kSecrets[i]], 8);
  }

  harness::Random random;
  Counts counts;
  uint64_t words = 0, first_word = 0, last_word = 0;  // of replies
  unsigned pool = 4, longest = 1024, block_chance = 1, delay = 300;
  std::vector<unsigned> queries{kLatest, 2, 3, kIndex};

  // Starts with an empty cache.
  void begin(Throttle::Kind lookups, Throttle::Kind replies, Throttle::Kind misses, Throttle::Kind fills, [[maybe_unused]] Latency latency = {1, 0, 0, 0}) {
#ifdef EXTERNAL
    top.least_i = latency.least;
    top.spread_i = latency.spread;
    top.refresh_i = latency.refresh;
    top.gap_i = latency.gap;
#endif
    top.lookup_valid_i = top.reply_ready_i = top.miss_ready_i = top.fill_valid_i = top.announce_valid_i = 0;
    reset();
    lookups_ = Throttle(lookups, random.next());
    replies_ = Throttle(replies, random.next());
    misses_ = Throttle(misses, random.next());
    fills_ = Throttle(fills, random.next());
    cache_ = host_ = World();
    pending_.clear(), answers_.clear(), announcements_.clear(), in_.clear(), reply_.clear(), outstanding_.clear();
    offered_ = announce_valid_ = false;
    beat_ = 0;
    for (int i = 0; i < Sets + 40; i++) clock(false, false);
    for (unsigned chain = 0; chain < 2; chain++) new_tip(chain, kReorganise);
    finish();
  }

  // Looks up random keys while blocks are announced.
  void run(uint64_t count) {
    const uint64_t until = counts.lookups + count;
    for (uint64_t spent = 0; counts.lookups < until; spent++) {
      if (random.below(1000) < block_chance && announcements_.empty()) block();
      clock(true, true);
      if (spent > 2000 * count + 100000) fail(*this, "nothing moves");
    }
    finish();
  }

  // Runs a cycle in which the host does not answer.
  void one() { clock(true, false); }

  void finish() {
    for (unsigned i = 0; !pending_.empty() || !answers_.empty() || !announcements_.empty() || offered_ || filling_; i++) {
      clock(false, true);
      if (i > 100000) fail(*this, std::to_string(pending_.size()) + " lookups without an end");
    }
    for (int i = 0; i < 80; i++) clock(false, true);
    if (!outstanding_.empty()) fail(*this, "a miss is still outstanding");
  }

 private:
  Key random_key() {
    const unsigned query = queries[random.below(queries.size())];
    return key_of(query == kIndex ? 0 : unsigned(random.below(2)), query, uint32_t(random.below(pool)));
  }

  void new_tip(unsigned chain, unsigned op, const std::vector<Key>& touched = {}, bool wrong_parent = false) {
    Announcement last{op, key_of(chain, 0, 0), {}, {}, {}};
    memcpy(last.parent.data(), host_.tip[chain].data(), 32);
    if (wrong_parent) last.parent[random.below(32)] ^= 1;
    for (const Key& key : touched) {
      announcements_.push_back({kForget, key, {}, {}, {}});
      host_.touched[key]++;
    }
    for (auto& byte : last.tip) byte = uint8_t(random.next());
    host_.tip[chain] = last.tip;
    host_.blocks[chain]++;
    if (op == kReorganise || wrong_parent) host_.epoch[chain]++;
    last.after = host_;
    announcements_.push_back(last);
  }

  void block() {
    const unsigned chain = unsigned(random.below(2));
    const uint64_t draw = random.below(20);
    std::vector<Key> touched;
    for (uint64_t i = random.below(6); i > 0; i--) {
      const Key key = key_of(chain, kLatest, uint32_t(random.below(pool)));
      touched.push_back(key);
    }
    new_tip(chain, draw == 0 ? kReorganise : kExtend, draw == 0 ? std::vector<Key>() : touched, draw == 1);
    counts.announced++;
  }

  void clock(bool ask, bool answer) {
    // Offers are stable until accepted.
    if (ask && !offered_ && lookups_.open()) {
      offered_ = true;
      next_.key = random_key();
      next_.room = random.chance(90) ? 2047 : unsigned(random.below(1100));
      while (pending_.count(tag_)) tag_++;
    }
    top.lookup_valid_i = offered_;
    memcpy(&top.lookup_key_i[0], next_.key.data(), 33);
    top.lookup_room_i = next_.room;
    top.lookup_tag_i = tag_;
    top.reply_ready_i = replies_.open();
    top.miss_ready_i = misses_.open();
    top.announce_valid_i = announce_valid_ = announce_valid_ || (!announcements_.empty() && answer);
    if (announce_valid_) {
      const Announcement& next = announcements_.front();
      top.announce_op_i = next.op;
      memcpy(&top.announce_key_i[0], next.key.data(), 33);
      memcpy(&top.announce_tip_i[0], next.tip.data(), 40);
      memcpy(&top.announce_parent_i[0], next.parent.data(), 32);
    }
    offer_fill(answer);
    settle();

    if (offered_ && top.lookup_ready_o) look_up();
    if (announce_valid_ && top.announce_ready_o) announced();
    if (top.reply_valid_o && top.reply_ready_i) reply();
    if (top.miss_valid_o && top.miss_ready_i) miss();
    if (filling_ && top.fill_ready_o) filled_word();
    counts.filled += top.filled_o;
    counts.refused += top.refused_o;
    // Unless the next fill is for the same key and about to empty its place.
    if (top.filled_o && was_true_ && !(filling_ && in_key_ == was_key_)) in_.insert(was_key_);
    step();
  }

  void look_up() {
    next_.tip = cache_.tip[chain_of(next_.key)];
    next_.truth = cache_.body(next_.key, longest);
    next_.must_hit = 2 * pool <= kWays && queries.size() == 1 && in_.count(next_.key);
    pending_[tag_] = next_;
    offered_ = false;
    tag_++;
    counts.lookups++;
  }

  void announced() {
    const Announcement now = announcements_.front();
    announcements_.pop_front();
    announce_valid_ = false;
    in_true_ = was_true_ = false;
    if (now.op == kForget) {
      in_.erase(now.key);
    } else {
      const World before = cache_;
      cache_ = now.after;
      for (auto at = in_.begin(); at != in_.end();) at = before.version(*at) == cache_.version(*at) ? std::next(at) : in_.erase(at);
    }
  }

  void reply() {
    if (words++ == 0) first_word = cycle;
    last_word = cycle;
    const auto found = pending_.find(top.reply_tag_o);
    if (found == pending_.end()) fail(*this, "a reply that nobody asked for");
    const Lookup& lookup = found->second;
    const unsigned length = unsigned(lookup.truth.size());
    if (top.reply_length_o != length) fail(*this, "a reply of another length, or stale");
    if (top.reply_too_large_o) {
      if (length <= lookup.room || !top.reply_last_o) fail(*this, "a reply that is not too large");
    } else {
      if (length > lookup.room) fail(*this, "a reply that is too large");
      const unsigned bytes = unsigned(__builtin_popcountll(top.reply_keep_o));
      if (top.reply_keep_o != ~0ull >> (64 - bytes) || (!top.reply_last_o && bytes != 64)) fail(*this, "keep");
      const auto* data = reinterpret_cast<const uint8_t*>(&top.reply_data_o[0]);
      reply_.insert(reply_.end(), data, data + bytes);
      if (reply_.size() > length) fail(*this, "a reply without an end");
      if (!top.reply_last_o) return;
      if (reply_ != lookup.truth) fail(*this, "a reply that is not true as of the tip");
    }
    reply_.clear();
    pending_.erase(found);
    counts.hits++;
  }

  void miss() {
    const auto found = pending_.find(top.miss_tag_o);
    if (found == pending_.end()) fail(*this, "a miss that nobody asked for");
    if (memcmp(&top.miss_key_o[0], found->second.key.data(), 33) != 0) fail(*this, "a miss of another key");
    if (found->second.must_hit) fail(*this, "a miss of what is there and true");
    counts.misses++;
    counts.unfilled += !top.miss_fill_o;
    if (top.miss_fill_o) {
      if (!outstanding_.insert(top.miss_id_o).second) fail(*this, "an id is given twice");
      counts.most = std::max<uint64_t>(counts.most, outstanding_.size());
      Answer answer{cycle + random.below(delay + 1), top.miss_id_o, random.chance(5), host_.body(found->second.key, longest), found->second.key};
      if (random.chance(3)) answer.body.resize(1025 + random.below(200));
      if (random.chance(3)) answer.body.resize(1 + random.below(39));
      answers_.insert(answers_.begin() + long(random.below(answers_.size() + 1)), answer);
    }
    pending_.erase(found);
  }

  void offer_fill(bool answer) {
    if (!filling_ && answer && fills_.open()) {
      for (size_t i = 0; i < answers_.size(); i++) {
        if (answers_[i].due > cycle) continue;
        filling_ = true;
        now_ = answers_[i];
        answers_.erase(answers_.begin() + long(i));
        beat_ = 0;
        // The place is emptied before it is filled again.
        in_.erase(now_.key);
        in_key_ = now_.key;
        in_true_ = true;
        break;
      }
    }
    top.fill_valid_i = filling_;
    if (!filling_) return;
    const size_t at = 64 * beat_, left = now_.none ? 1 : now_.body.size() - at, bytes = std::min<size_t>(left, 64);
    std::array<uint8_t, 64> word{};
    memcpy(word.data(), &now_.body[at], std::min(bytes, now_.body.size() - at));
    memcpy(&top.fill_data_i[0], word.data(), 64);
    top.fill_keep_i = ~0ull >> (64 - bytes);
    top.fill_last_i = left <= 64;
    top.fill_id_i = now_.id;
    top.fill_none_i = now_.none;
  }

  void filled_word() {
    beat_++;
    if (!top.fill_last_i) return;
    filling_ = false;
    was_key_ = in_key_;
    was_true_ = in_true_;
    outstanding_.erase(now_.id);
  }

  World cache_, host_;
  std::map<uint16_t, Lookup> pending_;
  std::vector<Answer> answers_;
  std::deque<Announcement> announcements_;
  std::set<Key> in_;  // known to be cached and correct
  std::set<unsigned> outstanding_;
  std::vector<uint8_t> reply_;
  Lookup next_;
  Answer now_;
  Key in_key_{}, was_key_{};  // keys of the fill being written, and of the one being committed
  bool offered_ = false, announce_valid_ = false, filling_ = false, in_true_ = false, was_true_ = false;
  uint16_t tag_ = 0;
  unsigned beat_ = 0;
  Throttle lookups_{Throttle::kAlways, 1}, replies_{Throttle::kAlways, 1}, misses_{Throttle::kAlways, 1}, fills_{Throttle::kAlways, 1};
};

void body(const harness::Options& options) {
  Test test(options);
  const char* asked = getenv("OPERATIONS");
  const uint64_t count = asked ? strtoull(asked, nullptr, 10) : OPERATIONS;
#ifdef EXTERNAL
  const Latency latencies[] = {{1, 0, 0, 0}, {20, 0, 0, 0}, {5, 60, 0, 0}, {60, 20, 400, 50}};
#else
  const Latency latencies[] = {{1, 0, 0, 0}};
#endif

  // One lookup per cycle: all of them miss, and 64 get an id.
  test.pool = 1u << 30, test.block_chance = 0;
  test.begin(Throttle::kAlways, Throttle::kAlways, Throttle::kAlways, Throttle::kAlways);
  uint64_t start = test.cycle, lookups = test.counts.lookups;
  while (test.counts.lookups < lookups + 2000) test.one();
  if (test.cycle - start != 2000) fail(test, "not one lookup a cycle");
  if (test.counts.most != kMisses) fail(test, "not so many misses outstanding");

  for (int pace = 0; pace < 4 * Throttle::kKinds; pace++) {
    for (const Latency& latency : latencies) {
      for (unsigned pool : {1u, 2u, 40u, 2000u}) {
        for (unsigned delay : {0u, 60u, 2000u}) {
          test.pool = pool;
          test.delay = delay;
          test.block_chance = pool == 2 ? 2 : 5;
          test.longest = pool == 1 ? 64 : 1024;
          test.queries = pool > 4 ? std::vector<unsigned>{kLatest, 2, 3, kIndex} : std::vector<unsigned>{1u + unsigned(pace) % 4};
          const auto kind = [&](int shift) { return Throttle::Kind((pace >> shift) % Throttle::kKinds); };
          test.begin(kind(0), kind(2), kind(1), kind(0), latency);
          const uint64_t share = count / std::size(latencies);
          test.run(pool == 2000 ? share / 2 : share);
        }
      }
    }
  }

  // Whole paths back to back: one word per cycle at any constant latency.
  for (const Latency& latency : latencies) {
    if (latency.spread != 0) continue;
    test.pool = 2, test.delay = 0, test.block_chance = 0, test.longest = 1024, test.queries = {kLatest};
    test.begin(Throttle::kAlways, Throttle::kAlways, Throttle::kAlways, Throttle::kAlways, latency);
    // Until all replies are cached: some of the host's answers are rejected.
    uint64_t misses;
    do {
      misses = test.counts.misses;
      test.run(100);
    } while (test.counts.misses != misses);
    test.words = 0;
    test.run(400);
    // The memory's latency may show once: the first reply can be a too large one, which reads no word from memory.
    const uint64_t gaps = test.last_word - test.first_word + 1 - test.words;
    if (test.words < 400 || (gaps != 0 && gaps != latency.least)) fail(test, std::to_string(gaps) + " gaps between the words of replies");
  }
  const Counts& all = test.counts;
  if (all.hits * 10 < all.lookups || all.filled == 0 || all.refused == 0) fail(test, std::to_string(all.hits) + " hits only");
  printf("%lu lookups, %lu hits, %lu misses (%lu without an id); %lu fills, %lu refused; %lu blocks", all.lookups, all.hits, all.misses,
         all.unfilled, all.filled, all.refused, all.announced);
}

}  // namespace

int main(int argc, char** argv) { return harness::run(argc, argv, body); }
