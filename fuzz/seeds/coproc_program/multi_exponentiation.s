; The sum of k (P + (k - 1) Q) for all k from 1 to 16: sixteen points, each multiplied by a scalar and added up, in a loop. It is
; 136 P + 1360 Q. P is the generator of G1, Q the second point of the verifying key of Sapling outputs.
; Sends the sum as interrupt 1 if it is, 0 if it is not.
.data
p: g1_affine 0x17f1d3a73197d7942695638c4fa9ac0fc3688c4f9774b905a14e3a3f171bac586c55e83ff97a1aeffb3af00adb22c6bb, 0x8b3f481e3aaa0f1a09e30ed741d8ae4fcf5e095d5d00af600db18cb2c04b3edd03cc744a2888ae40caa232946c5e7e1
q: g1_affine 0x73143b431c7e8e9323f3693c470fd9a3adf199a31b6e3006c64189bde7a07a316f9f7252d042147ac4c68be3a62a367, 0x12534e285c0ac0e01c7c8f9d013f13aa1da0c06777564d76b27ab788fd46ca5a9a9854424c325eab85298044b258da3
rounds: scalar 15
k: scalar 1
one: scalar 1
sum: g1_jacobian 1, 1, 0
point: space 3
multiple: space 3
expected_p: scalar 136
expected_q: scalar 1360
expected: space 3
left: space 2
right: space 2

.text
    COPY_REG p, point
next:
    POINT_MULT k, point, multiple
    ADD_ELEMENT sum, multiple, sum
    ADD_ELEMENT point, q, point
    ADD_ELEMENT k, one, k
    JUMP_NONZERO_SUB next, rounds

    POINT_MULT expected_p, p, expected
    POINT_MULT expected_q, q, multiple
    ADD_ELEMENT expected, multiple, expected
    INV_ELEMENT sum, left
    INV_ELEMENT expected, right
    JUMP_IF_EQ same, left, right
    SEND_INTERRUPT left, 0
    NOOP_WAIT
same:
    SEND_INTERRUPT left, 1
    NOOP_WAIT
