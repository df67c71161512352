// Bytes of ports and vectors, for the testbenches of hashes.
#pragma once

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

using Bytes = std::vector<uint8_t>;

inline Bytes from_hex(const std::string& hex) {
  if (hex.size() % 2 != 0) throw std::runtime_error("half a byte in " + hex);
  Bytes bytes;
  for (size_t at = 0; at < hex.size(); at += 2) bytes.push_back(uint8_t(std::stoul(hex.substr(at, 2), nullptr, 16)));
  return bytes;
}

inline Bytes from_text(const std::string& text) { return Bytes(text.begin(), text.end()); }

// Writes a wide port; its lowest byte is the first.
template <typename Port>
void put(Port& port, const uint8_t* bytes, size_t count) {
  memset(&port, 0, sizeof port);
  memcpy(&port, bytes, count);
}

template <typename Port>
Bytes get(const Port& port, size_t count) {
  Bytes bytes(count);
  memcpy(bytes.data(), &port, count);
  return bytes;
}

template <typename Random>
Bytes random_bytes(Random& random, size_t count) {
  Bytes bytes(count);
  for (auto& byte : bytes) byte = uint8_t(random.next());
  return bytes;
}
