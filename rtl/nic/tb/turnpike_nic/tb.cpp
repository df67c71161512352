// The whole NIC against the Rust ledger, under all pairs of idle and back-pressure patterns, all ports at once. With
// EXTERNAL the accounts and proofs are in DRAM, under several timings.
#include <fstream>
#include <sstream>

#include "test.hpp"

// A block is announced between the parts of a run.
constexpr unsigned kParts = 5;

static void pass([[maybe_unused]] const Options& options, uint64_t seed, Throttle::Kind idle, Throttle::Kind pressure, uint64_t packets, Counts& counts) {
  Test test(seed, counts);
#ifdef TRACE
  test.trace(options.trace);
#endif
  std::vector<Throttle> throttles;
  for (unsigned stream = 0; stream < nic::kStreams; stream++) {
    const bool in = stream < nic::kTx || stream == nic::kFromHost;
    throttles.emplace_back(Throttle::Kind(in ? idle : (pressure + stream) % Throttle::kKinds), seed + stream);
  }
  test.nic.willing = [&](unsigned stream) { return throttles[stream].open(); };
  Traffic traffic(seed, test.proofs);
  for (unsigned chain = 0; chain < 2; chain++) test.announce(chain, true);
  for (unsigned part = 0; part < kParts; part++) {
    for (uint64_t at = 0; at < packets / kParts; at++) test.push(at % nic::kPorts, traffic.next());
    test.run("seed " + std::to_string(seed));
    test.announce(part % 2, part % 6 == 5);
  }
  counts.cycles += test.nic.cycle;
}

// Packet from a trusted client with this frame.
static Packet packet_of(const Packet& frame) {
  Packet packet(frames::kHeaders);
  put(packet, 0, 0x020000000001, 6);
  put(packet, 6, 0x020000000002, 6);
  put(packet, 12, 0x080045, 3);
  put(packet, 22, 0x4011, 2);
  put(packet, 26, frames::kTrusted + 1, 4);
  put(packet, 30, frames::kAddress, 4);
  put(packet, 34, 40000, 2);
  put(packet, 36, frames::kPort, 2);
  packet.insert(packet.end(), frame.begin(), frame.end());
  frames::seal(packet, true);
  return packet;
}

static Packet batch_of(const std::vector<Packet>& entries) {
  Packet frame(16);
  put(frame, 0, 0x54500102, 4);
  put(frame, 8, entries.size(), 2);
  for (const auto& entry : entries) {
    frame.insert(frame.end(), entry.begin(), entry.end());
    frame.resize(frame.size() + 2);
  }
  return frame;
}

static Packet compact(uint32_t command, uint32_t transaction, uint32_t source, uint32_t destination, uint32_t amount) {
  Packet frame(22);
  for (const auto& [at, value] : std::map<size_t, uint32_t>{{0, command}, {4, transaction}, {8, source}, {12, destination}, {16, amount}}) put(frame, at, value, 4);
  return frame;
}

static Packet bytes_of(const std::string& text) {
  Packet bytes(text.size() / 2);
  for (size_t at = 0; at < bytes.size(); at++) bytes[at] = static_cast<uint8_t>(std::stoul(text.substr(2 * at, 2), nullptr, 16));
  return bytes;
}

// Vectors of the ledger, as compact frames and as batches; then every datagram of the wire vectors, whose kind decides
// who answers it.
static void golden(const Options& options, Counts& counts) {
  std::ifstream requests(options.vectors + "/ledger/compact_requests.hex"), replies(options.vectors + "/ledger/compact_replies.hex");
  std::vector<Packet> asked;
  std::deque<twin::Frame> given;
  std::string line, reply;
  while (std::getline(requests, line) && std::getline(replies, reply)) {
    if (line[0] == '/') continue;
    asked.push_back(bytes_of(line));
    given.emplace_back();
    std::ranges::copy(bytes_of(reply), given.back().begin());
  }
  if (asked.size() < 100) throw std::runtime_error("no vectors in " + options.vectors);
  Test alone(options.seed, counts, 100);
  alone.golden = given;
  for (const auto& frame : asked) alone.push(0, {packet_of(frame), Kind::kCompact});
  alone.run("compact vectors");
  Test batched(options.seed, counts, 100);
  batched.golden = given;
  for (size_t at = 0, count = 1; at < asked.size(); at += count, count = count % 60 + 1) {
    const auto end = asked.begin() + std::min(at + count, asked.size());
    batched.push(nic::kPorts - 1, {packet_of(batch_of({asked.begin() + at, end})), Kind::kBatch});
  }
  batched.run("batches of vectors");
  if (!alone.golden.empty() || !batched.golden.empty()) throw std::runtime_error("not all vectors were executed");

  std::ifstream wire(options.vectors + "/wire/requests.txt");
  Test test(options.seed, counts);
  size_t count = 0;
  while (std::getline(wire, line)) {
    std::istringstream fields(line);
    std::string name, kind, status, answer, text;
    if (line.empty() || line[0] == '#' || !(fields >> name >> kind >> status >> answer >> text)) continue;
    const Packet frame = text == "-" ? Packet() : bytes_of(text);
    Kind ours = Kind::kHost;
    // Compact frames of another length are not compact frames. The NIC takes batches of compact entries at its own
    // promise. Whether a proof's key is well formed is for the host to decide, as the cache has no answer.
    if (kind == "compact" && frame.size() == 22 && name != "compact_status_malformed") ours = Kind::kCompact;
    if (kind == "batch" && status == "OK" && frame[10] == 0 && frame[11] <= 1) ours = Kind::kBatch;
    if (kind == "proof" && status == "OK" && frame.size() <= 1472) ours = Kind::kProof;
    if (name == "proof_bitcoin_index" || name == "proof_key_long" || name == "proof_locator_long") ours = Kind::kProof;
    test.push(static_cast<unsigned>(count++ % nic::kPorts), {packet_of(frame), ours});
    test.run(name);
  }
  if (count < 100) throw std::runtime_error("no vectors of the wire in " + options.vectors);
}

// Wire vectors of proofs: each is requested twice; after the first, the host fills the cache.
static void proof_vectors(const Options& options) {
  std::ifstream wire(options.vectors + "/wire/replies.txt");
  std::string line, name, kind, status, text;
  unsigned count = 0;
  while (std::getline(wire, line)) {
    std::istringstream fields(line);
    if (line.empty() || line[0] == '#' || !(fields >> name >> kind >> status >> text) || kind != "proof" || status != "OK") continue;
    Packet frame = bytes_of(text), announcement(TURNPIKE_NIC_ANNOUNCEMENT_BYTES);
    // Some have trailing padding, which the NIC does not send.
    frame.resize(48 + get(frame, 12, 4));
    Packet request(frame.begin(), frame.begin() + 48);
    request[3] = 3;
    put(request, 12, 0, 4);
    request.resize(1472);
    announcement[TURNPIKE_NIC_ANNOUNCEMENT_OPERATION] = Proofs::kReorganise;
    announcement[TURNPIKE_NIC_ANNOUNCEMENT_PLACE] = uint8_t(frame[8] << 4);
    std::copy_n(frame.begin() + 48, 40, announcement.begin() + TURNPIKE_NIC_ANNOUNCEMENT_HASH);

    Counts counts;
    Test test(options.seed, counts);
    auto& nic = test.nic;
    nic.host_push({nic::kAnnounce, 0, 0, announcement});
    nic.step(3000);
    nic.push(0, packet_of(request));
    nic.step(500);
    nic::HostPacket miss;
    Packet reply;
    if (!nic.host_pop(miss) || miss.kind != nic::kMiss || miss.bytes != packet_of(request)) throw std::runtime_error(name + ": no miss");
    nic.host_push({nic::kFill, 0, miss.id, Packet(frame.begin() + 48, frame.end())});
    nic.step(300);
    nic.push(0, packet_of(request));
    nic.step(500);
    if (!nic.pop(0, reply) || reply != frames::reply_to(packet_of(request), frame)) throw std::runtime_error(name + " is " + hex(reply));
    if (nic.csr_counter(TURNPIKE_NIC_PROOF_HITS) != 1 || nic.csr_counter(TURNPIKE_NIC_FILLS) != 1) throw std::runtime_error(name + ": counters");
    count++;
  }
  if (count < 3) throw std::runtime_error("no vectors of proofs in " + options.vectors);
}

// Registers, packets that the host injects and sends, replies that it holds, and a restart.
static void host(const Options& options) {
  Counts counts;
  Test test(options.seed, counts);
  auto& nic = test.nic;
  const auto check = [&](bool right, const char* what) {
    if (!right) throw std::runtime_error(std::string("host: ") + what);
  };
  const auto from_nic = [&](uint8_t kind, uint8_t port) {
    nic::HostPacket packet;
    nic.step(3000);
    check(nic.host_pop(packet) && packet.kind == kind && packet.port == port, "a packet of another kind or port");
    return packet.bytes;
  };
  check(nic.csr_read(TURNPIKE_NIC_ID) == 0x54504e49 && nic.csr_read(TURNPIKE_NIC_PORTS) == nic::kPorts &&
            nic.csr_read(TURNPIKE_NIC_RETRIES) == kWindow, "what it is");
  check(nic.csr_read(TURNPIKE_NIC_ADDRESS) == frames::kAddress && nic.csr_read(TURNPIKE_NIC_SECRET) == 0, "what was written");
  nic.csr_write(TURNPIKE_NIC_CONTROL, (Test::kControl | TURNPIKE_NIC_CONTROL_HOLD) & ~TURNPIKE_NIC_CONTROL_RECORD);

  // A reply that is held, then sent.
  Packet packet, frame = compact(1, 1, 7, 0, 0);
  const auto request = packet_of(frame);
  const unsigned port = nic::kPorts - 1;
  nic.push(port, request);
  const Packet held = from_nic(nic::kReply, static_cast<uint8_t>(port));
  check(held == frames::reply_to(request, frame) && !nic.pop(port, packet), "a reply that is not held");
  nic.host_push({nic::kSend, static_cast<uint8_t>(port), 0, held});
  nic.step(100);
  check(nic.pop(port, packet) && packet == held, "a packet is not sent");
  // The same for a batch's reply.
  nic.push(port, packet_of(batch_of({compact(4, 5, 7, 0, 0)})));
  from_nic(nic::kReply, static_cast<uint8_t>(port));
  check(!nic.pop(port, packet), "a reply of a batch that is not held");
  // Unknown ports and kinds are discarded.
  nic.host_push({nic::kSend, nic::kPorts, 0, held});
  nic.host_push({77, 0, 0, held});
  nic.csr_write(TURNPIKE_NIC_CONTROL, Test::kControl & ~TURNPIKE_NIC_CONTROL_RECORD);
  // Injected by the host: the answer comes back to it, as does a packet that no engine takes.
  frame = compact(2, 2, 7, 0, 1000);
  nic.host_push({nic::kInject, nic::kHostPort, 0, packet_of(frame)});
  put(frame, 16, 1000, 4);
  check(from_nic(nic::kReply, nic::kHostPort) == frames::reply_to(packet_of(frame), frame), "an injected operation");
  Packet other(100, 0x33);
  nic.host_push({nic::kInject, nic::kHostPort, 0, other});
  check(from_nic(nic::kPacket, nic::kHostPort) == other, "an injected packet");
  nic.host_push({nic::kInject, 0, 0, packet_of(compact(4, 3, 7, 0, 0))});
  nic.step(3000);
  check(nic.pop(0, packet) && get(packet, 58, 4) == 1000, "an operation injected for a port");
  check(nic.csr_counter(TURNPIKE_NIC_OPERATIONS) == 4 && nic.csr_counter(TURNPIKE_NIC_RX_PACKETS + 8 * port) == 2, "counters");
  check(nic.csr_counter(TURNPIKE_NIC_SENT_PACKETS) == 1 && nic.csr_counter(TURNPIKE_NIC_HOST_PACKETS) == 1, "counters of the host");
  // Nothing is accepted while stopped, and nothing from before remains afterwards.
  nic.csr_write(TURNPIKE_NIC_CONTROL, 0);
  nic.push(0, packet_of(compact(4, 4, 7, 0, 0)));
  nic.step(1000);
  check(nic.waiting(0) == 1, "a packet is taken");
  nic.csr_write(TURNPIKE_NIC_CONTROL, Test::kControl & ~TURNPIKE_NIC_CONTROL_RECORD);
  nic.step(3000);
  check(nic.pop(0, packet) && get(packet, 62, 2) == 2, "an account outlives a restart");
}

// Full batches on all ports at full speed.
static void bulk(const Options& options, uint64_t operations, Counts& counts) {
  Test test(options.seed, counts);
#ifdef TRACE
  test.trace(options.trace);
#endif
  Traffic traffic(options.seed, test.proofs);
  const uint64_t until = counts.operations + operations;
  while (counts.operations < until) {
    for (unsigned port = 0; port < nic::kPorts; port++) {
      for (size_t waiting = test.nic.waiting(port); waiting < 4; waiting++) test.push(port, {traffic.full_batch(), Kind::kBatch});
    }
    test.step(200);
    test.look();
  }
  test.run("full batches");
}

// Without ticks the dedup window fills, and new operations are BUSY; eight ticks make room again.
static void without_ticks(const Options& options) {
  Counts counts;
  Test test(options.seed, counts);
  Traffic traffic(options.seed, test.proofs);
  test.ticks = false;
  const auto pass = [&](const std::string& what) {
    const auto before = counts.statuses[kStatusBusy];
    for (unsigned batches = 0; batches < 4 * kWindow / 60; batches++) test.push(batches % nic::kPorts, {traffic.full_batch(), Kind::kBatch});
    test.run(what);
    return counts.statuses[kStatusBusy] - before;
  };
  pass("a memory of retries that fills");
  const auto full = pass("a full memory of retries");
  if (full < 2 * kWindow) throw std::runtime_error("a full memory of retries takes operations: " + std::to_string(full) + " BUSY");
  for (unsigned ticks = 0; ticks < 8; ticks++) {
    test.tick();
    test.nic.step(4);
  }
  const auto busy = pass("a memory of retries with room");
  if (busy + kWindow / 2 > full) throw std::runtime_error("what is old is not forgotten: " + std::to_string(busy) + " BUSY");
}

// Opens accounts 1 and 2 with large balances.
static void open_accounts(nic::Nic& nic) {
  nic.push(0, packet_of(batch_of({compact(1, 1, 1, 0, 0), compact(1, 2, 2, 0, 0), compact(2, 3, 1, 0, 0x40000000), compact(2, 4, 2, 0, 0x40000000)})));
  nic.step(3000);
  Packet packet;
  if (!nic.pop(0, packet)) throw std::runtime_error("no accounts");
}

// Announces a chain without transactions: requests about it miss.
static void open_chain(nic::Nic& nic) {
  Packet announcement(TURNPIKE_NIC_ANNOUNCEMENT_BYTES);
  announcement[TURNPIKE_NIC_ANNOUNCEMENT_OPERATION] = Proofs::kReorganise;
  nic.host_push({nic::kAnnounce, 0, 0, announcement});
  nic.step(300);
}

// More than the host or a port can take, from ports that cannot wait: every loss is counted, and the rest is
// unaffected.
struct Overload {
  uint64_t packets = 0, to_host = 0, host_dropped = 0, rx_dropped = 0;
};

static void flood(const Options& options, unsigned slow_stream, uint64_t packets, Overload& sum) {
  constexpr uint32_t kFirst = 100;
  Counts counts;
  Test test(options.seed, counts);
  auto& nic = test.nic;
  nic.csr_write(TURNPIKE_NIC_CONTROL, (Test::kControl | TURNPIKE_NIC_CONTROL_DROP) & ~TURNPIKE_NIC_CONTROL_RECORD);
  open_accounts(nic);
  Throttle slow(Throttle::kSeldom, options.seed);
  nic.willing = [&](unsigned stream) { return stream != slow_stream || slow.open(); };

  // Every second packet goes to the host.
  std::array<std::deque<Packet>, nic::kPorts> passed;
  for (uint64_t at = 0; at < packets; at++) {
    for (unsigned port = 0; port < nic::kPorts; port++) {
      Packet packet = packet_of(compact(3, static_cast<uint32_t>(kFirst + at * nic::kPorts + port), 1 + port % 2, 2 - port % 2, 1));
      if ((at + port) % 2 == 0) {
        put(packet, 12, 0x88b5, 2);
        passed[port].push_back(packet);
      }
      nic.push(port, packet);
    }
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
  test.step(20000);

  uint64_t came = 0, rx_dropped = 0;
  Packet packet;
  nic::HostPacket from;
  for (; nic.host_pop(from); came++) {
    auto& sent = passed.at(from.port);
    while (!sent.empty() && sent.front() != from.bytes) sent.pop_front();
    if (sent.empty()) throw std::runtime_error("a packet to the host is another one, or out of its order");
    sent.pop_front();
    sum.to_host++;
  }
  for (unsigned port = 0; port < nic::kPorts; port++) {
    uint64_t before = 0;
    for (; nic.pop(port, packet); came++) {
      const uint64_t transaction = get(packet, 46, 4);
      if (get(packet, 62, 2) != 0 || transaction <= before) throw std::runtime_error("a reply is wrong, or out of its order");
      before = transaction;
    }
    rx_dropped += nic.csr_counter(TURNPIKE_NIC_RX_DROPPED + 8 * port);
  }
  const uint64_t host_dropped = nic.csr_counter(TURNPIKE_NIC_HOST_DROPPED);
  if (came + rx_dropped + host_dropped != packets * nic::kPorts) throw std::runtime_error("what was dropped is not what is missing");
  if (host_dropped + rx_dropped == 0) throw std::runtime_error("nothing was too much");
  // 64-bit ports deliver no more than the engines can take, so a slow host costs only its own packets.
  if (DataWidth == 64 && slow_stream == nic::kToHost && rx_dropped != 0) throw std::runtime_error("a slow host costs packets that are not its own");
  sum.packets += packets * nic::kPorts;
  sum.host_dropped += host_dropped;
  sum.rx_dropped += rx_dropped;
}

// Dropped misses return their ids.
static void dropped_misses(const Options& options) {
  Counts counts;
  Test test(options.seed, counts);
  auto& nic = test.nic;
  open_chain(nic);
  nic.csr_write(TURNPIKE_NIC_CONTROL, Test::kControl | TURNPIKE_NIC_CONTROL_DROP);
  uint32_t key = 0;
  const auto ask = [&](unsigned count) {
    for (unsigned at = 0; at < count; at++) {
      Packet request(48 + 832);
      put(request, 0, 0x54500103, 4);
      put(request, 8, 0x0001, 2);
      put(request, 28, ++key, 4);
      nic.push(at % nic::kPorts, packet_of(request));
    }
  };
  nic.willing = [](unsigned stream) { return stream != nic::kToHost; };
  // At the rate at which the NIC accepts them, so that no port drops one.
  for (unsigned at = 0; at < 100; at++) {
    ask(4);
    nic.step(150);
  }
  nic.willing = nullptr;
  nic.step(3000);
  if (nic.csr_counter(TURNPIKE_NIC_HOST_DROPPED) < 300) throw std::runtime_error("misses are not dropped");
  nic::HostPacket miss;
  while (nic.host_pop(miss)) {
    if (miss.kind == nic::kMiss) nic.host_push({nic::kNone, 0, miss.id, Packet(1)});
  }
  nic.step(1000);
  // All ids are available again.
  for (unsigned at = 0; at < 64; at++) {
    ask(1);
    nic.step(300);
    if (!nic.host_pop(miss) || miss.kind != nic::kMiss) throw std::runtime_error("the id of a dropped miss is lost");
  }
  // And no more: further misses are treated like any other packet.
  ask(1);
  nic.step(300);
  if (!nic.host_pop(miss) || miss.kind != nic::kPacket) throw std::runtime_error("more misses than there are ids");
}

// The data path stops with memory requests in flight, and restarts with nothing from before, including answers.
static void restarts(const Options& options) {
  Counts counts;
  Test test(options.seed, counts);
  auto& nic = test.nic;
  Random random(options.seed);
  Packet packet;
  nic::HostPacket from;
  for (uint32_t turn = 0; turn < 40; turn++) {
    open_accounts(nic);
    nic.push(0, packet_of(compact(3, 5, 1, 2, 1 + turn)));
    nic.step(1000);
    if (!nic.pop(0, packet) || get(packet, 58, 4) != 0x40000000 - 1 - turn) throw std::runtime_error("an account outlives a restart");
    for (uint32_t at = 0; at < 60; at++) nic.push(at % nic::kPorts, packet_of(compact(at % 2 ? 4 : 1, 100 + at, 3 + at / 2, 0, 0)));
    nic.step(20 + random.below(60));
    // A partially accepted packet would become the start of the next one.
    for (unsigned port = 0; port < nic::kPorts; port++) {
      while (nic.waiting(port) > 0) test.step();
    }
    nic.csr_write(TURNPIKE_NIC_CONTROL, 0);
    nic.step(random.below(3));
    while (nic.host_pop(from)) continue;
    for (unsigned port = 0; port < nic::kPorts; port++) {
      while (nic.pop(port, packet)) continue;
    }
    nic.csr_write(TURNPIKE_NIC_CONTROL, Test::kControl & ~TURNPIKE_NIC_CONTROL_RECORD);
  }
}

// Packets of 64 bytes back to back on all ports at once, every one a TRANSFER between the same two accounts.
struct Speed {
  uint64_t latency = 0, packets = 0, cycles = 0, proof_bytes = 0, proof_cycles = 0;
};

static Speed speed(const Options& options, uint64_t packets) {
  Counts counts;
  Test test(options.seed, counts);
  auto& nic = test.nic;
  nic.csr_write(TURNPIKE_NIC_CONTROL, Test::kControl & ~TURNPIKE_NIC_CONTROL_RECORD);
  open_accounts(nic);
  Packet packet;

  // Latency of a single packet, from its first word in to its first word out.
  Speed speed;
  nic.push(0, packet_of(compact(3, 5, 1, 2, 1)));
  const uint64_t begins = nic.cycle;
  for (nic.step(); !(nic.top.tx_valid_o & 1); nic.step());
  speed.latency = nic.cycle - begins;
  nic.step(100);
  if (!nic.pop(0, packet)) throw std::runtime_error("no reply");

  // Proofs with a path of twenty nodes, from the cache, to clients with room for exactly that.
  Packet request(48 + 832), body(832);
  put(request, 0, 0x54500103, 4);
  put(request, 8, 0x0001, 2);
  open_chain(nic);
  nic.push(0, packet_of(request));
  nic.step(500);
  nic::HostPacket miss;
  if (!nic.host_pop(miss) || miss.kind != nic::kMiss) throw std::runtime_error("no miss");
  nic.host_push({nic::kFill, 0, miss.id, body});
  nic.step(300);
  constexpr unsigned kProofs = 100;
  for (unsigned at = 0; at < kProofs * nic::kPorts; at++) nic.push(at % nic::kPorts, packet_of(request));
  const uint64_t asked = nic.cycle;
  for (unsigned port = 0; port < nic::kPorts; port++) {
    for (unsigned at = 0; at < kProofs; at++) {
      while (!nic.pop(port, packet)) nic.step();
      if (packet.size() != 42 + request.size() || get(packet, 45, 1) != 0x83) throw std::runtime_error("no proof");
    }
  }
  speed.proof_bytes = packet.size();
  speed.proof_cycles = (nic.cycle - asked) / (kProofs * nic::kPorts);

  for (uint32_t at = 0; at < packets; at++) {
    for (unsigned port = 0; port < nic::kPorts; port++) {
      const uint32_t source = 1 + (at + port) % 2;
      nic.push(port, packet_of(compact(3, 100 + at * nic::kPorts + port, source, 3 - source, 1)));
    }
  }
  const uint64_t start = nic.cycle;
  for (unsigned port = 0; port < nic::kPorts; port++) {
    while (nic.waiting(port) > 0) test.step();
  }
  speed.cycles = nic.cycle - start;
  speed.packets = packets;
  test.step(1000);
  for (unsigned port = 0; port < nic::kPorts; port++) {
    for (uint64_t at = 0; at < packets; at++) {
      if (!nic.pop(port, packet)) throw std::runtime_error("a TRANSFER has no reply");
      if (get(packet, 62, 2) != 0) throw std::runtime_error("a TRANSFER has the status " + std::to_string(get(packet, 62, 2)));
    }
  }
  return speed;
}

int main(int argc, char** argv) {
  return run(argc, argv, [](const Options& options) {
    Counts counts;
    for (const nic::Memory& timing : kMemories) {
      memory = timing;
      golden(options, counts);
      proof_vectors(options);
      host(options);
      // On a wider port every word is a packet, so none is truncated.
      if (DataWidth == 512) restarts(options);
    }
    without_ticks(options);
    Overload overload;
    flood(options, nic::kToHost, 2000, overload);
    if (DataWidth == 64) {
      figure("slow_host_packets", static_cast<double>(overload.packets / 2));
      figure("slow_host_dropped", static_cast<double>(overload.host_dropped));
    }
    const Overload slow_host = overload;
    flood(options, nic::kTx + (nic::kPorts > 1), 2000, overload);
    if (DataWidth == 64) {
      figure("slow_port_packets", static_cast<double>(overload.packets - slow_host.packets));
      figure("slow_port_dropped", static_cast<double>(overload.rx_dropped - slow_host.rx_dropped));
    }
    dropped_misses(options);
    // A port delivers a 64-byte packet in this many cycles; the later stages take one per cycle.
    const uint64_t width = 512 / DataWidth, least = std::max<uint64_t>(width, nic::kPorts);
    for (const nic::Memory& timing : kMemories) {
      memory = timing;
      const Speed measured = speed(options, 1000);
      if (measured.cycles > least * measured.packets + 40) throw std::runtime_error(std::to_string(measured.cycles) + " cycles for 1000 packets a port");
      // One figure per width, apart from the memories.
      std::string of = "_" + std::to_string(DataWidth);
      if (std::size(kMemories) > 1) of += "_memory_" + std::to_string(timing.least);
      figure("cycles" + of, static_cast<double>(measured.cycles) / static_cast<double>(measured.packets), 2);
      figure("latency" + of, static_cast<double>(measured.latency));
      figure("proof_cycles" + of, static_cast<double>(measured.proof_cycles));
      figure("proof_bytes" + of, static_cast<double>(measured.proof_bytes));
      std::printf("%u ports, back to back: %.2f cycles a packet and port, latency %lu cycles; a proof of %lu bytes every %lu cycles; ", nic::kPorts,
                  static_cast<double>(measured.cycles) / static_cast<double>(measured.packets), measured.latency, measured.proof_bytes, measured.proof_cycles);
    }
    uint64_t seed = options.seed * 1000;
    for (int idle = 0; idle < Throttle::kKinds; idle++) {
      for (int pressure = 0; pressure < Throttle::kKinds; pressure++) {
        for (const nic::Memory& timing : kMemories) {
          memory = timing;
          pass(options, ++seed, Throttle::Kind(idle), Throttle::Kind(pressure), PACKETS, counts);
        }
      }
    }
    // Records of all operations fit only through a wide host stream. OPERATIONS in the environment makes the run
    // longer.
    const char* asked = std::getenv("OPERATIONS");
    bulk(options, asked ? std::stoull(asked) : HostWidth == 512 ? OPERATIONS : OPERATIONS / 100, counts);
    for (const uint16_t status : {0, 1, 2, 3, 4, 16, 17, 18, 32, 33, 34}) {
      if (counts.statuses[status] == 0) throw std::runtime_error("no reply had the status " + std::to_string(status));
    }
    // Only a crowded window index causes these, and rarely.
    if (counts.statuses[kStatusBusy] > counts.operations / 1000) throw std::runtime_error(std::to_string(counts.statuses[kStatusBusy]) + " operations were BUSY");
    if (PACKETS >= 500 && counts.hits < counts.misses / 4) throw std::runtime_error("hardly any proof was in the cache");
    std::printf("too much of %lu packets: %lu to the host, %lu for it and %lu at ports dropped; ", overload.packets, overload.to_host, overload.host_dropped,
                overload.rx_dropped);
    std::printf("%lu packets: %lu operations as in Rust, %lu proofs from the cache, %lu not, %lu packets to the host; %lu cycles", counts.packets,
                counts.operations, counts.hits, counts.misses, counts.host, counts.cycles);
  });
}
