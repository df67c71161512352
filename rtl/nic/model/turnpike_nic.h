// The simulated NIC as a C library: functions around nic.hpp, for programs in any language. Not thread-safe.
//
// turnpike_nic_csr.h defines the register offsets and the kinds of host packets.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct turnpike_nic turnpike_nic;

typedef struct {
  uint8_t kind;  // TURNPIKE_NIC_TO_HOST_... or TURNPIKE_NIC_FROM_HOST_...
  uint8_t port;  // TURNPIKE_NIC_PORT_HOST: the host
  uint16_t id;   // of a miss
} turnpike_nic_meta;

// Creates a NIC in reset, with all registers zero. The seed sets the initial contents of memories and registers without
// a reset. Returns null on failure.
turnpike_nic *turnpike_nic_new(uint64_t seed);
void turnpike_nic_free(turnpike_nic *nic);
void turnpike_nic_reset(turnpike_nic *nic);
// Advances the clock by `cycles`. Returns 0 on success; -1 if the model violated an assertion, after which it is
// unusable.
int turnpike_nic_step(turnpike_nic *nic, uint64_t cycles);
uint64_t turnpike_nic_cycle(const turnpike_nic *nic);

// Queues a packet from the network, without frame check sequence. Returns -1 if there is no such port, or no byte.
int turnpike_nic_push(turnpike_nic *nic, unsigned port, const uint8_t *bytes, size_t length);
// Removes the next packet that has left a port and returns its length; 0 if there is none. A packet longer than `room`
// stays, and its length is returned.
size_t turnpike_nic_pop(turnpike_nic *nic, unsigned port, uint8_t *bytes, size_t room);
int turnpike_nic_host_push(turnpike_nic *nic, turnpike_nic_meta meta, const uint8_t *bytes, size_t length);
size_t turnpike_nic_host_pop(turnpike_nic *nic, turnpike_nic_meta *meta, uint8_t *bytes, size_t room);
// Packets pushed that have not entered completely: check before pushing more.
size_t turnpike_nic_waiting(const turnpike_nic *nic, unsigned port);
size_t turnpike_nic_host_waiting(const turnpike_nic *nic);

// An access takes a cycle.
uint32_t turnpike_nic_csr_read(turnpike_nic *nic, uint32_t address);
void turnpike_nic_csr_write(turnpike_nic *nic, uint32_t address, uint32_t value);

#ifdef __cplusplus
}
#endif
