// Two ends of a host link over a cable that loses frames in both directions, acknowledgements included: every packet
// arrives once, in order and unchanged, whatever is lost, and whenever a side lacks room. Frames of others pass. A
// session may begin at any time: it cuts no frame, and nothing of the last one arrives in it.
#include "harness.hpp"

using namespace harness;
using Bytes = std::vector<uint8_t>;

// The longest packet, and an operation's record.
constexpr size_t kWordBytes = 16, kLongest = 1514, kRecord = 32;

struct Packet {
  Bytes bytes;
  uint32_t meta;
  bool operator==(const Packet&) const = default;
};

// Words on a bus of both sides, 128 bits each.
template <typename Bus>
static uint8_t* word(Bus& bus, unsigned side) {
  return reinterpret_cast<uint8_t*>(&bus) + kWordBytes * side;
}

// One direction of the cable: frames in flight, each with the cycle of its arrival.
struct Cable {
  struct Frame {
    Bytes bytes;
    uint64_t arrives;
    bool foreign;
  };
  std::deque<Frame> flying;
  Bytes entering;
  size_t leaving = 0;
};

static uint64_t run_pair(const Options& options, unsigned loss, Throttle::Kind pressure, unsigned room, uint64_t packets, bool records = false, uint64_t session_cycles = UINT64_MAX) {
  Bench bench(options);
  auto& top = bench.top;
  Random random(options.seed * 1000 + loss * 10 + pressure);
  Throttle idle(Throttle::kOften, random.next()), line(pressure, random.next());
  std::deque<Packet> expected[2];
  Packet sending[2], arriving[2];
  size_t at[2] = {};
  uint64_t sent[2] = {}, received[2] = {}, lost = 0, replays = 0, foreign[2] = {}, passed[2] = {};
  Cable cables[2];
  std::deque<Bytes> others[2];
  Bytes other[2];
  top.valid_i = top.rx_valid_i = 0;
  top.ready_i = top.tx_ready_i = top.other_ready_i = 0;
  top.keep_i = top.last_i = top.open_i = 0;
  bench.reset();
  uint64_t quiet = 0, begins_at = 0;
  uint32_t session = 0;
  while (received[0] < packets || received[1] < packets || !others[0].empty() || !others[1].empty()) {
    top.open_i = bench.cycle >= begins_at;
    if (top.open_i) {
      begins_at = session_cycles == UINT64_MAX ? UINT64_MAX : bench.cycle + 1 + random.below(2 * session_cycles);
      top.open_session_i = session = 1 + static_cast<uint32_t>(random.below(UINT32_MAX));
      // Packets under way are forgotten.
      for (unsigned side = 0; side < 2; side++) {
        expected[side].clear();
        sending[side].bytes.clear();
        arriving[side].bytes.clear();
        sent[side] = received[1 - side];
      }
      top.valid_i = 0;
    }
    for (unsigned side = 0; side < 2; side++) {
      const unsigned bit = 1u << side;
      // Until it has begun, packets of the last session enter and leave.
      const bool in_session = !top.open_i && (side ? top.session_o >> 32 : top.session_o & 0xffffffff) == session;
      if (in_session && sending[side].bytes.empty() && sent[side] < packets) {
        // Often of whole words or segments.
        size_t size = 1 + random.below(kLongest);
        if (records) size = kRecord;
        else if (random.chance(10)) size = 1024;
        else if (random.chance(40)) size = 1 + random.below(100);
        sending[side].bytes.resize(size);
        for (auto& byte : sending[side].bytes) byte = static_cast<uint8_t>(random.next());
        sending[side].meta = static_cast<uint32_t>(random.next());
        expected[1 - side].push_back(sending[side]);
        sent[side]++;
        at[side] = 0;
      }
      if (!(top.valid_i & bit) && !sending[side].bytes.empty() && idle.open()) {
        const size_t bytes = std::min(kWordBytes, sending[side].bytes.size() - at[side]);
        std::memcpy(word(top.data_i, side), &sending[side].bytes[at[side]], bytes);
        const uint32_t keep = (1u << bytes) - 1;
        top.keep_i = side ? (top.keep_i & 0xffff) | keep << 16 : (top.keep_i & 0xffff0000) | keep;
        const bool last = at[side] + bytes == sending[side].bytes.size();
        top.last_i = (top.last_i & ~bit) | (last ? bit : 0);
        top.meta_i = side ? (top.meta_i & 0xffffffff) | static_cast<uint64_t>(sending[side].meta) << 32 : (top.meta_i & 0xffffffff00000000) | sending[side].meta;
        top.valid_i |= bit;
      }
      top.ready_i = (top.ready_i & ~bit) | (in_session && random.chance(room) ? bit : 0);
      top.tx_ready_i = (top.tx_ready_i & ~bit) | (line.open() ? bit : 0);
      top.other_ready_i = (top.other_ready_i & ~bit) | (line.open() ? bit : 0);
      // Frames that arrive at this side come from its peer.
      Cable& cable = cables[1 - side];
      if (!(top.rx_valid_i & bit) && !cable.flying.empty() && cable.flying.front().arrives <= bench.cycle && random.chance(90)) {
        const Bytes& frame = cable.flying.front().bytes;
        const size_t bytes = std::min(kWordBytes, frame.size() - cable.leaving);
        std::memcpy(word(top.rx_data_i, side), &frame[cable.leaving], bytes);
        const uint32_t keep = (1u << bytes) - 1;
        top.rx_keep_i = side ? (top.rx_keep_i & 0xffff) | keep << 16 : (top.rx_keep_i & 0xffff0000) | keep;
        top.rx_last_i = (top.rx_last_i & ~bit) | (cable.leaving + bytes == frame.size() ? bit : 0);
        top.rx_valid_i |= bit;
      }
    }
    bench.settle();
    unsigned entered = 0, left = 0;
    quiet++;
    for (unsigned side = 0; side < 2; side++) {
      const unsigned bit = 1u << side;
      if (top.valid_i & top.ready_o & bit) entered |= bit;
      if (top.rx_valid_i & top.rx_ready_o & bit) left |= bit;
      if (top.replays_o & bit) replays++;
      if (top.valid_o & top.ready_i & bit) {
        const uint32_t keep = side ? top.keep_o >> 16 : top.keep_o & 0xffff;
        const auto meta = static_cast<uint32_t>(side ? top.meta_o >> 32 : top.meta_o);
        for (size_t byte = 0; byte < kWordBytes; byte++) {
          if (keep >> byte & 1) arriving[side].bytes.push_back(word(top.data_o, side)[byte]);
        }
        arriving[side].meta = meta;
        if (top.last_o & bit) {
          if (expected[side].empty()) fail(bench, "a packet arrived twice, or was never sent");
          if (!(arriving[side] == expected[side].front())) fail(bench, "a packet arrived changed or in another order");
          expected[side].pop_front();
          arriving[side].bytes.clear();
          received[side]++;
          quiet = 0;
        }
      }
      if (top.other_valid_o & top.other_ready_i & bit) {
        const uint32_t keep = side ? top.other_keep_o >> 16 : top.other_keep_o & 0xffff;
        for (size_t byte = 0; byte < kWordBytes; byte++) {
          if (keep >> byte & 1) other[side].push_back(word(top.other_data_o, side)[byte]);
        }
        if (top.other_last_o & bit) {
          if (others[side].empty() || other[side] != others[side].front()) fail(bench, "a frame of others changed, or is one of the link");
          others[side].pop_front();
          other[side].clear();
          passed[side]++;
        }
      }
      if (top.tx_valid_o & top.tx_ready_i & bit) {
        Cable& cable = cables[side];
        const uint32_t keep = side ? top.tx_keep_o >> 16 : top.tx_keep_o & 0xffff;
        for (size_t byte = 0; byte < kWordBytes; byte++) {
          if (keep >> byte & 1) cable.entering.push_back(word(top.tx_data_o, side)[byte]);
        }
        if (top.tx_last_o & bit) {
          const size_t length = cable.entering.size() < 32 ? SIZE_MAX : static_cast<size_t>(cable.entering[22] << 8 | cable.entering[23]);
          if (length > 1024 || cable.entering.size() != 32 + length) fail(bench, "a frame has another length than its segment");
          // The MAC pads.
          if (cable.entering.size() < 60) cable.entering.resize(60);
          const uint64_t arrives = bench.cycle + 20 + random.below(30);
          if (random.chance(loss)) lost++;
          else cable.flying.push_back({cable.entering, arrives, false});
          if (random.chance(5)) {
            // A frame of somebody else on the same cable.
            Bytes frame(60 + random.below(100));
            for (auto& byte : frame) byte = static_cast<uint8_t>(random.next());
            if (random.chance(50)) std::copy_n(cable.entering.begin(), 12, frame.begin());
            others[1 - side].push_back(frame);
            foreign[1 - side]++;
            cable.flying.push_back({frame, arrives, true});
          }
          cable.entering.clear();
        }
      }
    }
    bench.step();
    for (unsigned side = 0; side < 2; side++) {
      const unsigned bit = 1u << side;
      if (entered & bit) {
        top.valid_i &= ~bit;
        at[side] += std::min(kWordBytes, sending[side].bytes.size() - at[side]);
        if (at[side] == sending[side].bytes.size()) sending[side].bytes.clear();
      }
      if (left & bit) {
        Cable& cable = cables[1 - side];
        top.rx_valid_i &= ~bit;
        cable.leaving += std::min(kWordBytes, cable.flying.front().bytes.size() - cable.leaving);
        if (cable.leaving == cable.flying.front().bytes.size()) {
          cable.flying.pop_front();
          cable.leaving = 0;
        }
      }
    }
    if (quiet > 1000 * Timeout) fail(bench, "the link hangs");
  }
  if (loss > 0 && (lost == 0 || replays == 0)) fail(bench, "nothing was lost or sent again");
  if (loss == 0 && room == 100 && pressure == Throttle::kAlways && replays > 0) fail(bench, "segments were sent again although none was lost");
  if (passed[0] != foreign[0] || passed[1] != foreign[1]) fail(bench, "frames of others are missing");
  return lost;
}

int main(int argc, char** argv) {
  return run(argc, argv, [](const Options& options) {
    uint64_t lost = 0;
    for (const auto pressure : {Throttle::kAlways, Throttle::kOften, Throttle::kBursts}) {
      run_pair(options, 0, pressure, 100, PACKETS / 10);
      lost += run_pair(options, 1, pressure, 100, PACKETS);
      // Heavy loss; and segments without room, which are lost as well.
      lost += run_pair(options, 20, pressure, 100, PACKETS / 10);
      lost += run_pair(options, 1, pressure, 5, PACKETS / 10);
      lost += run_pair(options, 1, pressure, 50, PACKETS / 10, false, 20 * Timeout);
    }
    // More segments than there are numbers, of records of operations.
    lost += run_pair(options, 1, Throttle::kAlways, 100, RECORDS, true);
    std::printf("%d packets, %llu frames lost, no packet", 3 * 2 * (PACKETS + 4 * (PACKETS / 10)) + 2 * RECORDS, static_cast<unsigned long long>(lost));
  });
}
