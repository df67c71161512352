// Signatures in lock step with the Rust verifier: Wycheproof's and BIP340's vectors, then random ones, good and bad,
// under all patterns of idle and back-pressure, and with resets with work in flight. At the end, the cycles per
// signature back to back.

#include <map>

#include "../../../twin/signatures.hpp"
#include "harness.hpp"

using harness::Bench;
using harness::Throttle;
using twin::Case;
using twin::Cases;

// A 256-bit number, big-endian, from this bit of the port up.
void set_number(WData* port, unsigned bit, const uint8_t* bytes) {
  for (unsigned at = 0; at < 8; at++) {
    const uint8_t* word = bytes + 28 - 4 * at;
    port[bit / 32 + at] = uint32_t{word[0]} << 24 | word[1] << 16 | word[2] << 8 | word[3];
  }
}

class Driver {
 public:
  explicit Driver(Bench& bench) : bench_(bench) { reset(); }

  uint64_t count = 0;
  std::map<unsigned, uint64_t> rules;
  // Products begun by all engines since the counter was last reset.
  uint64_t busy = 0;

  void reset() {
    bench_.top.valid_i = 0;
    bench_.top.ready_i = 0;
    bench_.reset();
    expected_.clear();
    offered_ = false;
  }
  bool idle() const { return expected_.empty() && !offered_; }

  // Runs one cycle. `offer`: offer a case, drawn when needed; `take`: accept a result.
  template <typename Next>
  void step(bool offer, bool take, Next next) {
    if (!offered_ && offer && expected_.size() < 200) {
      case_ = next();
      while (expected_.count(tag_)) tag_++;
      set();
      offered_ = true;
    }
    bench_.top.valid_i = offered_;
    bench_.top.ready_i = take;
    bench_.settle();
    busy += __builtin_popcount(bench_.top.busy_o);
    if (bench_.top.valid_o && take) {
      const auto found = expected_.find(bench_.top.tag_o);
      if (found == expected_.end()) harness::fail(bench_, "a result of nothing, tag " + std::to_string(bench_.top.tag_o));
      if (found->second != bench_.top.rule_o) {
        harness::fail(bench_, "rule " + std::to_string(bench_.top.rule_o) + ", not " + std::to_string(found->second));
      }
      rules[found->second]++;
      expected_.erase(found);
      count++;
    }
    if (offered_ && bench_.top.ready_o) {
      expected_[tag_++] = case_.rule;
      offered_ = false;
    }
    bench_.step();
  }

 private:
  void set() {
    WData* port = bench_.top.signature_i;
    set_number(port, 0, case_.y);
    set_number(port, 256, case_.x);
    set_number(port, 512, case_.e);
    set_number(port, 768, case_.s);
    set_number(port, 1024, case_.r);
    port[40] = case_.key_form | case_.key_long << 8 | case_.low_s << 9 | case_.schnorr << 10;
    bench_.top.tag_i = tag_;
  }

  Bench& bench_;
  std::map<uint8_t, uint8_t> expected_;
  Case case_;
  uint8_t tag_ = 0;
  bool offered_ = false;
};

// Cycles per signature of a kind, back to back, and the multiplier's utilisation.
std::string measure(Bench& bench, Driver& driver, Cases& cases, const std::string& name, bool schnorr, bool key_long, unsigned signatures, double most) {
  const auto next = [&] {
    for (;;) {
      const Case each = cases.next();
      if (each.rule == 0 && each.schnorr == schnorr && (schnorr || each.key_long == key_long)) return each;
    }
  };
  driver.reset();
  // After two signatures per context, their phases are spread.
  const uint64_t warm = driver.count + 80, end = warm + signatures;
  while (driver.count < warm) driver.step(true, true, next);
  const uint64_t began = bench.cycle;
  driver.busy = 0;
  while (driver.count < end) driver.step(true, true, next);
  const double cycles = static_cast<double>(bench.cycle - began);
  const double each = cycles / signatures, busy = 100 * driver.busy / cycles / ENGINES;
  char text[80];
  std::snprintf(text, sizeof text, "%.0f cycles, multiplier busy %.1f %%", each, busy);
  if (each > most || busy < 85) harness::fail(bench, std::string(text) + ", more cycles than " + std::to_string(most) + " or less than 85 %");
  harness::figure(name, each);
  harness::figure(name + "_busy", busy, 1);
  return text;
}

int main(int argc, char** argv) {
  return harness::run(argc, argv, [](const harness::Options& options) {
    Bench bench(options);
    Driver driver(bench);
    harness::Random random(options.seed);
    const char* asked = std::getenv("OPERATIONS");
    const uint64_t drawn = asked ? std::stoull(asked) : DRAWN;

    Cases cases(options.seed, VECTORS, false);
    const auto next = [&] { return cases.next(); };
    const uint64_t vectors = cases.vectors();
    while (cases.vectors() > 0) driver.step(true, true, next);
    while (!driver.idle()) driver.step(false, true, next);
    if (driver.count < vectors) harness::fail(bench, "not all vectors had a result");

    // All pairs of patterns; each ends with a reset with work in flight.
    const uint64_t before = driver.count;
    for (uint64_t pair = 0; pair < 16; pair++) {
      Throttle offer(static_cast<Throttle::Kind>(pair / 4), random.next()), take(static_cast<Throttle::Kind>(pair % 4), random.next());
      const uint64_t end = driver.count + drawn / 16;
      // A signature takes hundreds of cycles, so the patterns count in such units.
      bool wants = false;
      while (driver.count < end) {
        if (bench.cycle % 64 == 0) wants = offer.open();
        driver.step(wants, take.open(), next);
      }
      for (uint64_t rest = random.below(4000); rest > 0; rest--) driver.step(true, take.open(), next);
      driver.reset();
    }
    const uint64_t under_patterns = driver.count - before;

    std::string figures;
#ifdef MEASURED
    Cases good(options.seed, false, true);
    figures += "; ECDSA, key of 65 bytes: " + measure(bench, driver, good, "ecdsa_65", false, true, MEASURED, 1900.0 / ENGINES);
    figures += "; of 33 bytes: " + measure(bench, driver, good, "ecdsa_33", false, false, MEASURED, 2200.0 / ENGINES);
    figures += "; BIP340: " + measure(bench, driver, good, "bip340", true, false, MEASURED, 2200.0 / ENGINES);
#endif
    std::string rules;
    for (const auto& [rule, count] : driver.rules) rules += " " + std::to_string(rule) + ":" + std::to_string(count);
    std::printf("%llu vectors, %llu drawn, rules%s%s", static_cast<unsigned long long>(vectors), static_cast<unsigned long long>(under_patterns),
                rules.c_str(), figures.c_str());
  });
}
