// The evaluation of "A hash table for line-rate data processing", repeated with the store: cycles for each request by
// sizes of keys and values, mixes, hot keys and fill, and the cycles of a lone GET by stage. Memory answers after 20
// cycles. Compares with rtl/kv/evaluation.tsv, of which rtl/results.py draws plots; KEEP_CYCLES=1 writes the file.

#include <fstream>
#include <functional>
#include <sstream>

#include "../packets.hpp"

using namespace kv;

namespace {

constexpr unsigned kMemory = 20;
const Command &kGet = kCommands[0], &kSet = kCommands[4], &kDelete = kCommands[8];

class Evaluation : public harness::Bench {
 public:
  explicit Evaluation(const harness::Options& options) : Bench(options) {
    for (unsigned at = 0; at < 2 * kSecrets; at++) top.key_secrets_i[at] = uint32_t(random.next());
    for (unsigned at = 0; at < 8; at++) top.table_secrets_i[at] = uint32_t(random.next());
  }

  // The same requests in every run: the file has their cycles.
  harness::Random random{1};
  uint64_t no_room = 0, operations = 0, waited = 0;

  void begin(unsigned memory) {
    top.valid_i = 0, top.reply_ready_i = top.host_ready_i = 1;
    top.least_i = uint16_t(memory), top.spread_i = top.refresh_i = top.gap_i = 0;
    top.series_i++, top.now_i = kNow;
    reset();
    // Until the table is clear, and all blocks are free.
    for (unsigned at = 0; at < 2 * Blocks; at++) clock(nullptr, 0);
  }

  Sent request(const Command& command, unsigned name, unsigned key_length, unsigned value) {
    Sent sent = build(random, command, key(name, key_length), Bytes(value, uint8_t(name)), 0, kNow);
    // As most clients set them; each four bits more are a cycle of a line's reply.
    if (command.op == Set) put(sent.packet, kBody, 0, 4);
    return sealed(std::move(sent));
  }

  Sent line(unsigned name, unsigned key_length) {
    const Bytes bytes = key(name, key_length);
    Sent sent{Packet(kMessage), {}, {}};
    put(sent.packet, 44, 0, 2), put(sent.packet, 46, 1, 2);
    set_text(sent, "get " + std::string(bytes.begin(), bytes.end()) + "\r\n");
    return sealed(sent);
  }

  // Cycles for each of many requests at full rate, without those at the start.
  double cycles_each(unsigned count, const std::function<Sent(unsigned)>& next) {
    const unsigned start = count / 8;
    uint64_t from = 0, done = 0;
    operations = waited = 0;
    on_verdict_ = [&] {
      if (++done == start) from = cycle;
    };
    for (unsigned at = 0; at < count; at++) send(next(at));
    while (done < count) clock(nullptr, 0);
    const uint64_t until = cycle;
    on_verdict_ = nullptr;
    drain();
    return double(until - from) / (count - start);
  }

  void send(const Sent& sent) {
    for (size_t at = 0; at < sent.packet.size(); at += kWord) {
      for (int i = 0; !clock(&sent, at); i++) {
        if (i > 20000) fail(*this, "no word is accepted any more");
      }
    }
  }

  void drain() {
    for (unsigned at = 0; at < 400; at++) clock(nullptr, 0);
  }

  // Cycles from a lone request's last word to each event.
  std::vector<std::pair<std::string, unsigned>> stages(const Sent& sent) {
    drain();
    seen_.clear();
    send(sent);
    accepted_ = cycle - 1;
    drain();
    return seen_;
  }

 private:
  static constexpr uint32_t kNow = 1'700'000'000;

  static Bytes key(unsigned name, unsigned length) {
    char text[16];
    snprintf(text, sizeof text, "%06u", name);
    Bytes key(length, 'k');
    memcpy(key.data(), text, std::min<size_t>(6, length));
    return key;
  }

  Sent sealed(Sent sent) {
    put(sent.packet, 12, 0x0800, 2), put(sent.packet, 14, 0x4500, 2), put(sent.packet, 20, 0x4000, 2), put(sent.packet, 23, 17, 1);
    frames::seal(sent.packet, true);
    return sent;
  }

  bool clock(const Sent* sent, size_t at) {
    top.valid_i = sent != nullptr;
    if (sent != nullptr) {
      uint8_t* word = reinterpret_cast<uint8_t*>(&top.word_i[0]);
      const size_t count = std::min<size_t>(kWord, sent->packet.size() - at);
      memset(word, 0, kWord), memcpy(word, &sent->packet[at], count);
      const uint64_t keep = count == kWord ? ~uint64_t{0} : (uint64_t{1} << count) - 1;
      memcpy(word + kWord, &keep, 8);
      top.word_i[18] = at + count == sent->packet.size();
    }
    settle();
    const bool accepted = sent != nullptr && top.ready_o;
    waits_ |= top.waits_o;
    if (top.dispatched_o) operations++, waited += std::exchange(waits_, false);
    const std::pair<const char*, bool> events[] = {{"operation", top.operation_o}, {"table", top.found_o}, {"item", top.item_o}, {"verdict", top.verdict_o}, {"reply", top.built_o}, {"checksum", top.reply_valid_o}};
    for (const auto& [name, is_now] : events) {
      if (is_now && std::find_if(seen_.begin(), seen_.end(), [&](const auto& each) { return each.first == name; }) == seen_.end()) seen_.push_back({name, unsigned(cycle - accepted_)});
    }
    no_room += top.verdict_o && top.host_no_room_o;
    if (top.verdict_o && on_verdict_) on_verdict_();
    step();
    return accepted;
  }

  std::function<void()> on_verdict_;
  std::vector<std::pair<std::string, unsigned>> seen_;
  uint64_t accepted_ = 0;
  bool waits_ = false;
};

struct Rows {
  std::ostringstream text;
  void add(const std::string& plot, const std::string& curve, double across, double up) {
    char line[128];
    snprintf(line, sizeof line, "%s\t%s\t%g\t%.3f\n", plot.c_str(), curve.c_str(), across, up);
    text << line;
  }
};

constexpr unsigned kCount = 800, kNames = 64;

void by_size(Evaluation& test, Rows& rows, const std::string& plot, unsigned across, unsigned key, unsigned value) {
  test.begin(kMemory);
  for (unsigned name = 0; name < kNames; name++) test.send(test.request(kSet, name, key, value));
  test.drain();
  rows.add(plot, "GET", across, test.cycles_each(kCount, [&](unsigned at) { return test.request(kGet, at % kNames, key, 0); }));
  rows.add(plot, "SET", across, test.cycles_each(kCount, [&](unsigned at) { return test.request(kSet, at % kNames, key, value); }));
  if (key + value <= kLongestText) rows.add(plot, "get", across, test.cycles_each(kCount, [&](unsigned at) { return test.line(at % kNames, key); }));
}

void body(const harness::Options& options) {
  Evaluation test(options);
  Rows rows;
  for (const unsigned key : {6, 16, 32, 48, 64, 80, 96, 112, 128, 144, 160, 168, 250}) by_size(test, rows, "keys", key, key, 1);
  for (const unsigned value : {1, 32, 64, 128, 256, 512, 768, 1024, 1264, 1400}) by_size(test, rows, "values", value, 16, value);

  // Writes are SETs, and a DELETE in four. Reads and writes of random keys of a working set.
  for (const unsigned set : {1, 8, 500}) {
    for (const unsigned percent : {0, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100}) {
      test.begin(kMemory);
      for (unsigned name = 0; name < set; name++) test.send(test.request(kSet, name, 16, 1));
      test.drain();
      const double cycles = test.cycles_each(2 * kCount, [&](unsigned) {
        const bool writes = test.random.chance(percent);
        return test.request(!writes ? kGet : test.random.chance(25) ? kDelete : kSet, unsigned(test.random.below(set)), 16, 1);
      });
      rows.add("mixes", std::to_string(set), percent, cycles);
      rows.add("waits", std::to_string(set), percent, 100.0 * double(test.waited) / double(test.operations));
    }
  }

  // The table's entries, the stash included, filled step by step.
  constexpr unsigned kEntries = 2 * 8 * Buckets + 16;
  test.begin(kMemory);
  unsigned names = 0;
  for (unsigned percent = 5; percent <= 100; percent += 5) {
    const uint64_t before = test.no_room;
    const unsigned first = names;
    while (names < kEntries * percent / 100) test.send(test.request(kSet, names++, 16, 1));
    test.drain();
    rows.add("refused", "inserts", percent, 100.0 * double(test.no_room - before) / (names - first));
    rows.add("fill", "GET", percent, test.cycles_each(kCount, [&](unsigned) { return test.request(kGet, unsigned(test.random.below(names)), 16, 0); }));
    rows.add("fill", "SET", percent, test.cycles_each(kCount, [&](unsigned) { return test.request(kSet, unsigned(test.random.below(names)), 16, 1); }));
  }

  for (const unsigned key : {16, 168}) {
    test.begin(1);
    test.send(test.request(kSet, 0, key, 1));
    for (const auto& [stage, cycles] : test.stages(test.request(kGet, 0, key, 0))) rows.add("stages", stage, key, cycles);
  }
  test.begin(1);
  test.send(test.request(kSet, 0, 16, 1));
  for (const auto& [stage, cycles] : test.stages(test.line(0, 16))) rows.add("stages", "get " + stage, 16, cycles);

  const std::string path = options.vectors + "/../rtl/kv/evaluation.tsv";
  if (std::getenv("KEEP_CYCLES") != nullptr) std::ofstream(path) << rows.text.str();
  std::ifstream file(path);
  const std::string known((std::istreambuf_iterator<char>(file)), {});
  if (known != rows.text.str()) fail(test, "requests take other cycles than " + path + " has; KEEP_CYCLES=1 writes it");
  printf("%zu figures", size_t(std::count(known.begin(), known.end(), '\n')));
}

}  // namespace

int main(int argc, char** argv) { return harness::run(argc, argv, body); }
