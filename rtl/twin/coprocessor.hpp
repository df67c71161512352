// C++ declarations of the pairing coprocessor's model (rtl/twin/src/coprocessor.rs).
#pragma once

#include <cstddef>
#include <cstdint>

struct Machine;

// Vector of EIP-2537 (rtl/twin/src/eip2537.rs).
struct Vector {
  char name[80];
  // The contract; the rule that the input breaks, 0 if none.
  uint8_t contract, rule;
  // Whether there is a program, and whether the model's result matches the vector.
  bool has_program, holds;
  uint16_t instructions, slots;
};

extern "C" {
Machine* turnpike_coprocessor_new();
void turnpike_coprocessor_free(Machine* machine);
bool turnpike_coprocessor_assemble(Machine* machine, const uint8_t* text, size_t length);
uint8_t* turnpike_coprocessor_instruction(Machine* machine, size_t address);
uint8_t* turnpike_coprocessor_slot(Machine* machine, size_t address);
void turnpike_coprocessor_start(Machine* machine, uint16_t counter);
size_t turnpike_coprocessor_step(Machine* machine, uint8_t* message);
uint32_t turnpike_coprocessor_state(const Machine* machine);
bool turnpike_eip2537_vector(size_t at, Machine* machine, Vector* vector);
}
