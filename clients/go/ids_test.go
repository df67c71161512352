package turnpike

import (
	"testing"
	"time"
)

func TestParseID(t *testing.T) {
	for text, expected := range map[string]string{
		"7":                                  "00000000000000000000000000000007",
		"0x7f":                               "0000000000000000000000000000007f",
		"18446744073709551615":               "0000000000000000ffffffffffffffff",
		"80000000000000000000000000000001":   "80000000000000000000000000000001",
		"0x80000000000000000000000000000001": "80000000000000000000000000000001",
	} {
		if id, err := ParseAccountID(text); err != nil || id.String() != expected {
			t.Errorf("%q is %v: %v", text, id, err)
		}
	}
	for _, text := range []string{"", "0x", "-1", "+1", "7f", "18446744073709551616", "0x800000000000000000000000000000011", "0xg"} {
		if id, err := ParseTransactionID(text); err == nil {
			t.Errorf("%q is %v", text, id)
		}
	}
	if Account(1).IsKeyed() || !KeyedAccount([33]byte{}).IsKeyed() {
		t.Error("the top bit tells keyed accounts")
	}
}

func TestTimedIDs(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6_000_000, time.UTC).UnixMilli()
	seen := map[TransactionID]bool{}
	for range 10_000 {
		id := timedID(at)
		if id[6]>>4 != 7 || id[8]>>6 != 2 || seen[id] {
			t.Fatalf("%v is not a new UUIDv7", id)
		}
		seen[id] = true
		var found int64
		for _, b := range id[:6] {
			found = found<<8 | int64(b)
		}
		if found != at {
			t.Fatalf("%v has time %d", id, found)
		}
	}
}

func TestSipHash(t *testing.T) {
	// The reference vector: key 00..0f, message 00..0e.
	var key [16]byte
	for i := range key {
		key[i] = byte(i)
	}
	if found := sipHash24(key, key[:15]); found != 0xa129ca6149be45e5 {
		t.Errorf("%x", found)
	}
}

func TestSignerKeys(t *testing.T) {
	var order [32]byte
	for i := range order {
		order[i] = 0xff
	}
	for _, secret := range [][32]byte{{}, order} {
		if _, err := NewSigner(secret, NetworkID{}); err == nil {
			t.Errorf("%x was accepted", secret)
		}
	}
	signer, err := NewSigner(secretKey(), NetworkID{})
	if err != nil || signer.String() != "signer of "+signer.Account().String() {
		t.Error(signer, err)
	}
	one, two := signer.Sign(Refer(Account(1)), PromiseDefault), signer.Sign(Refer(Account(1)), PromiseDefault)
	if one.Nonce == two.Nonce || one.Operation.Transaction == two.Operation.Transaction {
		t.Error("two operations are signed alike")
	}
}
