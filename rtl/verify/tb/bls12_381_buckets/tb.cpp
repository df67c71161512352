// Points added to buckets against a model of the group: any points, few buckets and many, the same point and its
// negative repeatedly, under patterns of idle, with a reset with work in flight. Then the cycles per point, and whole
// multi-scalar multiplications against crates/verify.

#include <map>

#include "../../../twin/multiples.hpp"
#include "../primes.hpp"

using harness::Bench;
using harness::Throttle;
using Field = number::Number<12>;
constexpr unsigned kBuckets = 1u << BucketBits;

const Field kPrime = number::bls12_381_prime<12>();

Field add(const Field& a, const Field& b) {
  const Field sum = a + b;
  return sum < kPrime ? sum : sum - kPrime;
}
Field subtract(const Field& a, const Field& b) { return a < b ? a + kPrime - b : a - b; }
Field multiply(const Field& a, const Field& b) { return (a * b) % kPrime; }

// To the power of p - 2.
Field inverse(const Field& a) {
  const Field exponent = kPrime - Field(2);
  Field power(1);
  for (size_t at = 381; at-- > 0;) {
    power = multiply(power, power);
    if (exponent.bit(at)) power = multiply(power, a);
  }
  return power;
}

// Affine; the model needs only slopes.
struct Point {
  Field x, y;
  bool infinity = true;

  Point negative() const { return {x, infinity ? y : subtract(Field(0), y), infinity}; }
  Point operator+(const Point& other) const {
    if (infinity) return other;
    if (other.infinity) return *this;
    Field slope;
    if (x == other.x) {
      if (!(y == other.y) || y.is_zero()) return {};
      const Field square = multiply(x, x);
      slope = multiply(add(square, add(square, square)), inverse(add(y, y)));
    } else {
      slope = multiply(subtract(other.y, y), inverse(subtract(other.x, x)));
    }
    const Field sum_x = subtract(subtract(multiply(slope, slope), x), other.x);
    return {sum_x, subtract(multiply(slope, subtract(x, sum_x)), y), false};
  }
};

// Represents sums of points from a small set by how often each was added, so the model needs few additions.
struct Model {
  std::vector<Point> points;
  std::map<unsigned, std::vector<int>> counts;

  explicit Model(unsigned size) {
    const Point generator = {
        Field("17f1d3a73197d7942695638c4fa9ac0fc3688c4f9774b905a14e3a3f171bac586c55e83ff97a1aeffb3af00adb22c6bb"),
        Field("08b3f481e3aaa0f1a09e30ed741d8ae4fcf5e095d5d00af600db18cb2c04b3edd03cc744a2888ae40caa232946c5e7e1"), false};
    // The generator times 1, 3, 9 and so on.
    for (Point each = generator; points.size() < size; each = each + each + each) points.push_back(each);
  }
  void count(unsigned bucket, unsigned point, bool negate) {
    auto& all = counts[bucket];
    all.resize(points.size());
    all[point] += negate ? -1 : 1;
  }
  Point sum(unsigned bucket) const {
    Point sum;
    const auto found = counts.find(bucket);
    if (found == counts.end()) return sum;
    for (size_t at = 0; at < points.size(); at++) {
      const int times = found->second[at];
      Point multiple;
      for (unsigned bit = 31; bit-- > 0;) {
        multiple = multiple + multiple;
        if (static_cast<unsigned>(std::abs(times)) >> bit & 1) multiple = multiple + points[at];
      }
      sum = sum + (times < 0 ? multiple.negative() : multiple);
    }
    return sum;
  }
};

class Driver {
 public:
  Driver(Bench& bench, uint64_t seed) : bench_(bench), random_(seed), model_(10) {
    radix_.word[381 / 32] = 1u << (381 % 32);
    radix_ = radix_ % kPrime;
    back_ = inverse(radix_);
    for (const auto& point : model_.points) montgomery_.push_back({multiply(point.x, radix_), multiply(point.y, radix_), false});
  }

  uint64_t taken = 0, compared = 0, busy = 0;

  // From now on, draws points as with another seed.
  void draw_as(uint64_t seed) { random_ = harness::Random(seed); }

  void reset() {
    bench_.top.valid_i = 0;
    bench_.top.clear_i = 0;
    bench_.top.read_bucket_i = 0;
    bench_.reset();
    offered_ = false;
    model_.counts.clear();
  }
  void clear() {
    bench_.top.clear_i = 1;
    bench_.step();
    bench_.top.clear_i = 0;
    for (unsigned each = 0; each < kBuckets + 2; each++) bench_.step();
    model_.counts.clear();
  }

  // Runs one cycle. An offered point is one of the first `points`, and goes to this bucket.
  void step(bool offer, unsigned bucket, unsigned points) {
    if (!offered_ && offer) {
      bucket_ = bucket;
      point_ = random_.below(points);
      negate_ = random_.chance(50);
      bench_.top.bucket_i = bucket_;
      bench_.top.negate_i = negate_;
      number::set(bench_.top.x_i, montgomery_[point_].x);
      number::set(bench_.top.y_i, montgomery_[point_].y);
      offered_ = true;
    }
    bench_.top.valid_i = offered_;
    bench_.settle();
    busy += bench_.top.busy_o;
    if (offered_ && bench_.top.ready_o) {
      model_.count(bucket_, point_, negate_);
      taken++;
      offered_ = false;
    }
    bench_.step();
  }

  void finish() {
    const uint64_t began = bench_.cycle;
    while (offered_) step(false, 0, 1);
    bench_.top.valid_i = 0;
    for (bench_.settle(); !bench_.top.idle_o; bench_.settle()) {
      if (bench_.cycle > began + 200000) harness::fail(bench_, "it does not come to an end");
      bench_.step();
    }
  }

  void compare(unsigned buckets) {
    finish();
    for (unsigned bucket = 0; bucket < buckets; bucket++) {
      bench_.top.read_bucket_i = bucket;
      bench_.step();
      bench_.step();
      bench_.settle();
      Field coordinate[3];
      for (unsigned which = 0; which < 3; which++) {
        for (unsigned bit = 0; bit < 381; bit++) {
          const unsigned at = 381 * which + bit;
          coordinate[which].word[bit / 32] |= (bench_.top.read_point_o[at / 32] >> (at % 32) & 1) << (bit % 32);
        }
        coordinate[which] = multiply(coordinate[which], back_);
      }
      const Point expected = model_.sum(bucket);
      if (bench_.top.read_full_o == expected.infinity) harness::fail(bench_, "bucket " + std::to_string(bucket) + " is full or empty, as it should not be");
      if (expected.infinity) continue;
      const Field square = multiply(coordinate[2], coordinate[2]);
      const bool same = coordinate[0] == multiply(expected.x, square) && coordinate[1] == multiply(expected.y, multiply(square, coordinate[2]));
      if (!same || square.is_zero()) harness::fail(bench_, "bucket " + std::to_string(bucket) + " has another point");
      compared++;
    }
  }

 private:
  Bench& bench_;
  harness::Random random_;
  Model model_;
  std::vector<Point> montgomery_;
  Field radix_, back_;
  bool offered_ = false, negate_ = false;
  unsigned bucket_ = 0, point_ = 0;
};

// Converts between the twin's big-endian numbers and ports.
Field from_bytes(const uint8_t* bytes) {
  Field number;
  for (size_t at = 0; at < 48; at++) number.word[at / 4] |= static_cast<uint32_t>(bytes[47 - at]) << (at % 4 * 8);
  return number;
}

// Multi-scalar multiplications: the engine fills the buckets of as many windows at a time as fit, and the host joins
// the windows.
class Sums {
 public:
  Sums(Bench& bench, uint64_t seed) : bench_(bench), sum_(turnpike_sum_new(seed), turnpike_sum_free) {}

  uint64_t compared = 0, additions = 0, cycles = 0;

  void vector(unsigned bits, size_t at) {
    const std::string name = "vector " + std::to_string(at);
    if (!turnpike_sum_vector(sum_.get(), bits, at)) harness::fail(bench_, name + " is not what crates/verify says");
    add_up(bits, name, 1);
  }
  void draw(twin::Kind kind, unsigned bits, size_t count) {
    if (!turnpike_sum_draw(sum_.get(), kind, bits, count)) harness::fail(bench_, "there is no such kind");
    add_up(bits, std::to_string(count) + " points of kind " + std::to_string(static_cast<int>(kind)), count);
  }

  Throttle throttle{Throttle::kAlways, 0};

 private:
  void add_up(unsigned bits, const std::string& name, size_t most) {
    size_t windows, buckets;
    turnpike_sum_size(sum_.get(), &windows, &buckets);
    if (buckets > kBuckets) harness::fail(bench_, "digits of " + std::to_string(bits) + " bits are more than the engine has buckets for");
    const size_t together = kBuckets / buckets;
    std::vector<twin::Term> terms(together * std::max<size_t>(most, 7));
    for (size_t first = 0; first < windows; first += together) {
      const size_t end = std::min(windows, first + together);
      const uint64_t began = bench_.cycle;
      clear();
      const size_t count = turnpike_sum_terms(sum_.get(), first, end, terms.data());
      for (size_t at = 0; at < count; at++) add(terms[at]);
      bench_.top.valid_i = 0;
      for (bench_.settle(); !bench_.top.idle_o; bench_.settle()) {
        if (bench_.cycle > began + 600 * (count + kBuckets)) harness::fail(bench_, "it does not come to an end");
        bench_.step();
      }
      read(first * buckets, (end - first) * buckets);
      cycles += bench_.cycle - began;
      additions += count;
    }
    if (!turnpike_sum_holds(sum_.get())) harness::fail(bench_, name + ", digits of " + std::to_string(bits) + " bits: another sum");
    compared++;
  }
  void clear() {
    bench_.top.clear_i = 1;
    bench_.step();
    bench_.top.clear_i = 0;
    for (unsigned each = 0; each < kBuckets + 2; each++) bench_.step();
  }
  void add(const twin::Term& term) {
    bench_.top.bucket_i = term.bucket;
    bench_.top.negate_i = term.negate;
    number::set(bench_.top.x_i, from_bytes(term.x));
    number::set(bench_.top.y_i, from_bytes(term.y));
    for (bool taken = false; !taken; bench_.step()) {
      bench_.top.valid_i = bench_.top.valid_i || throttle.open();
      bench_.settle();
      taken = bench_.top.valid_i && bench_.top.ready_o;
    }
    bench_.top.valid_i = 0;
  }
  // Reads a bucket per cycle, each with two cycles of latency.
  void read(size_t first, size_t count) {
    for (size_t cycle = 0; cycle < count + 2; cycle++) {
      bench_.settle();
      if (cycle >= 2 && bench_.top.read_full_o) {
        uint8_t point[3][48] = {};
        for (unsigned bit = 0; bit < 3 * 381; bit++) {
          const unsigned place = bit % 381;
          point[bit / 381][47 - place / 8] |= (bench_.top.read_point_o[bit / 32] >> (bit % 32) & 1) << (place % 8);
        }
        if (!turnpike_sum_put(sum_.get(), first + cycle - 2, point[0])) harness::fail(bench_, "a coordinate is not below the prime");
      }
      bench_.top.read_bucket_i = std::min(cycle, count - 1);
      bench_.step();
    }
  }

  Bench& bench_;
  std::unique_ptr<twin::Sum, void (*)(twin::Sum*)> sum_;
};

int main(int argc, char** argv) {
  return harness::run(argc, argv, [](const harness::Options& options) {
    Bench bench(options);
    harness::Random random(options.seed);
    Driver driver(bench, random.next());
    const char* asked = std::getenv("OPERATIONS");
    const uint64_t points = asked ? std::stoull(asked) : 96;
    driver.reset();

    // Few buckets and points, where points meet themselves and their negatives; more of both; each preceded by a reset
    // with work in flight.
    const std::pair<unsigned, unsigned> mixes[] = {{1, 1}, {1, 2}, {3, 1}, {5, 10}, {24, 10}, {100, 10}};
    for (unsigned kind = 0; kind < Throttle::kKinds; kind++) {
      for (const auto& [buckets, various] : mixes) {
        Throttle throttle(static_cast<Throttle::Kind>(kind), random.next());
        for (uint64_t each = random.below(3000); each > 0; each--) driver.step(throttle.open(), random.below(buckets), various);
        driver.reset();
        // With one bucket, a point takes a context's whole time, so fewer.
        const uint64_t end = driver.taken + (buckets < 4 ? points / 10 : points);
        while (driver.taken < end) driver.step(bench.cycle % 8 != 0 || throttle.open(), random.below(buckets), various);
        if (kind == 0 || buckets < 6) driver.compare(std::min(buckets, 16u));
      }
    }

    // Back to back, over all buckets in turn, once each holds a point.
    driver.finish();
    driver.clear();
    unsigned next = 0;
    // The same draw for every seed: it determines how many points wait for each other, and how many are doubled or
    // cancelled.
    harness::Random places(1);
    driver.draw_as(4);
    const auto measure = [&](bool any, const std::string& name, double most, double least) {
      const uint64_t warm = driver.taken + 2 * kBuckets, end = warm + 1000;
      while (driver.taken < warm) driver.step(true, next++ % kBuckets, 10);
      driver.finish();
      const uint64_t full = driver.taken + 100;
      while (driver.taken < full) driver.step(true, any ? places.below(kBuckets) : next++ % kBuckets, 10);
      const uint64_t began = bench.cycle, so_far = driver.taken;
      driver.busy = 0;
      while (driver.taken < end + 100) driver.step(true, any ? places.below(kBuckets) : next++ % kBuckets, 10);
      const double cycles = static_cast<double>(bench.cycle - began);
      const double each = cycles / (driver.taken - so_far), busy = 100 * driver.busy / cycles;
      char text[80];
      std::snprintf(text, sizeof text, "%.2f cycles, multiplier busy %.1f %%", each, busy);
      if (each > most || busy < least) harness::fail(bench, std::string(text) + ": too slow");
      harness::figure(name, each, 2);
      harness::figure(name + "_busy", busy, 1);
      return std::string(text);
    };
    const std::string in_turn = measure(false, "in_turn", 11, 98), at_random = measure(true, "at_random", 11.5, 95);
    driver.compare(4);

    // Multi-scalar multiplications: all published vectors and a larger sum in long runs, otherwise some.
    Sums sums(bench, random.next());
    const size_t vectors = turnpike_sum_vectors();
    if (vectors == 0) harness::fail(bench, "there are no vectors");
    for (size_t at = asked ? 0 : random.below(vectors / 2); at < vectors; at += asked ? 1 : vectors / 2) sums.vector(3 + at % 3, at);
    const std::vector<size_t> sizes = asked ? std::vector<size_t>{1, 2, 3, 5, 8, 31, 32, 33, 100} : std::vector<size_t>{1, 6};
    for (const twin::Kind kind : {twin::Kind::kAny, twin::Kind::kSame, twin::Kind::kOpposite, twin::Kind::kSpecial}) {
      for (const size_t size : sizes) {
        sums.throttle = Throttle(static_cast<Throttle::Kind>(random.below(Throttle::kKinds)), random.next());
        sums.draw(kind, 3 + (asked ? random.below(7) : 0), size);
      }
    }
    // A size for which the Rust engine has a method of its own.
    sums.draw(twin::Kind::kSpecial, 4, 33);
    char large[100] = "";
    if (asked) {
      const uint64_t additions = sums.additions, cycles = sums.cycles;
      sums.throttle = Throttle(Throttle::kAlways, 0);
      sums.draw(twin::Kind::kAny, 9, 1024);
      const double each = static_cast<double>(sums.cycles - cycles) / (sums.additions - additions);
      std::snprintf(large, sizeof large, "; one of 1,024 in %llu cycles, %.2f for each of its additions",
                    static_cast<unsigned long long>(sums.cycles - cycles), each);
      harness::figure("sum_cycles", double(sums.cycles - cycles));
      harness::figure("sum_each", each, 2);
      if (each > 14) harness::fail(bench, std::string("too slow") + large);
    }
    std::printf("%llu points, %llu buckets compared; in turn: %s; at random in %u buckets: %s; %llu sums of multiples, %llu additions%s",
                static_cast<unsigned long long>(driver.taken), static_cast<unsigned long long>(driver.compared), in_turn.c_str(), kBuckets, at_random.c_str(),
                static_cast<unsigned long long>(sums.compared), static_cast<unsigned long long>(sums.additions), large);
  });
}
