// A board as a TAP device: programs of this machine reach it like a board on their network. Frames of the host link and
// of accesses to registers are lost at random, in both directions. `Board` is that of node.hpp.
#pragma once

#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstring>

#include "../../nic/tb/frames.hpp"
#include "harness.hpp"
#include "host_link.hpp"

namespace host_link {

template <typename Board>
class Tap {
 public:
  Tap(Board& board, harness::Random& random, unsigned loss) : board_(board), random_(random), loss_(loss) {}

  // Serves the device of this name until the process is killed.
  [[noreturn]] void serve(const std::string& name) {
    open(name);
    for (uint64_t quiet = 0;; quiet++) {
      if (enter()) quiet = 0;
      board_.run(kTurn);
      if (leave()) quiet = 0;
      // Longer than the link waits before it sends again, so nothing else will happen.
      if (quiet < kQuiet) continue;
      pollfd ready{device_, POLLIN, 0};
      poll(&ready, 1, 1);
    }
  }

 private:
  // Cycles of the core between looks at the device: less than a frame takes.
  static constexpr uint64_t kTurn = 40, kQuiet = 500;

  void open(const std::string& name) {
    device_ = ::open("/dev/net/tun", O_RDWR | O_NONBLOCK);
    ifreq request{};
    request.ifr_flags = IFF_TAP | IFF_NO_PI;
    std::strncpy(request.ifr_name, name.c_str(), IFNAMSIZ - 1);
    if (device_ < 0 || ioctl(device_, TUNSETIFF, &request) != 0) throw std::runtime_error("no TAP device " + name + ": " + std::strerror(errno));
  }

  bool is_lost(const frames::Packet& frame) { return frame.size() >= 14 && frames::get(frame, address_at::kEtherType, 2) == kEtherType && random_.chance(loss_); }

  // Takes the next frame of the device, once the last one has arrived.
  bool enter() {
    if (!board_.idle()) return false;
    frames::Packet frame(2048);
    const ssize_t length = read(device_, frame.data(), frame.size());
    if (length <= 0) return false;
    frame.resize(static_cast<size_t>(length));
    if (!is_lost(frame)) board_.arrive(frame, false);
    return true;
  }

  // Passes on the frames that have left. While the interface is down they are lost.
  bool leave() {
    bool has_left = false;
    for (; board_.has_frame(); has_left = true) {
      const frames::Packet frame = board_.leave();
      if (is_lost(frame) || write(device_, frame.data(), frame.size()) == static_cast<ssize_t>(frame.size())) continue;
    }
    return has_left;
  }

  Board& board_;
  harness::Random& random_;
  unsigned loss_;
  int device_ = -1;
};

}  // namespace host_link
