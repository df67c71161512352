// The NIC with ledger, proofs and the key-value store, all in DRAM under several timings, under all pairs of idle and
// back-pressure patterns: traffic of all engines on all ports, and writes of the host. Then a class of blocks that is
// full, with a host that evicts; more than the host can take, with `drop`; and restarts.

#include "test.hpp"

namespace {

kv::Sent draw(KvTest& test, uint64_t names, unsigned longest) {
  Random& random = test.random;
  if (random.chance(4)) return test.sealed(kv::build_flush(random, true));
  if (random.chance(20)) {
    kv::Sent sent = test.line(random.below(names));
    if (!random.chance(8)) return sent;
    kv::spoil_line(random, sent);
    return test.sealed(std::move(sent));
  }
  const kv::Command& command = kv::kCommands[random.chance(25) ? 4 : random.chance(40) ? 0 : random.below(std::size(kv::kCommands))];
  const size_t length = random.chance(20) ? random.below(longest + 1) : random.below(150);
  kv::Sent sent = test.request(command, random.below(names), length, random.chance(50) ? 0 : 1 + uint32_t(random.below(3)));
  if (!random.chance(8)) return sent;
  const uint32_t opaque = sent.request.opaque;
  kv::spoil(random, sent);
  sent = test.sealed(std::move(sent));
  sent.request.opaque = opaque;
  return sent;
}

void pass(uint64_t seed, Throttle::Kind idle, Throttle::Kind pressure, unsigned packets, Counts& counts, KvCounts& kv_counts) {
  KvTest test(seed, counts, kv_counts);
  std::vector<Throttle> throttles;
  for (unsigned stream = 0; stream < nic::kStreams; stream++) {
    const bool in = stream < nic::kTx || stream == nic::kFromHost;
    throttles.emplace_back(Throttle::Kind(in ? idle : (pressure + stream) % Throttle::kKinds), seed + stream);
  }
  test.nic.willing = [&](unsigned stream) { return throttles[stream].open(); };
  Traffic traffic(seed, test.proofs);
  for (unsigned chain = 0; chain < 2; chain++) test.announce(chain, true);
  for (unsigned part = 0; part < 3; part++) {
    // Few keys that all ports use at once, then items of all lengths.
    const uint64_t names = part == 0 ? 3 : 20;
    for (unsigned at = 0; at < packets; at++) {
      kv::Sent sent = draw(test, names, part == 1 ? 1432 : 300);
      const unsigned port = unsigned(test.random.below(nic::kPorts + 1));
      if (port != kHost && test.random.chance(8) && sent.request.taken) test.spoiled(port, std::move(sent));
      else if (sent.packet.size() <= 1514) test.ask(port, std::move(sent));
      if (test.random.chance(50)) test.push(at % nic::kPorts, traffic.next());
      // In part, so that requests are sent while the host has received others.
      if (test.random.chance(60)) test.step(test.random.below(40)), test.look();
    }
    test.finish("seed " + std::to_string(seed));
    test.pass_time(uint32_t(test.random.below(3)));
    test.announce(part % 2, false);
  }
  const auto willing = std::exchange(test.nic.willing, nullptr);
  test.nic.step(2);
  test.expect_counters();
  counts.cycles += test.nic.cycle;
}

// More items of a class than it has blocks. Without eviction, writes of other keys are the host's for ever; a host that
// deletes the oldest items of the NIC when a write has no room makes room for the next ones.
void evicts(uint64_t seed, KvCounts& kv_counts) {
  for (const bool evicting : {false, true}) {
    Counts counts;
    KvCounts ours;
    KvTest test(seed, counts, ours);
    std::deque<kv::Bytes> here;
    std::vector<kv::Bytes> victims;
    test.written = [&](const kv::Sent& sent, bool executed) {
      const kv::Bytes key(sent.body.begin(), sent.body.begin() + sent.request.key_length);
      std::erase(here, key);
      if (executed) here.push_back(key);
      // A few at a time, so that writes on their way find room.
      for (unsigned count = 0; !executed && evicting && count < 4 && !here.empty(); count++) victims.push_back(here.front()), here.pop_front();
    };
    for (uint64_t at = 0; at < 12 * KvBlocks; at++) {
      test.ask(at % nic::kPorts, test.request(kv::kCommands[4], kv::Bytes(8, uint8_t(at % (3 * KvBlocks))), 100, 0));
      test.step(at % 7 * 10), test.look();
      for (const kv::Bytes& victim : std::exchange(victims, {})) test.ask(kHost, test.request(kv::kCommands[9], victim, 0, 0)), kv_counts.evicted++;
    }
    test.finish("eviction");
    // Without it, a block becomes free only when its key is written again.
    const uint64_t writes = 12 * KvBlocks;
    if (evicting ? ours.refused * 2 > writes : ours.refused * 2 < writes) throw std::runtime_error(std::to_string(ours.refused) + " of " + std::to_string(writes) + " writes have no room" + (evicting ? " although the host evicts" : ""));
    kv_counts.refused += ours.refused;
    std::printf("%lu of %lu writes without room%s; ", ours.refused, writes, evicting ? " with eviction" : "");
  }
}

// Writes, and requests that the NIC does not take, of ports that cannot wait, to a slow host: it gets every write that
// the NIC has executed, in order, and dropped packets are counted.
uint64_t flood(uint64_t seed) {
  Counts counts;
  KvCounts kv_counts;
  KvTest test(seed, counts, kv_counts, Test::kControl | TURNPIKE_NIC_CONTROL_DROP);
  auto& nic = test.nic;
  Throttle slow(Throttle::kSeldom, seed);
  nic.willing = [&](unsigned stream) { return stream != nic::kToHost || (slow.open() && slow.open()); };
  constexpr unsigned kEach = 600;
  uint64_t sets = 0;
  for (unsigned at = 0; at < kEach * nic::kPorts; at++) {
    kv::Sent sent = test.request(kv::kCommands[4], at % 8, 8, 0);
    if (at / nic::kPorts % 4 != 0) put(sent.packet, 51, 0x0a, 1), frames::seal(sent.packet, true);
    else sets++;
    nic.push(at % nic::kPorts, sent.packet);
  }
  const auto waiting = [&] {
    size_t count = 0;
    for (unsigned port = 0; port < nic::kPorts; port++) count += nic.waiting(port);
    return count;
  };
  while (waiting() > 0) {
    test.step();
    if (nic.top.rx_ready_o != (1u << nic::kPorts) - 1) throw std::runtime_error("a port is held up");
  }
  test.step(30000);
  nic::HostPacket from;
  Packet packet;
  uint64_t executed = 0, passed = 0, replies = 0, rx_dropped = 0;
  while (nic.host_pop(from)) {
    if (from.kind == nic::kExecuted) {
      if (get(from.bytes, kv::kCas, 8) != (uint64_t{0x8000 | KvTest::kSeries} << 48 | ++executed)) throw std::runtime_error("a write that the NIC has executed is lost");
    } else {
      passed++;
    }
  }
  for (unsigned port = 0; port < nic::kPorts; port++) {
    while (nic.pop(port, packet)) replies++;
    rx_dropped += nic.csr_counter(TURNPIKE_NIC_RX_DROPPED + 8 * port);
  }
  const uint64_t dropped = nic.csr_counter(TURNPIKE_NIC_KV_DROPPED);
  if (executed != replies || executed != nic.csr_counter(TURNPIKE_NIC_KV_EXECUTED)) throw std::runtime_error("writes, replies and their count differ");
  if (passed + dropped != nic.csr_counter(TURNPIKE_NIC_KV_PASSED)) throw std::runtime_error("passed packets are counted otherwise");
  if (executed + passed + dropped + rx_dropped != kEach * nic::kPorts) throw std::runtime_error("dropped and missing packets differ");
  if (dropped == 0 || executed == 0 || passed == 0 || executed > sets) throw std::runtime_error("not all that may become of a packet did");
  return dropped;
}

// Items do not outlive a restart, even with requests and memory accesses in flight.
void restarts(uint64_t seed) {
  Counts counts;
  KvCounts kv_counts;
  KvTest test(seed, counts, kv_counts);
  auto& nic = test.nic;
  nic::HostPacket from;
  Packet packet;
  for (unsigned turn = 0; turn < 12; turn++) {
    nic.push(0, test.request(kv::kCommands[0], 5, 0, 0).packet);
    nic.step(1500);
    if (!nic.host_pop(from) || from.kind != nic::kPacket || nic.pop(0, packet)) throw std::runtime_error("an item outlives a restart");
    nic.push(0, test.request(kv::kCommands[4], 5, 100, 0).packet);
    nic.push(0, test.request(kv::kCommands[0], 5, 0, 0).packet);
    nic.step(1500);
    if (!nic.pop(0, packet) || !nic.pop(0, packet) || get(packet, 58, 4) != 104) throw std::runtime_error("an item is not here after a restart");
    for (unsigned at = 0; at < 40; at++) nic.push(at % nic::kPorts, test.request(kv::kCommands[at % 2 * 4], at % 6, 300, 0).packet);
    nic.step(20 + test.random.below(60));
    for (unsigned port = 0; port < nic::kPorts; port++) {
      while (nic.waiting(port) > 0) nic.step();
    }
    nic.csr_write(TURNPIKE_NIC_CONTROL, 0);
    nic.step(test.random.below(3));
    while (nic.host_pop(from)) continue;
    for (unsigned port = 0; port < nic::kPorts; port++) {
      while (nic.pop(port, packet)) continue;
    }
    nic.csr_write(TURNPIKE_NIC_KV_SERIES, turn);
    nic.csr_write(TURNPIKE_NIC_CONTROL, Test::kControl);
  }
}

// Cycles from a lone GET's first word in to the first word of its reply, and cycles for each of many from all ports.
void measure(uint64_t seed) {
  Counts counts;
  KvCounts kv_counts;
  KvTest test(seed, counts, kv_counts);
  auto& nic = test.nic;
  Packet packet;
  const auto wait = [&](unsigned port) {
    for (unsigned cycles = 0; !nic.pop(port, packet); cycles++) {
      nic.step();
      if (cycles > 3000) throw std::runtime_error("no reply");
    }
  };
  nic.push(0, test.request(kv::kCommands[4], 27, 8, 0).packet), wait(0);
  nic.step(200);
  nic.push(0, test.request(kv::kCommands[0], 27, 0, 0).packet);
  const uint64_t begins = nic.cycle;
  wait(0);
  const std::string of = "_memory_" + std::to_string(memory.least);
  // The reply leaves in two cycles, and `pop` comes after the last.
  harness::figure("latency" + of, double(nic.cycle - begins - (packet.size() + DataWidth / 8 - 1) / (DataWidth / 8)));
  constexpr unsigned kEach = 200;
  for (unsigned at = 0; at < kEach; at++) {
    for (unsigned port = 0; port < nic::kPorts; port++) nic.push(port, test.request(kv::kCommands[0], 27, 0, 0).packet);
  }
  const uint64_t start = nic.cycle;
  for (unsigned port = 0; port < nic::kPorts; port++) {
    for (unsigned at = 0; at < kEach; at++) wait(port);
  }
  harness::figure("get_cycles" + of, double(nic.cycle - start) / (kEach * nic::kPorts), 1);
}

}  // namespace

int main(int argc, char** argv) {
  return run(argc, argv, [](const Options& options) {
    Counts counts;
    KvCounts kv_counts;
    for (unsigned timing = 0; timing < 2; timing++) memory = kMemories[timing], measure(options.seed);
    uint64_t seed = options.seed * 1000;
    for (int idle = 0; idle < Throttle::kKinds; idle++) {
      for (int pressure = 0; pressure < Throttle::kKinds; pressure++) {
        memory = kMemories[++seed % std::size(kMemories)];
        pass(seed, Throttle::Kind(idle), Throttle::Kind(pressure), PACKETS, counts, kv_counts);
      }
    }
    evicts(options.seed, kv_counts);
    const uint64_t dropped = flood(options.seed);
    restarts(options.seed);
    const uint64_t cases[] = {kv_counts.hits, kv_counts.lines, kv_counts.executed, kv_counts.passed, kv_counts.others, kv_counts.injected, kv_counts.flushes, kv_counts.evicted, counts.operations, counts.hits};
    for (unsigned at = 0; at < std::size(cases); at++) {
      if (cases[at] < 8) throw std::runtime_error("case " + std::to_string(at) + " has been met " + std::to_string(cases[at]) + " times");
    }
    std::printf("%lu requests of memcached, %lu of them from the host: %lu reads, %lu of them lines, and %lu others executed, %lu passed, %lu no requests, %lu without room; "
                "of %lu packets of other engines %lu operations and %lu proofs; %lu dropped",
                kv_counts.packets, kv_counts.injected, kv_counts.hits, kv_counts.lines, kv_counts.executed, kv_counts.passed, kv_counts.others, kv_counts.refused, counts.packets,
                counts.operations, counts.hits, dropped);
  });
}
