; The pairing of the generators, and that it is linear: e(5 P, Q) is e(P, 5 Q).
; Sends the pairing of the generators as interrupt 0, and e(5 P, Q) as interrupt 1 if it is as it should be, 2 if not.
.data
p: g1_affine 0x17f1d3a73197d7942695638c4fa9ac0fc3688c4f9774b905a14e3a3f171bac586c55e83ff97a1aeffb3af00adb22c6bb, 0x8b3f481e3aaa0f1a09e30ed741d8ae4fcf5e095d5d00af600db18cb2c04b3edd03cc744a2888ae40caa232946c5e7e1
q: g2_affine 0x24aa2b2f08f0a91260805272dc51051c6e47ad4fa403b02b4510b647ae3d1770bac0326a805bbefd48056c8c121bdb8, 0x13e02b6052719f607dacd3a088274f65596bd0d09920b61ab5da61bbdc7f5049334cf11213945d57e5ac7d055d042b7e, 0xce5d527727d6e118cc9cdc6da2e351aadfd9baa8cbdd3a76d429a695160d12c923ac9cc3baca289e193548608b82801, 0x606c4a02ea734cc32acd2b02bc28b99cb3e287e85a763af267492ab572e99ab3f370d275cec1da1aaa9075ff05f79be
five: scalar 5
p_jacobian: space 3
q_jacobian: space 6
five_p: space 2
five_q: space 4
product: space 12
left: space 12
right: space 12

.text
    ATE_PAIRING p, q, product
    SEND_INTERRUPT product, 0
    POINT_MULT five, p, p_jacobian
    INV_ELEMENT p_jacobian, five_p
    POINT_MULT five, q, q_jacobian
    INV_ELEMENT q_jacobian, five_q
    ATE_PAIRING five_p, q, left
    ATE_PAIRING p, five_q, right
    JUMP_IF_EQ same, left, right
    SEND_INTERRUPT left, 2
    NOOP_WAIT
same:
    SEND_INTERRUPT left, 1
    NOOP_WAIT
