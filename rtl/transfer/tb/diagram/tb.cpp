// Input of `make rtl-diagram`: four TRANSFERs between the same two accounts, back to back, through the transfer engine.

#include "../../../nic/tb/frames.hpp"
#include "harness.hpp"

using frames::put;

namespace {

void body(const harness::Options& options) {
  harness::Bench bench(options);
  auto& top = bench.top;
  top.compact_valid_i = top.batch_valid_i = top.tells_i = 0;
  top.limit_i = 2;
  top.compact_trusted_i = top.reply_ready_i = top.batch_reply_ready_i = top.record_ready_i = 1;
  bench.reset();
  const auto idle = [&](int cycles) {
    top.compact_valid_i = 0;
    for (int i = 0; i < cycles; i++) bench.step();
  };
  // Sends one packet; the next follows in the next cycle.
  const auto send = [&](uint32_t command, uint32_t transaction, uint32_t source, uint32_t destination, uint32_t amount) {
    frames::Packet packet(64);
    put(packet, 42, command, 4), put(packet, 46, transaction, 4), put(packet, 50, source, 4);
    put(packet, 54, destination, 4), put(packet, 58, amount, 4);
    auto* bytes = reinterpret_cast<uint8_t*>(&top.compact_packet_i[0]);
    for (int i = 0; i < 64; i++) bytes[i] = packet[63 - i];
    top.compact_valid_i = 1;
    for (bench.settle(); !top.compact_ready_o; bench.settle()) bench.step();
    bench.step();
  };
  // Wait until the memories are cleared.
  idle(300);
  send(1, 1, 1, 0, 0);
  send(1, 2, 2, 0, 0);
  send(2, 3, 1, 0, 1000);
  idle(40);
  for (uint32_t transaction = 4; transaction < 8; transaction++) send(3, transaction, 1 + transaction % 2, 2 - transaction % 2, 1);
  idle(20);
  printf("%lu cycles", bench.cycle);
}

}  // namespace

int main(int argc, char** argv) { return harness::run(argc, argv, body); }
