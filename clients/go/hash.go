package turnpike

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math/bits"
)

// Hash is a SHA-256 digest.
type Hash [sha256.Size]byte

// String returns 64 hexadecimal digits.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// tagged returns BIP340's tagged hash: the tag's digest twice, then the parts.
func tagged(tag string, parts ...[]byte) (sum Hash) {
	digest := sha256.Sum256([]byte(tag))
	state := sha256.New()
	state.Write(digest[:])
	state.Write(digest[:])
	for _, part := range parts {
		state.Write(part)
	}
	state.Sum(sum[:0])
	return sum
}

// accountPath returns the path of an account in the index, its first step in the most significant bit.
func accountPath(account AccountID) uint64 {
	return sipHash24([16]byte([]byte("turnpike/index/p")), account[:])
}

// sipHash24 is SipHash-2-4 by Aumasson and Bernstein.
func sipHash24(key [16]byte, message []byte) uint64 {
	k0, k1 := binary.LittleEndian.Uint64(key[:8]), binary.LittleEndian.Uint64(key[8:])
	v0, v1, v2, v3 := k0^0x736f6d6570736575, k1^0x646f72616e646f6d, k0^0x6c7967656e657261, k1^0x7465646279746573
	rounds := func(count int) {
		for ; count > 0; count-- {
			v0 += v1
			v2 += v3
			v1 = bits.RotateLeft64(v1, 13) ^ v0
			v3 = bits.RotateLeft64(v3, 16) ^ v2
			v0 = bits.RotateLeft64(v0, 32)
			v2 += v1
			v0 += v3
			v1 = bits.RotateLeft64(v1, 17) ^ v2
			v3 = bits.RotateLeft64(v3, 21) ^ v0
			v2 = bits.RotateLeft64(v2, 32)
		}
	}
	absorb := func(word uint64) {
		v3 ^= word
		rounds(2)
		v0 ^= word
	}
	last := uint64(len(message)) << 56
	for ; len(message) >= 8; message = message[8:] {
		absorb(binary.LittleEndian.Uint64(message))
	}
	for i, b := range message {
		last |= uint64(b) << (8 * i)
	}
	absorb(last)
	v2 ^= 0xff
	rounds(4)
	return v0 ^ v1 ^ v2 ^ v3
}
