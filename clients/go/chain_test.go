package turnpike

import (
	"errors"
	"testing"

	"github.com/btcsuite/btcd/btcec/v2"
	"github.com/btcsuite/btcd/btcec/v2/schnorr"
)

// seal signs a header with the secret key of the vectors.
func seal(t *testing.T, header Header) SealedHeader {
	t.Helper()
	secret := secretKey()
	key, _ := btcec.PrivKeyFromBytes(secret[:])
	hash := header.Hash()
	message := tagged(tagSeal, hash[:])
	signature := must(schnorr.Sign(key, message[:]))(t)
	return SealedHeader{header, [sealSize]byte(signature.Serialize())}
}

// sealedChain returns a chain with two blocks after genesis, and the header after it.
func sealedChain(t *testing.T) (*Chain, Header) {
	t.Helper()
	secret := secretKey()
	_, public := btcec.PrivKeyFromBytes(secret[:])
	genesis := Header{Version: headerVersion, Timestamp: 5, TransactionRoot: Hash(schnorr.SerializePubKey(public))}
	chain := must(newChain(genesis.Hash(), seal(t, genesis)))(t)
	next := Header{Version: headerVersion, Timestamp: 5, Transactions: 2, TransactionRoot: Hash{1}, IndexRoot: Hash{2}, Accounts: 2}
	for range 2 {
		next.Height, next.Previous = next.Height+1, chain.TipHash()
		if err := chain.extend([]SealedHeader{seal(t, next)}); err != nil {
			t.Fatal(err)
		}
	}
	next.Height, next.Previous = next.Height+1, chain.TipHash()
	return chain, next
}

func TestChainRefusesHeaders(t *testing.T) {
	for name, change := range map[string]func(*Header){
		"version":         func(h *Header) { h.Version = orderedVersion },
		"height":          func(h *Header) { h.Height++ },
		"link":            func(h *Header) { h.Previous[0] ^= 1 },
		"time":            func(h *Header) { h.Timestamp-- },
		"no root":         func(h *Header) { h.TransactionRoot = Hash{} },
		"no transactions": func(h *Header) { h.Transactions = 0 },
		"transactions":    func(h *Header) { h.Transactions = maxTransactions + 1 },
		"fewer accounts":  func(h *Header) { h.Accounts -= 2*uint64(h.Transactions) + 2 },
		"more accounts":   func(h *Header) { h.Accounts += 2*uint64(h.Transactions) + 1 },
		"no index":        func(h *Header) { h.IndexRoot = Hash{} },
	} {
		chain, next := sealedChain(t)
		change(&next)
		var invalid *HeaderError
		if err := chain.extend([]SealedHeader{seal(t, next)}); !errors.As(err, &invalid) || chain.Height() != 2 {
			t.Errorf("%s: %v", name, err)
		}
	}
	chain, next := sealedChain(t)
	forged := seal(t, next)
	forged.Seal[3] ^= 1
	// The first header is valid, and still nothing is appended.
	after := next
	after.Height, after.Previous = next.Height+1, next.Hash()
	forgedAfter := seal(t, after)
	forgedAfter.Seal = forged.Seal
	for _, headers := range [][]SealedHeader{{forged}, {{Header: next}}, {seal(t, next), forgedAfter}} {
		if err := chain.extend(headers); err == nil || chain.Height() != 2 {
			t.Errorf("%d headers were accepted: %v", len(headers), err)
		}
	}
	if err := chain.extend([]SealedHeader{seal(t, next), seal(t, after)}); err != nil || chain.Height() != 4 {
		t.Error(err)
	}
}

func TestForkIsEvidence(t *testing.T) {
	chain, _ := sealedChain(t)
	if err := chain.compare(chain.headers[2]); err != nil {
		t.Error(err)
	}
	other := chain.headers[2].Header
	other.Timestamp++
	var fork *ForkError
	if err := chain.compare(seal(t, other)); !errors.As(err, &fork) || fork.Other.Header != other || fork.Known != chain.headers[2] {
		t.Error(err)
	}
	// A header that the key did not seal is no evidence.
	var invalid *HeaderError
	if err := chain.compare(SealedHeader{Header: other}); !errors.As(err, &invalid) {
		t.Error(err)
	}
}

func TestGenesis(t *testing.T) {
	chain, _ := sealedChain(t)
	genesis := chain.headers[0].Header
	if _, err := newChain(NetworkID{1}, chain.headers[0]); err == nil {
		t.Error("another network was accepted")
	}
	if _, err := newChain(genesis.Hash(), SealedHeader{Header: genesis}); err == nil {
		t.Error("genesis without a seal was accepted")
	}
	for name, change := range map[string]func(*Header){
		"version": func(h *Header) { h.Version = 1 }, "height": func(h *Header) { h.Height = 1 },
		"transactions": func(h *Header) { h.Transactions = 1 }, "accounts": func(h *Header) { h.Accounts = 1 },
		"index": func(h *Header) { h.IndexRoot = Hash{1} }, "key": func(h *Header) { h.TransactionRoot = Hash{} },
	} {
		changed := genesis
		change(&changed)
		if _, err := newChain(changed.Hash(), seal(t, changed)); err == nil {
			t.Errorf("genesis with another %s was accepted", name)
		}
	}
}

func TestRestoreChain(t *testing.T) {
	chain, _ := sealedChain(t)
	encoded, network := chain.Encode(), chain.Network()
	restored := must(RestoreChain(network, encoded))(t)
	if restored.TipHash() != chain.TipHash() {
		t.Error("the restored chain is another one")
	}
	for length := range len(encoded) {
		if short, err := RestoreChain(network, encoded[:length]); err == nil && length%SealedHeaderSize != 0 {
			t.Errorf("%d bytes were accepted as a chain of height %d", length, short.Height())
		}
	}
	// The last seal covers all headers before it.
	encoded[len(encoded)-1] ^= 1
	if _, err := RestoreChain(network, encoded); err == nil {
		t.Error("a chain without a valid seal was accepted")
	}
}

// TestUnvouchedHeaders has headers that no certificate covers, and a certificate of another network.
func TestUnvouchedHeaders(t *testing.T) {
	vectors(t, "chain/vouched.txt", func(name string, fields []string) {
		if name != "never_changed" {
			return
		}
		vouched := must(decodeVouched(unhex(t, fields[2])))(t)
		genesis := Header{Version: orderedVersion, TransactionRoot: vouched.founders.hash()}
		chain := must(newChain(genesis.Hash(), SealedHeader{Header: genesis}))(t)
		next := Header{Version: orderedVersion, Height: 1, Previous: genesis.Hash()}
		if err := chain.extend([]SealedHeader{{Header: next, Seal: [sealSize]byte{1}}}); err == nil {
			t.Error("a seal was accepted")
		}
		if err := chain.extend([]SealedHeader{{Header: next}}); err != nil {
			t.Fatal(err)
		}
		if _, err := chain.find(1, next.Hash()); !errors.Is(err, ErrUnknownBlock) {
			t.Error(err)
		}
		// The certificate is of another network.
		if err := chain.certify(vouched); err == nil || chain.trusted() != 0 {
			t.Error(err)
		}
		chain.headers[0].Header.TransactionRoot[0] ^= 1
		if err := chain.certify(vouched); err == nil {
			t.Error("other founders were accepted")
		}
		chain.forgetUnvouched()
		if chain.Height() != 0 {
			t.Error("headers that nobody vouches for are left")
		}
	})
}
