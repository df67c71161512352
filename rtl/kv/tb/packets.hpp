// Memcached's requests as packets, built from their parts, and their fingerprints.
#pragma once

#include <optional>

#include "../../nic/tb/frames.hpp"
#include "harness.hpp"
#include "requests.hpp"

namespace kv {

using Packet = frames::Packet;
using frames::put;

constexpr unsigned kSecrets = 34, kDatagram = 42, kMessage = 50, kCas = 66, kBody = 74;
constexpr uint32_t kMonth = 30 * 24 * 3600;
constexpr unsigned kLongestBody = 1514 - kBody;

struct Sent {
  Packet packet;
  Bytes body;
  Request request;
  bool from_host = false;
  std::vector<std::string> words = {};  // flags of a line, in their order
};

inline Sent build(harness::Random& random, const Command& command, const Bytes& key, Bytes value, uint32_t expiration, uint32_t now) {
  const bool writes = command.op == Set || command.op == Replace;
  if (!writes) value.clear();
  Sent sent{Packet(kBody), key, {}};
  sent.body.insert(sent.body.end(), value.begin(), value.end());
  sent.request = {true, false, command, uint32_t(random.next()), unsigned(key.size()), unsigned(sent.body.size()), 0, 0};
  Packet& packet = sent.packet;
  for (auto& byte : packet) byte = uint8_t(random.next());
  const unsigned extras = writes ? 8 : command.op == Touch ? 4 : 0;
  put(packet, 44, 0, 2), put(packet, 46, random.below(2), 2);
  put(packet, kMessage, 0x80, 1), put(packet, 51, command.opcode, 1), put(packet, 52, key.size(), 2), put(packet, 54, extras, 1);
  put(packet, 55, 0, 1), put(packet, 58, extras + sent.body.size(), 4), put(packet, 62, sent.request.opaque, 4), put(packet, 66, 0, 8);
  packet.resize(kBody + extras);
  if (writes) sent.request.flags = uint32_t(random.next()), put(packet, kBody, sent.request.flags, 4);
  if (extras != 0) {
    put(packet, kBody + extras - 4, expiration, 4);
    sent.request.expiry = expiration == 0 || expiration > kMonth ? expiration : uint32_t(std::min<uint64_t>(uint64_t(now) + expiration, 0xffffffff));
  }
  packet.insert(packet.end(), sent.body.begin(), sent.body.end());
  put(packet, 38, packet.size() - 34, 2);
  return sent;
}

// The line in a packet, if any may be of a read, taken or not: its key, which the NIC parses first, and the flags of
// `mg`. Text as a whole, where the NIC looks at words of 64 bytes.
struct Line {
  bool taken = true;
  Protocol protocol = Binary;
  std::string key;
  std::vector<std::string> words;
  unsigned meta = 0;
};
inline std::optional<Line> line_in(const Packet& packet) {
  if (packet.size() <= kMessage || frames::get(packet, 44, 2) != 0 || frames::get(packet, 46, 2) > 1) return {};
  std::string text(packet.begin() + kMessage, packet.end());
  Line line;
  static constexpr std::pair<const char*, Protocol> kVerbs[] = {{"get ", GetLine}, {"gets ", GetsLine}, {"mg ", MetaLine}};
  for (const auto& [verb, protocol] : kVerbs) {
    if (text.rfind(verb, 0) == 0) line.protocol = protocol, text = text.substr(strlen(verb));
    if (line.protocol != Binary) break;
  }
  if (line.protocol == Binary || text.size() < 3 || text.size() > 250 + kLongestFlags + 2) return {};
  line.taken = text.substr(text.size() - 2) == "\r\n";
  text.resize(text.size() - 2);
  line.key = text.substr(0, text.find(' '));
  std::string rest = text.substr(line.key.size());
  for (const char byte : text) line.taken &= uint8_t(byte) >= ' ';
  line.taken &= !line.key.empty() && line.key.size() <= 250 && rest.size() <= (line.protocol == MetaLine ? kLongestFlags : 0);
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(' ', 1), rest.size());
    const std::string word = rest.substr(1, end - 1);
    rest = rest.substr(end);
    const size_t letter = word.empty() ? std::string::npos : std::string(kLetters).find(word[0]);
    line.taken &= letter != std::string::npos && (word[0] == 'O' || word.size() == 1);
    if (letter == std::string::npos) continue;
    line.taken &= (line.meta >> letter & 1) == 0;
    line.meta |= 1u << letter, line.words.push_back(word);
  }
  return line;
}

// The request that a packet with a line stands for.
inline void read_line(Sent& sent) {
  const std::optional<Line> line = line_in(sent.packet);
  sent.request = {}, sent.body.clear(), sent.words.clear();
  if (!line) return;
  sent.body.assign(line->key.begin(), line->key.end());
  // No more than four words of a key leave.
  sent.body.resize(std::min<size_t>(sent.body.size(), 256));
  const unsigned length = unsigned(sent.body.size());
  const bool returns = line->protocol != MetaLine || line->meta >> 8 & 1 || line->meta >> 3 & 1;
  sent.request = {line->taken, false, line_command(returns), 0, length, length, 0, 0, length != 0, line->protocol, line->meta};
  sent.words = line->words;
}

inline void set_text(Sent& sent, const std::string& text) {
  sent.packet.resize(kMessage), sent.packet.insert(sent.packet.end(), text.begin(), text.end());
  put(sent.packet, 38, sent.packet.size() - 34, 2);
}

// A line that the NIC takes, with any flags in any order.
inline Sent build_line(harness::Random& random, const Bytes& key) {
  Sent sent{Packet(kMessage), {}, {}};
  for (auto& byte : sent.packet) byte = uint8_t(random.next());
  put(sent.packet, 44, 0, 2), put(sent.packet, 46, random.below(2), 2);
  const Protocol protocol = Protocol(1 + random.below(3));
  std::string text = protocol == GetLine ? "get " : protocol == GetsLine ? "gets " : "mg ";
  text.append(key.begin(), key.end());
  if (protocol == MetaLine) {
    std::string letters = random.chance(60) ? "v" : "";
    for (const char letter : std::string("fsctkquO")) {
      if (random.chance(40)) letters.insert(letters.begin() + long(random.below(letters.size() + 1)), letter);
    }
    size_t room = kLongestFlags - 2 * letters.size();
    for (const char letter : letters) {
      text += ' ', text += letter;
      for (size_t length = letter == 'O' ? (random.chance(20) ? room : random.below(room + 1)) : 0; length > 0; length--) text += char('!' + random.below(94));
    }
  }
  set_text(sent, text + "\r\n");
  read_line(sent);
  if (!sent.request.taken || sent.request.protocol != protocol || sent.body != key) throw std::runtime_error("a line is built wrong");
  return sent;
}

// Changes a line: the NIC takes few of them.
inline void spoil_line(harness::Random& random, Sent& sent) {
  std::string text(sent.packet.begin() + kMessage, sent.packet.end());
  const size_t space = text.find(' '), at = space + 1 + random.below(text.size() - space - 1);
  const std::string end = "\r\n", line = text.substr(0, text.size() - 2);
  static constexpr const char* kWords[] = {" b", " x", " another", " v1", " v v", " h", " l", " N30", " T0", " c t c", " ", "  v", " noreply", " O1 O2", " O", " O234567890123456789012345678901234"};
  static constexpr const char* kOthers[] = {"Get ", "gat 0 ", "gats 0 ", "bget ", "get\t", "mn ", "me ", "ms ", "md ", "mg", "get", "gets", "set ", "mget ", "quit"};
  switch (random.below(12)) {
    case 0: case 1: text = line + kWords[random.below(std::size(kWords))] + end; break;
    case 2: text = kOthers[random.below(std::size(kOthers))] + text.substr(space + 1); break;
    case 3: text.insert(space, random.chance(50) ? " " : "\t"); break;
    case 4: text = line + (random.chance(50) ? "\n" : random.chance(50) ? "\r" : "\n\r"); break;
    case 5: text[at] = char(random.below(33)); break;
    case 6: text[at] = char(random.next()); break;
    case 7: text += random.chance(50) ? text : "x"; break;
    case 8: text.insert(space + 1, 251 - std::min<size_t>(251, text.size() - space - 3) + random.below(40), 'k'); break;
    case 9: put(sent.packet, random.chance(50) ? 44 : 46, 2 + random.below(9), 2); break;
    case 10: text.resize(random.below(text.size() + 1)); break;
    default: text.erase(at, 1 + random.below(3)); break;
  }
  set_text(sent, text);
  read_line(sent);
}

// The host's FLUSH, which is another packet for the host if it comes from elsewhere.
inline Sent build_flush(harness::Random& random, bool from_host) {
  Sent sent{Packet(kBody), {}, {}, from_host};
  for (auto& byte : sent.packet) byte = uint8_t(random.next());
  put(sent.packet, 38, kBody - 34, 2), put(sent.packet, 44, 1, 4);
  put(sent.packet, kMessage, 0x8008, 2), put(sent.packet, 52, 0, 4), put(sent.packet, 58, 0, 4), put(sent.packet, 66, 0, 8);
  sent.request.flushes = from_host, sent.request.opaque = uint32_t(frames::get(sent.packet, 62, 4));
  return sent;
}

inline Packet line_reply(const Sent& sent, const Item& item, uint32_t now) {
  const std::string key(sent.body.begin(), sent.body.end()), value(item.value.begin(), item.value.end());
  const std::string size = std::to_string(value.size()), flags = std::to_string(item.flags), cas = std::to_string(item.cas);
  std::string text;
  if (sent.request.protocol == MetaLine) {
    const bool returns = sent.request.meta >> 8 & 1;
    text = returns ? "VA " + size : "HD";
    for (const std::string& word : sent.words) {
      switch (word[0]) {
        case 'f': text += " f" + flags; break;
        case 's': text += " s" + size; break;
        case 'c': text += " c" + cas; break;
        case 't': text += " t" + (item.expiry == 0 ? "-1" : std::to_string(item.expiry - now)); break;
        case 'k': text += " k" + key; break;
        case 'O': text += " " + word; break;
        default: break;
      }
    }
    text += "\r\n" + (returns ? value + "\r\n" : "");
  } else {
    text = "VALUE " + key + " " + flags + " " + size + (sent.request.protocol == GetsLine ? " " + cas : "") + "\r\n" + value + "\r\nEND\r\n";
  }
  Packet frame(8);
  put(frame, 0, frames::get(sent.packet, kDatagram, 2), 2), put(frame, 4, 1, 2);
  frame.insert(frame.end(), text.begin(), text.end());
  return frames::reply_to(sent.packet, frame);
}

// The reply to a request that is executed, about an item.
inline Packet reply(const Sent& sent, const Item& item, uint32_t now) {
  if (sent.request.protocol != Binary) return line_reply(sent, item, now);
  const Command& command = sent.request.command;
  const unsigned extras = command.op == Get || command.op == Touch ? 4 : 0;
  const unsigned key = command.key ? sent.request.key_length : 0;
  const Bytes value = command.value ? item.value : Bytes();
  Packet frame(8 + 24 + extras);
  put(frame, 0, frames::get(sent.packet, kDatagram, 2), 2), put(frame, 4, 1, 2);
  put(frame, 8, 0x81, 1), put(frame, 9, command.opcode, 1), put(frame, 10, key, 2), put(frame, 12, extras, 1);
  put(frame, 16, extras + key + value.size(), 4), put(frame, 20, sent.request.opaque, 4);
  put(frame, 24, command.op == Delete ? 0 : item.cas, 8);
  if (extras != 0) put(frame, 32, item.flags, 4);
  frame.insert(frame.end(), sent.body.begin(), sent.body.begin() + key);
  frame.insert(frame.end(), value.begin(), value.end());
  return frames::reply_to(sent.packet, frame);
}

// Makes a packet that is not a request. UDP's length stays right, as it is for all packets that arrive here.
inline void spoil(harness::Random& random, Sent& sent) {
  Packet& packet = sent.packet;
  const unsigned extras = packet[54];
  sent.request.taken = false, sent.body.clear();
  switch (random.below(12)) {
    case 0: put(packet, 50, random.chance(50) ? 0x81 : random.below(0x80), 1); break;
    case 1: {
      static constexpr uint8_t kOthers[] = {0x02, 0x05, 0x07, 0x08, 0x0a, 0x0e, 0x0f, 0x10, 0x12, 0x15, 0x1b, 0x1f, 0x20, 0x22, 0x25, 0x80, 0xff};
      put(packet, 51, kOthers[random.below(std::size(kOthers))], 1);
      break;
    }
    case 2: put(packet, 55, 1 + random.below(255), 1); break;
    case 3: put(packet, 66 + random.below(8), 1 + random.below(255), 1); break;
    case 4: put(packet, 44, 1 + random.below(0xffff), 2); break;
    case 5: put(packet, 46, 2 + random.below(0xfffe), 2); break;
    case 6: put(packet, 58, frames::get(packet, 58, 4) + (random.chance(50) ? 1 : 0x10000), 4); break;
    case 7: packet.push_back(1), put(packet, 38, packet.size() - 34, 2); break;
    case 8: put(packet, 54, extras ^ (1 + random.below(255)), 1); break;
    // Of a write, whose value may make up for the difference, often the first length that is too long.
    case 9: put(packet, 52, random.chance(30) ? 0 : random.chance(70) ? 251 : 251 + random.below(0xff00), 2); break;
    // A key that is longer than the body, by as little as a byte.
    case 10: put(packet, 52, packet.size() - kBody - extras + 1 + random.below(2), 2); break;
    default: packet.resize(1 + random.below(kWord)); break;
  }
}

// Computed over the padded key as a whole; the NIC adds up words.
inline void fingerprint(const uint64_t secrets[kSecrets], unsigned bits, const Bytes& key, uint64_t out[2]) {
  Bytes padded = key;
  if (key.size() <= 16) {
    padded.resize(16);
    if (key.size() < 16) padded[15] = uint8_t(key.size());
    memcpy(out, padded.data(), 16);
    if (key.size() == 16) out[0] ^= secrets[0], out[1] ^= secrets[1];
  }
  padded.resize((key.size() + kWord - 1) / kWord * kWord);
  for (unsigned half = 0; half < 2 && key.size() > 16; half++) {
    out[half] = half == 0 ? key.size() : 0;
    for (size_t at = 0; at < padded.size(); at += 16) {
      uint64_t pair[2];
      memcpy(pair, &padded[at], 16);
      const auto product = static_cast<unsigned __int128>(pair[0] ^ secrets[at / 8 + 2 * half]) * (pair[1] ^ secrets[at / 8 + 1 + 2 * half]);
      out[half] ^= uint64_t(product) ^ uint64_t(product >> 64);
    }
  }
  if (bits < 128) out[1] &= bits > 64 ? (uint64_t{1} << (bits - 64)) - 1 : 0;
  if (bits < 64) out[0] &= (uint64_t{1} << (bits % 64)) - 1;
}

}  // namespace kv
