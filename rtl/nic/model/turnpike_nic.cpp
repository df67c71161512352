// The C functions of turnpike_nic.h on top of nic.hpp.
#include "turnpike_nic.h"

#include <memory>

#include "nic.hpp"

struct turnpike_nic {
  nic::Nic model;

  explicit turnpike_nic(uint64_t seed) : model(seed) {}
};

namespace {

size_t give(const nic::Packet& packet, uint8_t* bytes, size_t room) {
  if (packet.size() <= room) std::memcpy(bytes, packet.data(), packet.size());
  return packet.size();
}

}  // namespace

extern "C" {

turnpike_nic* turnpike_nic_new(uint64_t seed) {
  try {
    return new turnpike_nic(seed);
  } catch (...) {
    return nullptr;
  }
}

void turnpike_nic_free(turnpike_nic* nic) { delete nic; }

void turnpike_nic_reset(turnpike_nic* nic) { nic->model.reset(); }

int turnpike_nic_step(turnpike_nic* nic, uint64_t cycles) {
  try {
    nic->model.step(cycles);
    return 0;
  } catch (...) {
    return -1;
  }
}

uint64_t turnpike_nic_cycle(const turnpike_nic* nic) { return nic->model.cycle; }

int turnpike_nic_push(turnpike_nic* nic, unsigned port, const uint8_t* bytes, size_t length) {
  if (port >= nic::kPorts || length == 0) return -1;
  nic->model.push(port, nic::Packet(bytes, bytes + length));
  return 0;
}

size_t turnpike_nic_pop(turnpike_nic* nic, unsigned port, uint8_t* bytes, size_t room) {
  const nic::Packet* next = port < nic::kPorts ? nic->model.next(port) : nullptr;
  if (next == nullptr) return 0;
  const size_t length = give(*next, bytes, room);
  nic::Packet taken;
  if (length <= room) nic->model.pop(port, taken);
  return length;
}

int turnpike_nic_host_push(turnpike_nic* nic, turnpike_nic_meta meta, const uint8_t* bytes, size_t length) {
  if (length == 0) return -1;
  nic->model.host_push({meta.kind, meta.port, meta.id, nic::Packet(bytes, bytes + length)});
  return 0;
}

size_t turnpike_nic_host_pop(turnpike_nic* nic, turnpike_nic_meta* meta, uint8_t* bytes, size_t room) {
  const nic::Packet* next = nic->model.next(nic::kPorts);
  if (next == nullptr) return 0;
  const size_t length = give(*next, bytes, room);
  nic::HostPacket taken;
  if (length <= room && nic->model.host_pop(taken)) *meta = {taken.kind, taken.port, taken.id};
  return length;
}

size_t turnpike_nic_waiting(const turnpike_nic* nic, unsigned port) { return port < nic::kPorts ? nic->model.waiting(port) : 0; }

size_t turnpike_nic_host_waiting(const turnpike_nic* nic) { return nic->model.host_waiting(); }

uint32_t turnpike_nic_csr_read(turnpike_nic* nic, uint32_t address) { return nic->model.csr_read(address); }

void turnpike_nic_csr_write(turnpike_nic* nic, uint32_t address, uint32_t value) { nic->model.csr_write(address, value); }
}
