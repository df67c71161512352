// The board by its pins: registers over the serial line, frames over both edges of RGMII.
#pragma once

#include <array>

#include "../../../../host_link/tb/host_link.hpp"
#include "../../../../mac/tb/clocks.hpp"
#include "../../../../mac/tb/ethernet.hpp"
#include "../../../../nic/model/turnpike_nic_csr.h"
#include "../../../../nic/tb/frames.hpp"

using namespace harness;
using ethernet::Bytes;

// Status of a received frame, as mac_pkg has it.
enum Status { kGood, kBadFcs, kRunt, kJabber, kError, kNoStart };

class Board {
 public:
  explicit Board(const Options& options) : bench_(options), random_(options.seed), top_(bench_.top), clocks_(bench_) {
    // The PHY's clock differs by 50 ppm from that of transmission.
    rx_ = clocks_.add(top_.rgmii_rx_clk_i, 8000 + 2 * random_.below(2), 1 + random_.below(8000));
    tx_ = clocks_.add(top_.tx_clk_i, 8000, 1 + random_.below(8000));
    core_ = clocks_.add(top_.clk_i, 16000, 1 + random_.below(16000));
    clocks_.falls = [this](unsigned falling) { fall(falling); };
    top_.uart_rx_i = 1;
    top_.rst_ni = 1;
    bench_.settle();
    top_.rst_ni = 0;
    step(50);
    top_.rst_ni = 1;
    step(200);
  }

  // Frames that have been sent by the board, with their preamble.
  std::deque<Bytes> sent;
  // The longest time from a frame's first byte at the pins to the first byte of the reply, both of the preamble, in ps.
  uint64_t latency = 0;
  bool phy_is_reset() const { return !top_.phy_rst_no; }
  const Bench& bench() const { return bench_; }

  // Sends a frame with its FCS to the board, with an error of the PHY at a byte.
  void receive(const Bytes& frame, size_t error = SIZE_MAX, size_t preamble = ethernet::kPreambleBytes) {
    for (size_t at = 0; at < preamble; at++) line_.push_back({true, false, ethernet::kPreamble});
    line_.push_back({true, false, ethernet::kStartOfFrame});
    for (size_t at = 0; at < frame.size(); at++) line_.push_back({true, at == error, frame[at]});
    for (size_t at = 0; at < ethernet::kGapBytes; at++) line_.push_back(kIdle);
  }

  // The same for a packet; the MAC drops one that is lost, by its FCS.
  void arrive(const Bytes& packet, bool is_lost) {
    Bytes frame = ethernet::framed(packet);
    if (is_lost) frame[random_.below(frame.size())] ^= 1 << random_.below(8);
    receive(frame);
  }

  // Advances by cycles of the core.
  void run(uint64_t cycles) { step(cycles); }

  // Whether a whole frame has left.
  bool has_frame() const { return sent.size() > (sending_ ? 1 : 0); }

  // Takes the first frame that has left.
  Bytes leave() {
    const Bytes packet = ethernet::unframed(sent.front());
    sent.pop_front();
    return packet;
  }

  // Whether all frames have arrived at the board.
  bool idle() const { return line_.empty(); }

  // Runs until the line is idle, and the board has sent nothing for a while.
  void drain() {
    do step(1000);
    while (!line_.empty() || sending_);
  }

  uint32_t read(uint16_t address) { return access(address, false, 0); }

  void write(uint16_t address, uint32_t value) {
    if (access(address, true, value) != value) fail(bench_, "the console confirms another value");
  }

  // Types a line and returns the answer, without newlines.
  std::string type(const std::string& line) {
    for (const char character : line + "\n") {
      serial(false);
      for (int bit = 0; bit < 8; bit++) serial(character >> bit & 1);
      serial(true);
    }
    for (int waited = 0; heard_.find('\n') == std::string::npos; waited++) {
      if (waited > 200) fail(bench_, "the console does not answer " + line);
      serial(true);
    }
    std::string answer;
    std::swap(answer, heard_);
    answer.pop_back();
    return answer;
  }

 private:
  struct Gmii {
    bool valid, error;
    uint8_t data;
  };
  // Between frames the PHY sends that the link is up, at a gigabit and full duplex.
  static constexpr Gmii kIdle{false, false, 0xdd};

  uint32_t access(uint16_t address, bool writes, uint32_t value) {
    char text[32];
    std::snprintf(text, sizeof text, writes ? "%04x=%x" : "%04X\r", address, value);
    const std::string answer = type(text);
    if (answer.size() != 8) fail(bench_, "the console answers \"" + answer + "\" to " + text);
    return static_cast<uint32_t>(std::stoul(answer, nullptr, 16));
  }

  // A bit of the serial line, in both directions.
  void serial(bool bit) {
    top_.uart_rx_i = bit;
    step(BitCycles);
  }

  // Advances by cycles of the core.
  void step(uint64_t cycles) {
    for (uint64_t done = 0; done < cycles;) {
      const unsigned rising = clocks_.next();
      if (rising & rx_) {
        now_ = line_.empty() ? kIdle : line_.front();
        if (!line_.empty()) line_.pop_front();
        if (now_.valid && !receiving_) began_ = clocks_.time();
        receiving_ = now_.valid;
        top_.rgmii_rxd_i = now_.data & 15;
        top_.rgmii_rx_ctl_i = now_.valid;
      }
      bench_.settle();
      if (rising & tx_) second();
      if (rising & core_) {
        hear();
        done++;
      }
      clocks_.rise();
    }
  }

  // The upper nibble is valid at the falling edge, with the error in the control bit.
  void fall(unsigned falling) {
    if (falling & rx_) {
      top_.rgmii_rxd_i = now_.data >> 4;
      top_.rgmii_rx_ctl_i = now_.valid != now_.error;
      bench_.settle();
    }
    if (falling & tx_) {
      if (!top_.rgmii_tx_clk_o) fail(bench_, "the transmit clock is low in its first half");
      low_ = top_.rgmii_txd_o;
      valid_ = top_.rgmii_tx_ctl_o;
    }
  }

  // The second half of a byte that the board sends.
  void second() {
    if (top_.rgmii_tx_clk_o) fail(bench_, "the transmit clock is high in its second half");
    if (!warm_) {
      // The cells have no reset: their first outputs are random.
      warm_ = bench_.cycle > 100;
      return;
    }
    if (top_.rgmii_tx_ctl_o != valid_) fail(bench_, "the board sends an error");
    if (valid_) {
      if (!sending_) {
        sent.emplace_back();
        latency = std::max(latency, clocks_.time() - began_);
      }
      sent.back().push_back(low_ | top_.rgmii_txd_o << 4);
    }
    sending_ = valid_;
  }

  // Samples the serial line in the middle of its bits.
  void hear() {
    const bool line = top_.uart_tx_o;
    if (hearing_ == 0) {
      if (line || !top_.rst_ni) return;
      hearing_ = 1;
      heard_byte_ = 0;
      return;
    }
    const unsigned at = hearing_++;
    if (at % BitCycles != BitCycles / 2) return;
    const unsigned bit = at / BitCycles;
    if (bit == 0 && line) fail(bench_, "a start bit is too short");
    if (bit > 0 && bit < 9) heard_byte_ |= line << (bit - 1);
    if (bit < 9) return;
    if (!line) fail(bench_, "a byte without a stop bit");
    heard_ += static_cast<char>(heard_byte_);
    hearing_ = 0;
  }

  Bench bench_;
  Random random_;
  Vtop& top_;
  Clocks clocks_;
  unsigned rx_ = 0, tx_ = 0, core_ = 0;
  std::deque<Gmii> line_;
  Gmii now_ = kIdle;
  uint8_t low_ = 0;
  uint64_t began_ = 0;
  bool valid_ = false, sending_ = false, receiving_ = false, warm_ = false;
  unsigned hearing_ = 0, heard_byte_ = 0;
  std::string heard_;
};

// A packet from a trusted address to the node, with a frame.
inline Bytes packet(const Bytes& frame, Random& random) {
  Bytes bytes(frames::kHeaders);
  for (size_t at = 0; at < 12; at++) bytes[at] = static_cast<uint8_t>(random.next());
  bytes[0] &= 0xfe;
  frames::put(bytes, 12, 0x0800, 2);
  frames::put(bytes, 14, 0x4500, 2);
  frames::put(bytes, 22, 64, 1);
  frames::put(bytes, 23, 17, 1);
  frames::put(bytes, 26, frames::kTrusted + 7, 4);
  frames::put(bytes, 30, frames::kAddress, 4);
  frames::put(bytes, 34, 4000, 2);
  frames::put(bytes, 36, frames::kPort, 2);
  bytes.insert(bytes.end(), frame.begin(), frame.end());
  frames::seal(bytes, true);
  return bytes;
}
