// Shared by all testbenches: options, random numbers, the clock, and stream throttling.
//
// A testbench is tb/NAME/tb.cpp. It prints one line of summary and exits with 0, or throws. Errors include the seed;
// the same seed repeats the run.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "Vtop.h"
#ifdef TRACE
#include "verilated_vcd_c.h"
#endif

namespace harness {

struct Options {
  uint64_t seed = 1;
  std::string vectors;
  std::string trace;
  std::string figures;

  Options(int argc, char** argv) {
    for (int at = 1; at < argc; at++) {
      const std::string word = argv[at];
      const auto value = word.substr(std::min(word.size(), word.find('=') + 1));
      if (word.rfind("--seed=", 0) == 0) seed = std::stoull(value);
      if (word.rfind("--vectors=", 0) == 0) vectors = value;
      if (word.rfind("--trace=", 0) == 0) trace = value;
      if (word.rfind("--figures=", 0) == 0) figures = value;
    }
  }
};

// The value of an argument --NAME=VALUE of one testbench, by `--NAME=`; empty without it.
inline std::string argument(int argc, char** argv, const std::string& name) {
  for (int at = 1; at < argc; at++) {
    const std::string word = argv[at];
    if (word.rfind(name, 0) == 0) return word.substr(name.size());
  }
  return "";
}

// File that `figure` writes to; empty: none.
inline std::string figures_path;

// Reports a figure used in the documentation: rtl/rtl.py compares it with rtl/cycles.toml, keyed by the test's name and
// this one.
inline void figure(const std::string& name, double value, int digits = 0) {
  if (figures_path.empty()) return;
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  std::ofstream(figures_path, std::ios::app) << name << ' ' << text << '\n';
}

// SplitMix64: the same numbers on every machine.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  uint64_t below(uint64_t bound) { return next() % bound; }
  bool chance(unsigned percent) { return below(100) < percent; }

 private:
  uint64_t state_;
};

// Decides per cycle whether one side of a stream is ready: always, at random, or in bursts.
class Throttle {
 public:
  enum Kind { kAlways, kOften, kSeldom, kBursts, kKinds };

  Throttle(Kind kind, uint64_t seed) : kind_(kind), random_(seed) {}

  bool open() {
    switch (kind_) {
      case kAlways: return true;
      case kOften: return random_.chance(75);
      case kSeldom: return random_.chance(15);
      default:
        if (left_ == 0) {
          left_ = 1 + random_.below(20);
          burst_ = !burst_;
        }
        left_--;
        return burst_;
    }
  }

 private:
  Kind kind_;
  Random random_;
  unsigned left_ = 0;
  bool burst_ = false;
};

// The model and its clock. Set inputs between two calls of `step`; read outputs after `settle`.
class Bench {
#ifdef TRACE
  // A context supports one model with a waveform; every bench rewrites the file, so the last one remains.
  VerilatedContext context_;

 public:
  Vtop top{&context_};
#else

 public:
  Vtop top;
#endif
  uint64_t cycle = 0;

  explicit Bench(const Options& options) {
    Verilated::randSeed(static_cast<int>(options.seed % 0x7fffffff) + 1);
    Verilated::randReset(2);
#ifdef TRACE
    context_.randSeed(static_cast<int>(options.seed % 0x7fffffff) + 1);
    context_.randReset(2);
    context_.traceEverOn(true);
    top.trace(&wave_, 99);
    wave_.open(options.trace.c_str());
#endif
  }
#ifdef TRACE
  ~Bench() { wave_.close(); }
#endif

  void reset() {
    top.rst_ni = 1;
    top.clk_i = 0;
    top.eval();
    top.rst_ni = 0;
    step();
    step();
    top.rst_ni = 1;
    settle();
  }

  void settle() { top.eval(); }

  // For modules with several clocks, which the testbench drives: `time` increases from call to call.
  void settle_at(uint64_t time) {
    top.eval();
    dump(time);
  }

  void step() {
    top.clk_i = 0;
    top.eval();
    dump(2 * cycle);
    top.clk_i = 1;
    top.eval();
    dump(2 * cycle + 1);
    cycle++;
  }

 private:
  void dump([[maybe_unused]] uint64_t time) {
#ifdef TRACE
    wave_.dump(time);
#endif
  }
#ifdef TRACE
  VerilatedVcdC wave_;
#endif
};

[[noreturn]] inline void fail(const Bench& bench, const std::string& what) {
  throw std::runtime_error("cycle " + std::to_string(bench.cycle) + ": " + what);
}

// Runs a testbench and turns exceptions into an exit status.
template <typename Body>
int run(int argc, char** argv, Body body) {
  const Options options(argc, argv);
  figures_path = options.figures;
  try {
    body(options);
    return 0;
  } catch (const std::exception& error) {
    std::printf("seed %llu, %s\n", static_cast<unsigned long long>(options.seed), error.what());
    return 1;
  }
}

}  // namespace harness
