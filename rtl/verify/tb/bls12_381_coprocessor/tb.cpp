// The pairing coprocessor in lock step with its Rust model: random programs on random values, with every kind of fault;
// the programs of crates/coproc; stops, and resets with work in flight. At the end, cycles of pairings back to back,
// and of single instructions.

#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <sstream>

#include "../../../twin/coprocessor.hpp"
#include "../primes.hpp"

using harness::Bench;
using harness::Random;
using harness::Throttle;
using Field = number::Number<12>;
using Bytes = std::vector<uint8_t>;

const Field kPrime = number::bls12_381_prime<12>();
const Field kOrder = number::bls12_381_order<12>();

enum Kind { kScalar, kFp, kFp2, kFp12, kG1Affine, kG1Jacobian, kG2Affine, kG2Jacobian };
constexpr unsigned kSlots[] = {1, 1, 2, 12, 2, 3, 4, 6};
enum Opcode : uint8_t {
  kNoop = 0x00, kCopy = 0x01, kJump = 0x02, kJumpIfEq = 0x04, kJumpNonzeroSub = 0x05, kSend = 0x06, kMul = 0x10, kAdd = 0x11, kSub = 0x12,
  kInv = 0x13, kPointMult = 0x20, kMillerLoop = 0x21, kFinalExp = 0x22, kAtePairing = 0x23
};
enum Register : unsigned { kIdentification = 0, kControl = 4, kStatus = 8, kCounter = 12, kInstructions = 0x2000, kData = 0x10000 };
enum Control : unsigned { kReset = 1, kStart = 2, kStop = 4 };
constexpr unsigned kRunning = 1;

uint32_t word_of(const uint8_t* bytes) { return uint32_t(bytes[0]) << 24 | bytes[1] << 16 | bytes[2] << 8 | bytes[3]; }

// The model; its memories are the expected contents of the device's.
class Model {
 public:
  Model() : machine_(turnpike_coprocessor_new(), turnpike_coprocessor_free) {}

  bool assemble(const std::string& text) {
    return turnpike_coprocessor_assemble(machine_.get(), reinterpret_cast<const uint8_t*>(text.data()), text.size());
  }
  bool load(size_t at, Vector& vector) { return turnpike_eip2537_vector(at, machine_.get(), &vector); }
  uint8_t* instruction(unsigned address) { return turnpike_coprocessor_instruction(machine_.get(), address); }
  uint8_t* slot(unsigned address) { return turnpike_coprocessor_slot(machine_.get(), address); }
  Kind kind(unsigned address) { return Kind(slot(address)[0] >> 5); }
  void start(unsigned counter) { turnpike_coprocessor_start(machine_.get(), uint16_t(counter)); }
  unsigned counter() const { return turnpike_coprocessor_state(machine_.get()) & 0xffff; }
  unsigned status() const { return turnpike_coprocessor_state(machine_.get()) >> 16; }
  void step(std::vector<Bytes>& messages) {
    Bytes message(592);
    message.resize(turnpike_coprocessor_step(machine_.get(), message.data()));
    if (!message.empty()) messages.push_back(message);
  }
  void put(unsigned address, uint8_t opcode, unsigned a = 0, unsigned b = 0, unsigned c = 0) {
    const uint8_t bytes[] = {opcode, 0, uint8_t(a >> 8), uint8_t(a), uint8_t(b >> 8), uint8_t(b), uint8_t(c >> 8), uint8_t(c)};
    std::copy_n(bytes, 8, instruction(address));
  }
  void put(unsigned address, Kind kind, const Field& number) {
    uint8_t* bytes = slot(address);
    for (size_t at = 0; at < 48; at++) bytes[47 - at] = uint8_t(number.word[at / 4] >> (at % 4 * 8));
    bytes[0] |= uint8_t(kind << 5);
  }

 private:
  std::unique_ptr<Machine, void (*)(Machine*)> machine_;
};

class Driver {
 public:
  Driver(Bench& bench, Throttle::Kind kind, uint64_t seed) : bench_(bench), throttle_(kind, seed) {}

  std::vector<Bytes> messages;
  uint64_t busy = 0;

  void hard_reset() {
    bench_.top.request_valid_i = 0;
    bench_.top.interrupt_ready_i = 0;
    bench_.reset();
    forget();
  }
  // Clears the memories.
  void soft_reset() {
    write(kControl, kReset);
    read(kStatus);
    // Messages sent before must not be mistaken for later ones; a message is never truncated.
    for (unsigned quiet = 0; quiet < 8; quiet++) step() ? void(quiet = 0) : void();
    if (!partial_.empty()) harness::fail(bench_, "a reset cut a message");
    forget();
  }
  void forget() {
    messages.clear();
    partial_.clear();
  }

  // Runs one cycle. Returns whether a word of an interrupt arrived.
  bool step() {
    bench_.top.interrupt_ready_i = throttle_.open();
    bench_.settle();
    busy += bench_.top.busy_o;
    const bool sent = bench_.top.interrupt_valid_o && bench_.top.interrupt_ready_i;
    if (sent) {
      for (unsigned at = 0; at < 8; at++) partial_.push_back(uint8_t(bench_.top.interrupt_data_o >> (8 * at)));
      if (bench_.top.interrupt_last_o) {
        messages.push_back(partial_);
        partial_.clear();
      }
    }
    bench_.step();
    return sent;
  }
  void request(bool write, unsigned address, uint32_t data) {
    bench_.top.request_valid_i = 1;
    bench_.top.request_write_i = write;
    bench_.top.request_address_i = address;
    bench_.top.request_data_i = data;
    const uint64_t began = bench_.cycle;
    for (bool taken = false; !taken; step()) {
      bench_.settle();
      taken = bench_.top.request_ready_o;
      if (bench_.cycle > began + 10000) harness::fail(bench_, "the host is not answered");
    }
    bench_.top.request_valid_i = 0;
    bench_.settle();
  }
  void write(unsigned address, uint32_t data) { request(true, address, data); }
  uint32_t read(unsigned address) {
    request(false, address, 0);
    if (!bench_.top.response_valid_o) harness::fail(bench_, "no response");
    return bench_.top.response_data_o;
  }

  // Loads both memories, where the model's are not zero.
  void load(Model& model) {
    for (unsigned at = 0; at < 1024; at++) {
      for (unsigned word = 0; word < 2; word++) {
        if (const uint32_t data = word_of(model.instruction(at) + 4 * word)) write(kInstructions + 8 * at + 4 * word, data);
      }
      for (unsigned word = 0; word < 12; word++) {
        if (const uint32_t data = word_of(model.slot(at) + 4 * word)) write(kData + 64 * at + 4 * word, data);
      }
    }
  }
  void compare(Model& model, unsigned first, unsigned end) {
    for (unsigned at = first; at < end; at++) {
      for (unsigned word = 0; word < 12; word++) {
        const uint32_t found = read(kData + 64 * at + 4 * word), expected = word_of(model.slot(at) + 4 * word);
        if (found == expected) continue;
        char text[120];
        std::snprintf(text, sizeof text, "slot %u, word %u: %08x, and in the model %08x", at, word, found, expected);
        harness::fail(bench_, text);
      }
    }
  }
  void start(unsigned counter) {
    write(kCounter, counter);
    write(kControl, kStart);
  }
  void wait(uint64_t cycles) {
    const uint64_t began = bench_.cycle;
    while (read(kStatus) == kRunning) {
      for (unsigned each = 0; each < 8; each++) step();
      if (bench_.cycle > began + cycles) harness::fail(bench_, "the program does not come to its end, at instruction " + std::to_string(read(kCounter)));
    }
  }
  void expect_state(unsigned status, unsigned counter) {
    const unsigned found = read(kStatus), at = read(kCounter);
    if (found == status && at == counter) return;
    char text[120];
    std::snprintf(text, sizeof text, "status %x at %u, and in the model %x at %u", found, at, status, counter);
    harness::fail(bench_, text);
  }
  static std::string text(const Bytes& bytes) {
    std::string digits;
    char part[3];
    for (const uint8_t byte : bytes) {
      std::snprintf(part, sizeof part, "%02x", byte);
      digits += part;
    }
    return digits;
  }
  void expect_messages(const std::vector<Bytes>& expected) {
    const uint64_t began = bench_.cycle;
    while (messages.size() < expected.size() && bench_.cycle < began + 20000) step();
    for (unsigned each = 0; each < 8; each++) step();
    for (size_t at = 0; at < std::min(messages.size(), expected.size()); at++) {
      if (messages[at] != expected[at]) harness::fail(bench_, "interrupt " + std::to_string(at) + ": " + text(messages[at]) + ", and in the model " + text(expected[at]));
    }
    if (messages.size() != expected.size() || !partial_.empty()) {
      harness::fail(bench_, std::to_string(messages.size()) + " interrupts, and in the model " + std::to_string(expected.size()));
    }
    messages.clear();
  }

 private:
  Bench& bench_;
  Throttle throttle_;
  Bytes partial_;
};

// Values of few numbers, so that coordinates are often equal, opposite or zero, and arbitrary values.
class Writer {
 public:
  Writer(Random& random, bool wrong) : random_(random), wrong_(wrong) {}

  Field any(const Field& modulus) { return number::draw<12>(random_, 381, {}) % modulus; }
  Field element(const Field& modulus) {
    switch (random_.below(8)) {
      case 0: return Field(0);
      case 1: return Field(1);
      case 2: return modulus - Field(1);
      case 3: return wrong_ && random_.chance(8) ? modulus + Field(uint32_t(random_.below(3))) : Field(uint32_t(random_.below(4)));
      default: return any(modulus);
    }
  }
  void value(Model& model, unsigned address, Kind kind) {
    const bool zero = random_.chance(12);
    for (unsigned at = 0; at < kSlots[kind]; at++) {
      const Field number = zero ? Field(0) : kind == kScalar ? (random_.chance(60) ? Field(uint32_t(random_.below(6))) : element(kOrder)) : element(kPrime);
      model.put(address + at, wrong_ && random_.chance(1) ? Kind(random_.below(8)) : kind, number);
    }
  }

 private:
  Random& random_;
  bool wrong_;
};

// Values lie in this many areas of 12 slots, at the beginning of memory and at its end.
constexpr unsigned kAreas = 12, kLow = 8;
unsigned area(unsigned at) { return at < kLow ? 12 * at : 1024 - 12 * (kAreas - at); }

struct Counts {
  uint64_t instructions = 0, faults[7] = {}, messages = 0, resets = 0, heavy = 0;
};

// Draws a program while the model executes it, then runs it on the device.
void random_program(Bench& bench, Driver& driver, Random& random, unsigned length, unsigned heavy, bool wrong, Counts& counts) {
  Model model, device_memory;
  Writer writer(random, wrong);
  for (unsigned at = 0; at < kAreas; at++) writer.value(model, area(at), Kind(at < 8 ? at : random.below(8)));
  for (unsigned at = 0; at < 1024; at++) std::copy_n(model.slot(at), 48, device_memory.slot(at));

  struct Stop { unsigned status, counter; };
  std::vector<Stop> stops;
  std::vector<Bytes> expected;
  const auto find = [&](std::function<bool(Kind)> wanted) {
    if (wrong && random.chance(4)) return unsigned(random.chance(50) ? random.below(100) : 1000 + random.below(40));
    const unsigned begin = unsigned(random.below(kAreas));
    for (unsigned each = 0; each < kAreas && !(wrong && random.chance(1)); each++) {
      if (wanted(model.kind(area((begin + each) % kAreas)))) return area((begin + each) % kAreas);
    }
    return area(begin);
  };
  const auto any = [](Kind) { return true; };
  const auto is = [](Kind kind) { return [kind](Kind other) { return kind == other; }; };
  model.start(0);
  unsigned drawn = 0;
  while (drawn < length) {
    const unsigned at = model.counter();
    if (at >= drawn) {
      drawn = at + 1;
      static const Opcode kLight[] = {kCopy, kJump, kJumpIfEq, kJumpNonzeroSub, kSend, kMul, kMul, kMul, kAdd, kAdd, kAdd, kSub, kSub, kInv, kPointMult};
      Opcode opcode = kLight[random.below(std::size(kLight))];
      if (heavy && random.chance(20)) {
        static const Opcode kHeavy[] = {kMillerLoop, kFinalExp, kAtePairing};
        opcode = kHeavy[random.below(3)];
      }
      const unsigned result = wrong && random.chance(2) ? unsigned(random.below(1100)) : area(unsigned(random.below(kAreas)));
      const auto small = [&](unsigned address) { return model.kind(address) == kScalar && word_of(model.slot(address) + 44) < 64 &&
                                                        std::all_of(model.slot(address) + 1, model.slot(address) + 44, [](uint8_t byte) { return byte == 0; }); };
      unsigned a = find(any), b = find(any);
      switch (opcode) {
        case kCopy: model.put(at, opcode, a, result); break;
        case kJump: model.put(at, opcode, at + 1 + unsigned(random.below(3))); break;
        case kJumpIfEq: model.put(at, opcode, at + 1 + unsigned(random.below(2)), a, random.chance(50) ? a : b); break;
        case kJumpNonzeroSub: {
          b = find(is(kScalar));
          const bool back = at > 0 && !heavy && b < 1024 && small(b) && word_of(model.slot(b) + 44) < 4 && random.chance(50);
          model.put(at, opcode, back ? at - 1 : at + 1, b);
          // A loop that writes its own counter may not end.
          if (back && model.instruction(at - 1)[0] != kSend) model.put(at, opcode, at + 1, b);
          break;
        }
        case kSend: model.put(at, opcode, a, unsigned(random.below(65536))); break;
        case kMul: a = find([](Kind kind) { return kind < 4; }); b = find(is(a < 1024 ? model.kind(a) : kFp)); model.put(at, opcode, a, b, result); break;
        case kAdd:
        case kSub: {
          const Kind kind = a < 1024 ? model.kind(a) : kFp;
          b = find([&](Kind other) { return kind < 4 ? kind == other : other >= 4 && (kind & 6) == (other & 6); });
          model.put(at, opcode, a, b, result);
          break;
        }
        case kInv: a = find([](Kind kind) { return kind != kG1Affine && kind != kG2Affine; }); model.put(at, opcode, a, result); break;
        case kPointMult:
          a = find(is(kScalar));
          b = find([](Kind kind) { return kind >= 4; });
          if (a < 1024 && model.kind(a) == kScalar && !small(a)) {
            if (heavy == 0) { model.put(at, kSend, a, 1); break; }
            heavy--;
            counts.heavy++;
          }
          model.put(at, opcode, a, b, result);
          break;
        case kMillerLoop:
        case kAtePairing:
          a = find(is(kG1Affine));
          b = find(is(kG2Affine));
          model.put(at, opcode, a, b, result);
          heavy--;
          counts.heavy++;
          break;
        default:
          model.put(at, opcode, find(is(kFp12)), result);
          heavy--;
          counts.heavy++;
          break;
      }
      if (wrong && random.chance(2)) model.instruction(at)[random.below(8)] ^= uint8_t(1 << random.below(8));
      // Replaces far jumps, which this loop does not follow.
      if (model.instruction(at)[0] == kJumpNonzeroSub || model.instruction(at)[0] == kJump || model.instruction(at)[0] == kJumpIfEq) {
        const unsigned target = model.instruction(at)[2] << 8 | model.instruction(at)[3];
        if (target > at + 3 || target + 1 < at) model.put(at, kNoop);
      }
    }
    model.step(expected);
    counts.instructions++;
    if (model.status() != kRunning) {
      stops.push_back({model.status(), model.counter()});
      counts.faults[model.status() >> 8]++;
      model.start(at + 1);
    }
  }
  // The last instruction is followed by one that waits.
  while (model.status() == kRunning) {
    if (model.counter() >= drawn) model.put(model.counter(), kNoop);
    model.step(expected);
    if (model.status() != kRunning) stops.push_back({model.status(), model.counter()});
    if (model.status() != kRunning && model.counter() < drawn) model.start(model.counter() + 1);
  }
  for (unsigned at = 0; at < 1024; at++) std::copy_n(model.instruction(at), 8, device_memory.instruction(at));

  driver.load(device_memory);
  unsigned counter = 0;
  for (const Stop& stop : stops) {
    driver.start(counter);
    // The host may stop it anywhere, and start it again.
    if (random.chance(20)) {
      for (uint64_t each = random.below(2000); each > 0; each--) driver.step();
      driver.write(kControl, kStop);
      driver.wait(2000000);
      // If it waited by itself, it waits again.
      if (driver.read(kStatus) == 0) driver.write(kControl, kStart);
    }
    driver.wait(4000000);
    driver.expect_state(stop.status, stop.counter);
    counter = stop.counter + 1;
  }
  driver.expect_messages(expected);
  counts.messages += expected.size();
  driver.compare(model, 0, 12 * kLow + 12);
  driver.compare(model, 1024 - 12 * (kAreas - kLow), 1024);
  (void)bench;
}

std::string file(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  if (text.str().empty()) throw std::runtime_error("cannot read " + path);
  return text.str();
}

// Runs a program and compares interrupts, final state, `slots` slots of data memory. Returns its cycles. Both models
// hold the program.
uint64_t run_program(Bench& bench, Driver& driver, Model& model, Model& memory, unsigned slots = 1024) {
  driver.soft_reset();
  driver.load(memory);
  std::vector<Bytes> expected;
  for (unsigned each = 0; model.status() == kRunning; each++) model.step(expected);
  const uint64_t began = bench.cycle;
  driver.start(0);
  driver.wait(20000000);
  const uint64_t cycles = bench.cycle - began;
  driver.expect_state(model.status(), model.counter());
  driver.expect_messages(expected);
  driver.compare(model, 0, slots);
  return cycles;
}

uint64_t run_file(Bench& bench, Driver& driver, const std::string& folder, const std::string& name) {
  Model model, memory;
  const std::string text = file(folder + "/" + name);
  if (!model.assemble(text) || !memory.assemble(text)) throw std::runtime_error(name + " is no program");
  return run_program(bench, driver, model, memory);
}

// An instruction as in a program's text: the cycle of the program in which it begins; its cycles and products when run
// alone.
struct Row {
  std::string text;
  uint64_t begins = 0, alone = 0, products = 0;
};

// Indexed by address.
std::vector<std::string> instructions_of(const std::string& text) {
  std::vector<std::string> found;
  std::istringstream lines(text.substr(text.find(".text")));
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line)) {
    const size_t first = line.find_first_not_of(' ');
    if (first != std::string::npos && line.back() != ':') found.push_back(line.substr(first));
  }
  return found;
}

// Executes one instruction alone, on the memory that the model has before it.
void run_alone(Bench& bench, Driver& driver, Model& model, Row& row) {
  Model alone;
  const unsigned at = model.counter();
  for (unsigned slot = 0; slot < 1024; slot++) std::copy_n(model.slot(slot), 48, alone.slot(slot));
  std::copy_n(model.instruction(at), 8, alone.instruction(at));
  driver.soft_reset();
  driver.load(alone);
  driver.busy = 0;
  const uint64_t began = bench.cycle;
  driver.start(at);
  while (driver.read(kStatus) == kRunning) {
    if (bench.cycle > began + 1000000) harness::fail(bench, row.text + " alone does not come to its end");
  }
  row.alone = bench.cycle - began;
  row.products = driver.busy;
}

// Measures each instruction of a program that executes none twice; also alone, if requested.
std::vector<Row> run_rows(Bench& bench, Driver& driver, const std::string& text, bool alone) {
  Model model, memory;
  if (!model.assemble(text) || !memory.assemble(text)) throw std::runtime_error("it is no program");
  const std::vector<std::string> texts = instructions_of(text);
  std::vector<Bytes> expected;
  std::vector<Row> rows;
  std::vector<unsigned> path;
  while (model.status() == kRunning) {
    path.push_back(model.counter());
    rows.push_back({texts.at(model.counter())});
    if (alone) run_alone(bench, driver, model, rows.back());
    model.step(expected);
  }
  driver.soft_reset();
  driver.load(memory);
  const uint64_t began = bench.cycle;
  driver.start(0);
  for (size_t row = 0; row < rows.size(); row++) {
    // It has begun once the counter is at the next instruction; the last one, once the machine waits.
    while (row + 1 < rows.size() ? driver.read(kCounter) != path[row + 1] : driver.read(kStatus) == kRunning) {
      if (bench.cycle > began + 20000000) harness::fail(bench, rows[row].text + " does not begin");
    }
    rows[row].begins = bench.cycle - began;
  }
  driver.expect_state(model.status(), model.counter());
  driver.expect_messages(expected);
  driver.compare(model, 0, 1024);
  return rows;
}

// Compares rows with the stored ones, from which docs/rtl-results.md is generated, or stores them.
void check_rows(Bench& bench, const std::vector<Row>& rows, const std::string& path, bool alone, bool keep) {
  std::string found = "instruction\tit has begun in cycle\tcycles alone\tproducts alone\n";
  for (const Row& row : rows) {
    found += row.text + "\t" + std::to_string(row.begins) + "\t" + std::to_string(row.alone) + "\t" + std::to_string(row.products) + "\n";
  }
  if (keep) std::ofstream(path) << found;
  const auto columns = [alone](const std::string& text) {
    std::string kept;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) kept += (alone ? line : line.substr(0, line.find('\t', line.find('\t') + 1))) + "\n";
    return kept;
  };
  if (columns(file(path)) != columns(found)) {
    harness::fail(bench, "instructions take other cycles than " + path + " says; KEEP_CYCLES=1 writes it\n" + found);
  }
}

// Vectors of EIP-2537: their number, those that ran on the device, and those among them that were refused.
struct Vectors {
  unsigned all = 0, ran = 0, refused = 0;
  uint64_t cycles = 0;
};

// All vectors on the model. On the device all, or the short ones: one of each contract and rule, chosen by the seed,
// and the valid ones.
Vectors run_vectors(Bench& bench, Driver& driver, Random& random, bool all) {
  // Longer programs belong to vectors of many points.
  constexpr unsigned kShort = 40;
  Vectors vectors;
  std::map<std::pair<unsigned, unsigned>, std::vector<size_t>> classes;
  Vector vector;
  for (Model model; model.load(vectors.all, vector); vectors.all++) {
    if (!vector.holds) harness::fail(bench, std::string("the model gives something else than ") + vector.name + " says");
    if (vector.has_program && (all || vector.instructions < kShort)) classes[{vector.contract, vector.rule}].push_back(vectors.all);
  }
  for (const auto& [each, members] : classes) {
    const size_t chosen = random.below(members.size());
    for (size_t at = 0; at < members.size(); at++) {
      if (!all && at != chosen) continue;
      Model model, memory;
      model.load(members[at], vector);
      memory.load(members[at], vector);
      vectors.cycles += run_program(bench, driver, model, memory, vector.slots);
      vectors.ran++;
      vectors.refused += vector.rule != 0;
    }
  }
  return vectors;
}

// Starts an empty machine at an address that may not exist. Returns the fault.
unsigned counter_fault(Driver& driver, unsigned counter) {
  Model model;
  driver.soft_reset();
  std::vector<Bytes> none;
  model.start(counter);
  while (model.status() == kRunning) model.step(none);
  driver.start(counter);
  driver.wait(1000);
  driver.expect_state(model.status(), model.counter());
  return model.status() >> 8;
}

// Pairings one after the other, each with its own result.
std::pair<double, double> back_to_back(Bench& bench, Driver& driver, Random& random, unsigned count) {
  Model model, memory;
  Writer writer(random, false);
  for (Model* each : {&model, &memory}) {
    Random same(7);
    Writer of(same, false);
    for (unsigned at = 0; at < 2; at++) each->put(at, kG1Affine, of.any(kPrime));
    for (unsigned at = 2; at < 6; at++) each->put(at, kG2Affine, of.any(kPrime));
    for (unsigned at = 0; at < count; at++) each->put(at, kAtePairing, 0, 2, 12 + 12 * at);
  }
  driver.soft_reset();
  driver.load(memory);
  std::vector<Bytes> expected;
  model.start(0);
  while (model.status() == kRunning) model.step(expected);
  const uint64_t began = bench.cycle;
  driver.busy = 0;
  driver.start(0);
  driver.wait(20000000);
  const double cycles = static_cast<double>(bench.cycle - began), busy = static_cast<double>(driver.busy);
  driver.compare(model, 0, 12 + 12 * count);
  return {cycles / count, 100 * busy / cycles};
}

int main(int argc, char** argv) {
  return harness::run(argc, argv, [](const harness::Options& options) {
    Bench bench(options);
    Random random(options.seed);
    const char* asked = std::getenv("OPERATIONS");
    const unsigned programs = asked ? unsigned(std::stoul(asked)) : 3;
    Counts counts;
    Driver first(bench, Throttle::kAlways, random.next());
    first.hard_reset();
    if (first.read(kIdentification) != 0x54504350) harness::fail(bench, "it is another machine");
    for (unsigned kind = 0; kind < Throttle::kKinds; kind++) {
      Driver driver(bench, Throttle::Kind(kind), random.next());
      for (unsigned each = 0; each < programs; each++) {
        // A reset with work in flight, of the host or of the chip, leaves nothing behind.
        random.chance(50) ? driver.hard_reset() : driver.soft_reset();
        Model model;
        Writer writer(random, false);
        for (unsigned at = 0; at < 60; at++) writer.value(model, 12 * at, Kind(at % 8));
        for (unsigned at = 0; at < 40; at++) model.put(at, random.chance(30) ? kSend : kMul, 36 + 96 * unsigned(random.below(4)), 36, random.chance(50) ? 800 : 900);
        driver.load(model);
        driver.start(0);
        for (uint64_t left = random.below(4000); left > 0; left--) driver.step();
        random.chance(50) ? driver.hard_reset() : driver.soft_reset();
        counts.resets++;
        driver.expect_state(0, 0);
        random_program(bench, driver, random, 60, 0, each % 3 != 2, counts);
      }
    }
    Driver driver(bench, Throttle::kAlways, random.next());
    driver.soft_reset();
    for (unsigned each = 0; each < (asked ? programs : 1); each++) {
      driver.soft_reset();
      random_program(bench, driver, random, 24, 4, each % 2 != 0, counts);
    }
    for (const unsigned counter : {1023U, 1024U, 1500U, 65535U}) counts.faults[counter_fault(driver, counter)]++;
    for (unsigned fault = 1; fault < 7; fault++) {
      if (counts.faults[fault] == 0) harness::fail(bench, "fault " + std::to_string(fault) + " was not tested");
    }
    std::string cycles;
    for (const char* name : {"pairing.s", "multi_exponentiation.s"}) {
      cycles += std::string("; ") + name + " " + std::to_string(run_file(bench, driver, options.vectors + "/../crates/coproc/programs", name)) + " cycles";
    }
    const bool keep = std::getenv("KEEP_CYCLES") != nullptr, alone = asked || keep;
    const std::vector<Row> rows = run_rows(bench, driver, file(options.vectors + "/../crates/coproc/programs/groth16.s"), alone);
    check_rows(bench, rows, options.vectors + "/../rtl/verify/groth16.tsv", alone, keep);
    cycles += "; groth16.s " + std::to_string(rows.back().begins) + " cycles";
    const Vectors vectors = run_vectors(bench, driver, random, asked != nullptr);
    if (vectors.all != 139) harness::fail(bench, std::to_string(vectors.all) + " vectors of EIP-2537 can be read");
    // Start and end are included: over many pairings, each takes less.
    const auto [each, busy] = back_to_back(bench, driver, random, asked ? 64 : 8);
    if (each > (asked ? 16000 : 17100) || busy < 85) harness::fail(bench, "pairings are too slow");
    harness::figure("groth16", double(rows.back().begins));
    const std::string of = asked ? "_64" : "_8";
    harness::figure("pairing" + of, each);
    harness::figure("pairing_busy" + of, busy, 1);
    char speed[100];
    std::snprintf(speed, sizeof speed, "; a pairing in %.0f cycles, multiplier busy %.1f %%", each, busy);
    std::string faults;
    for (unsigned fault = 1; fault < 7; fault++) faults += (fault > 1 ? ", " : "") + std::to_string(counts.faults[fault]);
    cycles += "; " + std::to_string(vectors.ran) + " of " + std::to_string(vectors.all) + " vectors of EIP-2537, " + std::to_string(vectors.refused) +
              " of them refused, " + std::to_string(vectors.cycles) + " cycles";
    std::printf("%llu instructions, faults 1 to 6: %s; %llu interrupts, %llu resets%s%s", static_cast<unsigned long long>(counts.instructions), faults.c_str(),
                static_cast<unsigned long long>(counts.messages), static_cast<unsigned long long>(counts.resets), cycles.c_str(), speed);
  });
}
