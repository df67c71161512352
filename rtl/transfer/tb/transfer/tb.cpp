// The transfer engine, packet by packet: transfers are answered as the Rust ledger says, with headers and checksums made from nothing here;
// everything else comes out on the host's side as it went in. Under every pair of idle and back-pressure patterns, back to back included.
#include <map>

#include "../../../twin/twin.hpp"
#include "harness.hpp"

using namespace harness;
using Packet = std::vector<uint8_t>;

constexpr size_t kBytes = DataWidth / 8;
constexpr uint32_t kAddress = 0x0a000001, kTrusted = 0x0a010000, kMask = 0xffff0000;
constexpr uint16_t kPort = 7400;
// Packets before a measurement of speed begins: the accounts are there, the queues are empty again.
constexpr uint64_t kStart = 100;
constexpr uint16_t kBusy = 40, kNotTrusted = 34;

static void put(Packet& packet, size_t at, uint64_t value, int bytes) {
  for (int byte = 0; byte < bytes; byte++) packet[at + byte] = static_cast<uint8_t>(value >> (8 * (bytes - 1 - byte)));
}

static uint64_t get(const Packet& packet, size_t at, int bytes) {
  uint64_t value = 0;
  for (int byte = 0; byte < bytes; byte++) value = value << 8 | packet[at + byte];
  return value;
}

static uint32_t sum(const Packet& packet, size_t from, size_t to) {
  uint32_t sum = 0;
  for (size_t at = from; at < to; at += 2) sum += static_cast<uint32_t>(get(packet, at, 2));
  return sum;
}

static uint16_t checksum(uint32_t sum) {
  while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(~sum);
}

// Writes both checksums of a packet of 64 bytes; that of UDP only where it has one.
static void seal(Packet& packet, bool udp) {
  put(packet, 24, 0, 2);
  put(packet, 24, checksum(sum(packet, 14, 34)), 2);
  put(packet, 40, 0, 2);
  if (!udp) return;
  const uint16_t value = checksum(sum(packet, 26, 34) + 17 + 30 + sum(packet, 34, 64));
  put(packet, 40, value == 0 ? 0xffff : value, 2);
}

class Traffic {
 public:
  // `hot` is transfers between the same two accounts and nothing else, behind what makes the accounts.
  Traffic(uint64_t seed, bool hot) : random_(seed), hot_(hot) {}

  // A packet, and whether this node answers it.
  std::pair<Packet, bool> next() {
    Packet packet(64);
    for (auto& byte : packet) byte = static_cast<uint8_t>(random_.next());
    put(packet, 12, 0x0800, 2);
    put(packet, 14, 0x45, 1);
    put(packet, 16, 50, 2);
    put(packet, 20, random_.chance(50) ? 0x4000 : 0, 2);
    put(packet, 23, 17, 1);
    put(packet, 26, random_.chance(90) ? kTrusted + random_.below(0x10000) : 0x0a020000 + random_.below(0x10000), 4);
    put(packet, 30, kAddress, 4);
    put(packet, 34, 1 + random_.below(7399), 2);
    put(packet, 36, kPort, 2);
    put(packet, 38, 30, 2);
    frame(packet);
    if (hot_) return {hot(packet), true};
    const bool has_udp = random_.chance(80);
    seal(packet, has_udp);
    if (random_.chance(75)) return {packet, true};
    switch (random_.below(14)) {
      case 0: packet.resize(1 + random_.below(63)); break;
      case 1: packet.resize(65 + random_.below(1450), 0xaa); break;
      case 2: put(packet, 12, 0x0806, 2); break;
      case 3: put(packet, 14, 0x46, 1), seal(packet, true); break;
      case 4: put(packet, 20, 0x2000, 2), seal(packet, true); break;
      case 5: put(packet, 20, 1 + random_.below(0x1fff), 2), seal(packet, true); break;
      case 6: put(packet, 23, 6, 1), seal(packet, true); break;
      case 7: put(packet, 30, kAddress + 1, 4), seal(packet, true); break;
      case 8: put(packet, 36, kPort + 1, 2), seal(packet, true); break;
      case 9: put(packet, 38, 29, 2), seal(packet, true); break;
      case 10: packet[14 + random_.below(20)] ^= 1 << random_.below(8); break;
      case 11:
        seal(packet, true);
        packet[42 + random_.below(22)] ^= 1 << random_.below(8);
        break;
      case 12: put(packet, 34, random_.chance(50) ? kPort : 0, 2), seal(packet, true); break;
      default:
        if (random_.chance(50)) put(packet, 42, 0x5450, 2);
        else put(packet, 62, 33, 2);
        seal(packet, true);
    }
    return {packet, false};
  }

 private:
  void frame(Packet& packet) {
    const uint32_t source = static_cast<uint32_t>(random_.below(20)), kind = static_cast<uint32_t>(random_.below(20));
    put(packet, 42, kind == 0 ? 1 : kind < 3 ? 2 : kind < 5 ? 4 : 3, 4);
    put(packet, 46, random_.below(20000), 4);
    put(packet, 50, source, 4);
    put(packet, 54, kind < 5 ? 0 : random_.below(20), 4);
    put(packet, 58, kind == 0 || (kind >= 3 && kind < 5) ? 0 : kind < 3 ? 0xffffffff : random_.below(50), 4);
    put(packet, 62, 0, 2);
    // What the extractor refuses.
    if (random_.chance(5)) put(packet, 42, 5 + random_.below(70000) % 60000, 4);
    if (random_.chance(3)) put(packet, 62, 1 + random_.below(30), 2);
    if (random_.chance(3)) put(packet, 54 + random_.below(8), random_.next(), 1);
  }

  Packet hot(Packet packet) {
    const uint32_t at = hot_packets_++, source = 1 + at % 2;
    put(packet, 26, kTrusted + 1, 4);
    put(packet, 42, at < 2 ? 1 : at < 4 ? 2 : 3, 4);
    put(packet, 46, at, 4);
    put(packet, 50, source, 4);
    put(packet, 54, at < 4 ? 0 : 3 - source, 4);
    put(packet, 58, at < 2 ? 0 : at < 4 ? 100000 : 1, 4);
    put(packet, 62, 0, 2);
    seal(packet, true);
    return packet;
  }

  Random random_;
  bool hot_;
  uint32_t hot_packets_ = 0;
};

// One side of a stream of packets.
struct Word {
  std::array<uint8_t, kBytes> data{};
  uint64_t keep = 0;
  bool last = false;
};

static std::deque<Word> words_of(const Packet& packet) {
  std::deque<Word> words;
  for (size_t at = 0; at < packet.size(); at += kBytes) {
    Word word;
    const size_t bytes = std::min(kBytes, packet.size() - at);
    std::copy_n(packet.begin() + at, bytes, word.data.begin());
    word.keep = bytes == 64 ? ~uint64_t{0} : (uint64_t{1} << bytes) - 1;
    word.last = at + bytes == packet.size();
    words.push_back(word);
  }
  return words;
}

template <typename Data, typename Keep>
static void gather(const Bench& bench, Packet& packet, const Data& data, const Keep& keep, bool last) {
  uint64_t bytes = 0;
  std::memcpy(&bytes, &keep, sizeof keep);
  const size_t count = static_cast<size_t>(__builtin_popcountll(bytes));
  if (bytes != (count == 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1) || count == 0) fail(bench, "keep has a hole");
  if (!last && count != kBytes) fail(bench, "a word before the last is not full");
  const auto* begin = reinterpret_cast<const uint8_t*>(&data);
  packet.insert(packet.end(), begin, begin + count);
}

struct Counts {
  uint64_t packets = 0, replies = 0, cycles = 0, latency = 0;
  std::map<uint16_t, uint64_t> statuses;
};

static void pass(const Options& options, uint64_t seed, Throttle idle, Throttle reply_pressure, Throttle host_pressure, uint64_t packets, Counts& counts, bool hot = false) {
  Bench bench(options);
  auto& top = bench.top;
  Random random(seed);
  for (int part = 0; part < 4; part++) top.secret_i[part] = static_cast<uint32_t>(random.next());
  top.limit_i = 16;
  top.address_i = kAddress;
  top.port_i = kPort;
  top.trusted_address_i = kTrusted;
  top.trusted_mask_i = kMask;
  top.valid_i = top.ready_i = top.host_ready_i = 0;
  bench.reset();

  Traffic traffic(seed, hot);
  twin::Ledger ledger(16, 1024);
  std::deque<Word> sending;
  std::deque<Packet> expected_replies, expected_host;
  Packet reply, host;
  std::deque<uint64_t> entered_at;
  uint64_t sent = 0, quiet = 0, entered_packets = 0, began = 0;
  while (sent < packets || top.valid_i || !sending.empty() || !expected_replies.empty() || !expected_host.empty()) {
    // Before it is measured, what waited behind the CREATEs has to be gone.
    const bool pauses = hot && sent == kStart / 2 && !expected_replies.empty();
    if (sending.empty() && !top.valid_i && sent < packets && !pauses) {
      auto [packet, ours] = traffic.next();
      sending = words_of(packet);
      (ours && get(packet, 62, 2) != 33 ? expected_replies : expected_host).push_back(std::move(packet));
      sent++;
    }
    if (!top.valid_i && !sending.empty() && idle.open()) {
      const Word& word = sending.front();
      std::memcpy(&top.data_i, word.data.data(), kBytes);
      std::memcpy(&top.keep_i, &word.keep, sizeof top.keep_i);
      top.last_i = word.last;
      top.valid_i = 1;
      sending.pop_front();
    }
    top.ready_i = reply_pressure.open();
    top.host_ready_i = host_pressure.open();
    bench.settle();
    quiet++;
    if (top.valid_o && top.ready_i) {
      quiet = 0;
      if (hot && reply.empty()) {
        if (counts.replies >= kStart) counts.latency = std::max(counts.latency, bench.cycle - entered_at.front());
        entered_at.pop_front();
      }
      gather(bench, reply, top.data_o, top.keep_o, top.last_o);
      if (top.last_o) {
        if (expected_replies.empty()) fail(bench, "a reply to nothing");
        Packet expected = expected_replies.front();
        expected_replies.pop_front();
        if (reply.size() != 64) fail(bench, "a reply of another length");
        const auto given = static_cast<uint16_t>(get(reply, 62, 2));
        twin::Frame frame;
        std::copy_n(expected.begin() + 42, frame.size(), frame.begin());
        const bool trusted = (get(expected, 26, 4) & kMask) == kTrusted;
        // Form comes before trust, trust before the ledger; of what was too much for the window nothing was done.
        twin::Frame refused = frame;
        bool execute = trusted;
        if (!trusted || given == kBusy) {
          twin::Ledger empty(1, 1024);
          empty.execute(refused);
          const uint16_t form = static_cast<uint16_t>(refused[20] << 8 | refused[21]);
          execute = form >= 16;
        }
        if (execute) {
          ledger.execute(frame);
        } else {
          std::fill(frame.begin() + 16, frame.begin() + 20, 0);
          frame[20] = 0;
          frame[21] = trusted ? kBusy : kNotTrusted;
        }
        std::swap_ranges(expected.begin(), expected.begin() + 6, expected.begin() + 6);
        std::swap_ranges(expected.begin() + 26, expected.begin() + 30, expected.begin() + 30);
        std::swap_ranges(expected.begin() + 34, expected.begin() + 36, expected.begin() + 36);
        expected[22] = 64;
        std::copy(frame.begin(), frame.end(), expected.begin() + 42);
        seal(expected, get(expected, 40, 2) != 0);
        if (reply != expected) {
          std::string text = "a reply differs from byte ";
          const auto at = std::mismatch(reply.begin(), reply.end(), expected.begin()).first - reply.begin();
          fail(bench, text + std::to_string(at) + ", status " + std::to_string(given) + " instead of " + std::to_string(get(expected, 62, 2)));
        }
        counts.statuses[given]++;
        counts.replies++;
        reply.clear();
      }
    }
    if (top.host_valid_o && top.host_ready_i) {
      quiet = 0;
      gather(bench, host, top.host_data_o, top.host_keep_o, top.host_last_o);
      if (top.host_last_o) {
        if (expected_host.empty() || host != expected_host.front()) fail(bench, "a packet to the host that nobody sent, or that was changed");
        expected_host.pop_front();
        host.clear();
      }
    }
    const bool entered = top.valid_i && top.ready_o;
    if (entered) quiet = 0;
    if (entered && top.last_i) {
      entered_at.push_back(bench.cycle);
      if (++entered_packets >= kStart) counts.cycles = counts.cycles == 0 ? 1 : bench.cycle - began + 1;
      if (entered_packets == kStart) began = bench.cycle;
    }
    if (quiet > 20000) fail(bench, "nothing moves any more");
    bench.step();
    if (entered) top.valid_i = 0;
  }
  counts.packets += packets;
}

int main(int argc, char** argv) {
  return run(argc, argv, [](const Options& options) {
    Counts counts;
    uint64_t seed = options.seed * 1000;
    for (int idle = 0; idle < Throttle::kKinds; idle++) {
      for (int pressure = 0; pressure < Throttle::kKinds; pressure++) {
        seed++;
        const auto other = Throttle::Kind((pressure + idle) % Throttle::kKinds);
        pass(options, seed, Throttle(Throttle::Kind(idle), seed + 1), Throttle(Throttle::Kind(pressure), seed + 2), Throttle(other, seed + 3), PACKETS, counts);
      }
    }
    for (const uint16_t status : {0, 1, 2, 3, 4, 16, 17, 18, 32, 33, 34}) {
      if (counts.statuses[status] == 0) throw std::runtime_error("no reply had the status " + std::to_string(status));
    }
    // Back to back, every one a TRANSFER between the same two accounts.
    Counts hot;
    pass(options, seed, Throttle(Throttle::kAlways, 0), Throttle(Throttle::kAlways, 0), Throttle(Throttle::kAlways, 0), PACKETS, hot, true);
    const uint64_t measured = PACKETS - kStart + 1, words = 64 / kBytes;
    if (hot.cycles > (measured - 1) * words + 1) throw std::runtime_error("a packet waited: " + std::to_string(hot.cycles) + " cycles");
    std::printf("%llu packets back to back in %llu cycles, latency %llu cycles; ", static_cast<unsigned long long>(measured),
                static_cast<unsigned long long>(hot.cycles), static_cast<unsigned long long>(hot.latency));
    std::printf("%llu packets, %llu replies as in Rust", static_cast<unsigned long long>(counts.packets),
                static_cast<unsigned long long>(counts.replies));
  });
}
