// gigabit_mac: correct frames arrive once, in order and unchanged; each other one is dropped whole and has its status.
// Sent frames have preamble, padding, FCS and gap, and no pause. With clocks of several ratios, and under every pair of
// idle and back-pressure patterns. Frames that find no room are dropped and counted, but only if the core is slow.
#include "../clocks.hpp"
#include "../ethernet.hpp"

using namespace harness;
using namespace ethernet;

// As in mac_pkg.
enum Status { kGood, kBadFcs, kRunt, kJabber, kError, kNoStart, kDropped, kStatuses };

// A byte time of the receive side.
struct Gmii {
  bool valid, error;
  uint8_t data;
};

struct Received {
  Status status;
  Bytes packet;
};

constexpr size_t kWordBytes = DataWidth / 8;

class Test {
 public:
  Test(const Options& options, uint64_t rx_period, uint64_t tx_period, uint64_t period, Throttle::Kind source, Throttle::Kind sink, bool short_frames)
      : bench_(options),
        top_(bench_.top),
        random_(options.seed * 64 + source * 8 + sink + period),
        idle_(source, options.seed + 1),
        pressure_(sink, options.seed + 2),
        clocks_(bench_),
        rx_(clocks_.add(top_.rx_clk_i, rx_period, 1 + random_.below(rx_period))),
        tx_(clocks_.add(top_.tx_clk_i, tx_period, 1 + random_.below(tx_period))),
        core_(clocks_.add(top_.clk_i, period)),
        saturated_(source == Throttle::kAlways),
        short_frames_(short_frames) {}

  // Frames dropped for lack of room.
  uint64_t dropped = 0;
  uint64_t counts[kStatuses] = {};

  void run(uint64_t frames) {
    top_.rx_rst_ni = top_.tx_rst_ni = top_.rst_ni = 1;
    bench_.settle();
    top_.rx_rst_ni = top_.tx_rst_ni = top_.rst_ni = 0;
    top_.valid_i = top_.ready_i = top_.rx_dv_i = top_.rx_er_i = 0;
    uint64_t arrived = 0, offered = 0, quiet = 0;
    while (quiet < 4000) {
      const unsigned rising = clocks_.next();
      // The resets are released in any order.
      if (bench_.cycle == 8 + random_.below(8)) top_.rx_rst_ni = 1;
      if (bench_.cycle == 8 + random_.below(8)) top_.tx_rst_ni = 1;
      if (bench_.cycle == 8 + random_.below(8)) top_.rst_ni = 1;
      if (bench_.cycle == 16) top_.rx_rst_ni = top_.tx_rst_ni = top_.rst_ni = 1;
      if (bench_.cycle > 20) {
        if (rising & rx_) {
          if (line_.empty() && arrived < frames) arrived++, arrive();
          receive();
        }
        if (rising & core_) {
          if (packet_.empty() && offered < frames) offered++, offer();
          core_inputs();
        }
      }
      bench_.settle();
      quiet++;
      if (rising & core_) {
        if (core_outputs()) quiet = 0;
      }
      if (rising & tx_) {
        if (transmitted()) quiet = 0;
      }
      if (!line_.empty() || !packet_.empty()) quiet = 0;
      clocks_.rise();
      if (entered_) top_.valid_i = 0;
      entered_ = false;
      if (bench_.cycle > frames * 60000 + 10000) fail(bench_, "the MAC hangs");
    }
    if (!events_.empty()) fail(bench_, "frames have no status");
    if (!expected_.empty()) fail(bench_, "frames did not arrive");
    if (!sent_.empty()) fail(bench_, "packets were not sent");
  }

 private:
  size_t length(size_t least, size_t most) { return least + random_.below(most - least + 1); }

  Bytes random_bytes(size_t size) {
    Bytes bytes(size);
    for (auto& byte : bytes) byte = static_cast<uint8_t>(random_.next());
    return bytes;
  }

  // A frame with its FCS: mostly short, often of an extreme length.
  Bytes correct() {
    size_t size = length(kMinBytes, 200);
    if (short_frames_) size = kMinBytes;
    else if (random_.chance(10)) size = kMaxBytes;
    else if (random_.chance(20)) size = length(kMinBytes, kMaxBytes);
    else if (random_.chance(20)) size = kMinBytes;
    return framed(random_bytes(size - kFcsBytes));
  }

  // Appends a frame to what arrives on the line.
  void arrive() {
    Bytes bytes = correct();
    Status status = kGood;
    size_t error = SIZE_MAX, preamble = random_.below(kPreambleBytes + 1);
    bool start = true;
    if (!short_frames_) {
      switch (random_.below(12)) {
        case 0:
          status = kBadFcs;
          bytes[random_.below(bytes.size())] ^= 1 << random_.below(8);
          break;
        case 1: {
          // With a correct FCS, if there is room for one.
          status = kRunt;
          const size_t size = random_.chance(30) ? kMinBytes - 1 : random_.below(kMinBytes);
          bytes = random_bytes(size);
          if (size > kFcsBytes) {
            bytes.resize(size - kFcsBytes);
            const uint32_t value = fcs(bytes);
            for (int byte = 0; byte < 4; byte++) bytes.push_back(static_cast<uint8_t>(value >> (8 * byte)));
          }
          break;
        }
        case 2:
          status = kJabber;
          bytes = framed(random_bytes((random_.chance(50) ? kMaxBytes + 1 : length(kMaxBytes + 1, 4000)) - kFcsBytes));
          break;
        case 3:
          status = kError;
          error = random_.below(bytes.size());
          break;
        case 4:
          // The carrier ends within the preamble, or another byte comes before the start.
          status = kNoStart;
          start = false;
          if (random_.chance(50)) bytes.clear();
          else bytes[0] = 0x5d;
          preamble = 1 + random_.below(kPreambleBytes);
          break;
        default: break;
      }
    }
    for (size_t at = 0; at < preamble; at++) line_.push_back({true, false, kPreamble});
    if (start) line_.push_back({true, false, kStartOfFrame});
    for (size_t at = 0; at < bytes.size(); at++) line_.push_back({true, at == error, bytes[at]});
    // Clocks differ: a gap may arrive shorter than it was sent. An error without a carrier is no frame's.
    const size_t gap = short_frames_ ? kGapBytes : random_.chance(50) ? 1 : length(1, 2 * kGapBytes);
    for (size_t at = 0; at < gap; at++) line_.push_back({false, random_.chance(10), static_cast<uint8_t>(random_.next())});
    events_.push_back({status, status == kGood ? Bytes(bytes.begin(), bytes.end() - kFcsBytes) : Bytes()});
  }

  void receive() {
    const Gmii now = line_.empty() ? Gmii{false, false, 0} : line_.front();
    if (!line_.empty()) line_.pop_front();
    top_.rx_dv_i = now.valid;
    top_.rx_er_i = now.error;
    top_.rxd_i = now.data;
  }

  // A packet to send, from a byte on: the MAC pads.
  void offer() {
    packet_ = random_bytes(short_frames_ ? kMinBytes - kFcsBytes : random_.chance(10) ? kMaxBytes - kFcsBytes : length(1, 200));
    sent_.push_back(packet_);
    at_ = 0;
  }

  void core_inputs() {
    top_.ready_i = pressure_.open();
    if (!top_.valid_i && !packet_.empty() && idle_.open()) {
      top_.valid_i = 1;
      uint8_t word[kWordBytes] = {};
      const size_t bytes = std::min(kWordBytes, packet_.size() - at_);
      std::memcpy(word, &packet_[at_], bytes);
      std::memcpy(&top_.data_i, word, kWordBytes);
      top_.keep_i = (1u << bytes) - 1;
      top_.last_i = at_ + bytes == packet_.size();
    }
  }

  // Returns whether anything happened.
  bool core_outputs() {
    bool happened = false;
    if (top_.rx_status_valid_o) {
      happened = true;
      if (events_.empty()) fail(bench_, "a status of no frame");
      const Received event = events_.front();
      events_.pop_front();
      const auto status = static_cast<Status>(top_.rx_status_o);
      counts[status]++;
      if (status == kDropped && event.status == kGood) dropped++;
      else if (status != event.status) fail(bench_, "status " + std::to_string(status) + " instead of " + std::to_string(event.status));
      else if (status == kGood) expected_.push_back(event.packet);
    }
    if (top_.valid_o && top_.ready_i) {
      happened = true;
      uint8_t word[kWordBytes];
      std::memcpy(word, &top_.data_o, kWordBytes);
      for (size_t byte = 0; byte < kWordBytes; byte++) {
        if (top_.keep_o >> byte & 1) taken_.push_back(word[byte]);
      }
      if (!top_.last_o && top_.keep_o != (1u << kWordBytes) - 1) fail(bench_, "a word before the last one is not full");
      if (top_.last_o) {
        if (expected_.empty()) fail(bench_, "a frame arrived that was not sent, or was not correct");
        if (taken_ != expected_.front()) fail(bench_, "a frame arrived changed or in another order");
        expected_.pop_front();
        taken_.clear();
      }
    }
    if (top_.valid_i && top_.ready_o) {
      happened = true;
      at_ += std::min(kWordBytes, packet_.size() - at_);
      if (top_.last_i) packet_.clear();
      entered_ = true;
    }
    return happened;
  }

  bool transmitted() {
    if (top_.tx_en_o) {
      if (wire_.empty() && frames_out_ > 0) {
        if (gap_ < kGapBytes) fail(bench_, "a gap of " + std::to_string(gap_) + " bytes");
        // Once the queue is filled, frames of the minimum length are sent at the line's rate.
        if (saturated_ && short_frames_ && frames_out_ > 2 && gap_ != kGapBytes) fail(bench_, "a gap of " + std::to_string(gap_) + " bytes under load");
      }
      wire_.push_back(top_.txd_o);
      return true;
    }
    if (!wire_.empty()) {
      Bytes packet;
      try {
        packet = unframed(wire_);
      } catch (const std::exception& error) {
        fail(bench_, error.what());
      }
      if (sent_.empty()) fail(bench_, "a frame was sent that was not offered");
      Bytes expected = sent_.front();
      sent_.pop_front();
      if (expected.size() < kMinBytes - kFcsBytes) expected.resize(kMinBytes - kFcsBytes);
      if (packet != expected) fail(bench_, "a frame was sent changed or in another order");
      wire_.clear();
      frames_out_++;
      gap_ = 0;
    }
    gap_++;
    return false;
  }

  Bench bench_;
  Vtop& top_;
  Random random_;
  Throttle idle_, pressure_;
  Clocks clocks_;
  const unsigned rx_, tx_, core_;
  const bool saturated_, short_frames_;
  std::deque<Gmii> line_;
  std::deque<Received> events_;
  std::deque<Bytes> expected_, sent_;
  Bytes taken_, packet_, wire_;
  size_t at_ = 0, frames_out_ = 0, gap_ = 0;
  // A word of `packet_` was accepted in this cycle.
  bool entered_ = false;
};

int main(int argc, char** argv) {
  return run(argc, argv, [](const Options& options) {
    check_fcs();
    // Periods of the line's two clocks and of the core: the line is 100 ppm slow or fast; the core is at 125, 62.5 and
    // 200 MHz.
    const uint64_t periods[][3] = {{8000, 8000, 8000}, {8002, 7998, 16000}, {7998, 8002, 5000}};
    uint64_t counts[kStatuses] = {};
    for (const auto& period : periods) {
      for (int source = 0; source < Throttle::kKinds; source++) {
        for (int sink = 0; sink < Throttle::kKinds; sink++) {
          Test test(options, period[0], period[1], period[2], Throttle::Kind(source), Throttle::Kind(sink), false);
          test.run(FRAMES / 4);
          // Even seldom ready, the core takes more than the line's byte a cycle.
          if (test.dropped) throw std::runtime_error("a frame was dropped although the core was fast enough");
          for (int status = 0; status < kStatuses; status++) counts[status] += test.counts[status];
        }
      }
      // Frames of the minimum length at the line's rate, in both directions.
      Test test(options, period[0], period[1], period[2], Throttle::kAlways, Throttle::kAlways, true);
      test.run(FRAMES);
      if (test.dropped) throw std::runtime_error("a frame was dropped at the line's rate");
    }
    // A core at 5 MHz that is seldom ready loses frames whole, and counts each.
    Test test(options, 8000, 8000, 200000, Throttle::kAlways, Throttle::kSeldom, false);
    test.run(FRAMES);
    if (test.dropped == 0) throw std::runtime_error("the queue never overflowed");
    counts[kDropped] += test.dropped;
    std::string text;
    for (int status = 0; status < kStatuses; status++) {
      if (counts[status] == 0) throw std::runtime_error("no frame ended with status " + std::to_string(status));
      text += " " + std::to_string(counts[status]);
    }
    std::printf("frames by status:%s", text.c_str());
  });
}
