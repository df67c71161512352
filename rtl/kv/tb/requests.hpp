// Shared by the testbenches of the key-value store: memcached's commands, the fields of kv_pkg, and a plain model of
// the NIC beside its host.
#pragma once

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace kv {

using Bytes = std::vector<uint8_t>;

constexpr unsigned kWord = 64;

enum Op : uint8_t { Get, Set, Replace, Delete, Touch };

struct Command {
  uint8_t opcode;
  Op op;
  bool quiet, key, value;
};
constexpr Command kCommands[] = {
    {0x00, Get, false, false, true},     {0x09, Get, true, false, true},      {0x0c, Get, false, true, true},
    {0x0d, Get, true, true, true},       {0x01, Set, false, false, false},    {0x11, Set, true, false, false},
    {0x03, Replace, false, false, false}, {0x13, Replace, true, false, false}, {0x04, Delete, false, false, false},
    {0x14, Delete, true, false, false},  {0x1c, Touch, false, false, false},  {0x1d, Touch, false, false, true},
    {0x1e, Touch, true, false, true},    {0x23, Touch, false, true, true},    {0x24, Touch, true, true, true}};

// Lines read an item; `returns` is whether its rows are needed.
inline Command line_command(bool returns) { return {0, Get, false, false, returns}; }

// Fields of a packed structure from its lowest bit up: the reverse of their declaration.
struct Fields {
  const uint32_t* words;
  unsigned at = 0;
  uint64_t next(unsigned bits) {
    uint64_t value = 0;
    for (unsigned bit = 0; bit < bits; bit++, at++) value |= uint64_t(words[at / 32] >> (at % 32) & 1) << bit;
    return value;
  }
};

struct FieldWriter {
  uint32_t* words;
  unsigned at = 0;
  void put(uint64_t value, unsigned bits) {
    for (unsigned bit = 0; bit < bits; bit++, at++) {
      words[at / 32] = (words[at / 32] & ~(1u << (at % 32))) | uint32_t(value >> bit & 1) << (at % 32);
    }
  }
};

// protocol_e of kv_pkg, the letters of meta_t from its lowest bit up, and limits.
enum Protocol : uint8_t { Binary, GetLine, GetsLine, MetaLine };
constexpr char kLetters[] = "Ouqktcsfv";
constexpr unsigned kLongestFlags = 32, kLongestText = 1280;

// request_t of kv_pkg.
struct Request {
  bool taken = false, flushes = false;
  Command command{};
  uint32_t opaque = 0;
  unsigned key_length = 0, body_length = 0;
  uint32_t flags = 0, expiry = 0;
  bool keyed = false;  // although it is not taken
  Protocol protocol = Binary;
  unsigned meta = 0;

  static Request read(Fields& fields) {
    Request request;
    request.expiry = uint32_t(fields.next(32)), request.flags = uint32_t(fields.next(32));
    request.body_length = unsigned(fields.next(11)), request.key_length = unsigned(fields.next(8));
    request.opaque = uint32_t(fields.next(32)), request.command.opcode = uint8_t(fields.next(8));
    request.command.value = fields.next(1), request.command.key = fields.next(1), request.command.quiet = fields.next(1);
    request.command.op = Op(fields.next(3)), request.meta = unsigned(fields.next(9)), request.protocol = Protocol(fields.next(2));
    request.keyed = fields.next(1), request.flushes = fields.next(1), request.taken = fields.next(1);
    return request;
  }
  void write(FieldWriter writer) const {
    writer.put(expiry, 32), writer.put(flags, 32), writer.put(body_length, 11), writer.put(key_length, 8);
    writer.put(opaque, 32), writer.put(command.opcode, 8), writer.put(command.value, 1), writer.put(command.key, 1);
    writer.put(command.quiet, 1), writer.put(command.op, 3), writer.put(meta, 9), writer.put(protocol, 2);
    writer.put(taken || keyed, 1), writer.put(flushes, 1), writer.put(taken, 1);
  }
};

struct Item {
  Bytes value;
  uint32_t flags, expiry;
  uint64_t cas;
};

inline bool exists_at(uint32_t expiry, uint32_t now) { return expiry == 0 || now < expiry; }

// The NIC and its host. `truth` is what a client may see: all requests applied in their order, whoever executes them.
// `cache` predicts which items the NIC has, so that neither a wrong answer nor a lost item goes unnoticed.
class Model {
 public:
  Model(unsigned blocks, unsigned entries) : blocks_(blocks), entries_(entries) {}

  uint64_t hits = 0, writes = 0, misses = 0, collisions = 0, refused = 0, last_seconds = 0, first_seconds = 0, flushed = 0, texts = 0, long_texts = 0;

  void clear() { truth_.clear(), cache_.clear(), epoch_ = 0; }
  void flush() { flushed += truth_.size(), truth_.clear(), epoch_++; }
  uint32_t epoch() const { return epoch_; }

  // Applies a request that the NIC has executed or left to the host. Returns the item that a reply is about: as the
  // request found it or wrote it, with `cas` of the NIC if that wrote it.
  Item apply(const Request& request, const Bytes& body, uint64_t fingerprint, uint32_t now, bool executed, uint64_t cas) {
    const Bytes key(body.begin(), body.begin() + request.key_length), value(body.begin() + request.key_length, body.end());
    const Op op = request.command.op;
    const auto entry = cache_.find(fingerprint);
    const bool is_here = entry != cache_.end();
    const bool found = is_here && exists_at(entry->second.expiry, now);
    const bool same = is_here && entry->second.valid && entry->second.key == key;
    bool matches = same && found && entry->second.epoch == epoch_ && exists_at(entry->second.item_expiry, now);
    // The reply to a line might not fit a datagram.
    if (matches && request.protocol != Binary && key.size() + truth_.at(key).value.size() > kLongestText) matches = false, long_texts++;
    texts += matches && request.protocol != Binary;
    if (same && op == Get) {
      // The earlier of both, either of which may be 0 for never.
      const uint32_t expiry = std::min(entry->second.expiry - 1, entry->second.item_expiry - 1) + 1;
      last_seconds += expiry != 0 && now + 1 == expiry, first_seconds += expiry != 0 && now == expiry;
    }
    const unsigned kind = class_of(request.body_length);
    const bool may_lack_room = used(kind, is_here ? entry : cache_.end()) + kOnTheirWay >= blocks_ || cache_.size() + kOnTheirWay >= entries_;

    bool expected = op == Set || matches;
    if (!executed && expected && (op == Set || op == Replace) && may_lack_room) expected = false, refused++;
    if (executed != expected) {
      throw std::runtime_error(std::string(executed ? "executes" : "does not execute") + " opcode " + std::to_string(request.command.opcode));
    }
    hits += executed && op == Get, writes += executed && op != Get;
    misses += !executed && !found, collisions += !executed && found && entry->second.valid && entry->second.key != key;

    // The cache.
    if (op == Set || op == Replace) {
      if (executed) cache_[fingerprint] = {key, true, false, kind, request.expiry, request.expiry, epoch_};
      else if (is_here && (op == Set || found)) entry->second.valid = false, entry->second.unsure = true;
    } else if (op == Delete && is_here) {
      cache_.erase(entry);
    } else if (op == Touch && executed) {
      entry->second.item_expiry = request.expiry;
    }

    // The truth.
    auto item = truth_.find(key);
    if (item != truth_.end() && !exists_at(item->second.expiry, now)) truth_.erase(item), item = truth_.end();
    if (executed && op != Set && item == truth_.end()) throw std::runtime_error("executes a request for an item that does not exist");
    if (op == Set || (op == Replace && item != truth_.end())) {
      return truth_[key] = {value, request.flags, request.expiry, executed ? cas : ++cas_};
    }
    if (item == truth_.end()) return {};
    if (op == Touch) item->second.expiry = request.expiry;
    const Item about = item->second;
    if (op == Delete) truth_.erase(item);
    return about;
  }

 private:
  struct Entry {
    Bytes key;
    bool valid, unsure;  // unsure: of which class its block is
    unsigned kind;
    uint32_t expiry, item_expiry, epoch;
  };
  // Blocks freed by previous operations, not yet back in their queue, and one in its register.
  static constexpr unsigned kOnTheirWay = 4;

  static unsigned class_of(unsigned body_length) {
    const unsigned rows = 1 + (body_length + kWord - 1) / kWord;
    return rows <= 4 ? 0 : rows <= 8 ? 1 : rows <= 16 ? 2 : 3;
  }
  unsigned used(unsigned kind, std::map<uint64_t, Entry>::iterator except) {
    unsigned count = 0;
    for (auto entry = cache_.begin(); entry != cache_.end(); entry++) {
      count += entry != except && (entry->second.kind == kind || entry->second.unsure);
    }
    return count;
  }

  unsigned blocks_, entries_;
  uint32_t epoch_ = 0;
  uint64_t cas_ = 0;
  std::map<Bytes, Item> truth_;
  std::map<uint64_t, Entry> cache_;
};

}  // namespace kv
