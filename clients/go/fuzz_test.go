package turnpike

import (
	"bytes"
	"testing"
)

// seeds adds one field of the vectors of a file.
func seeds(f *testing.F, file string, field int) {
	vectors(f, file, func(_ string, fields []string) { f.Add(unhex(f, fields[field])) })
}

func FuzzReply(f *testing.F) {
	seeds(f, "wire/replies.txt", 2)
	var requests [][]byte
	vectors(f, "wire/requests.txt", func(_ string, fields []string) {
		if fields[1] == "OK" && (fields[0] == "batch" || fields[0] == "proof" || fields[0] == "headers" || fields[0] == "finality") {
			requests = append(requests, unhex(f, fields[3]))
		}
	})
	f.Fuzz(func(t *testing.T, frame []byte) {
		reply, err := parseReply(frame)
		if err != nil {
			return
		}
		for _, request := range requests {
			if !reply.answers(request) || reply.status != StatusOk {
				continue
			}
			if reply.kind == frameTypeBatch {
				reply.receipts(request)
			}
		}
	})
}

func FuzzStream(f *testing.F) {
	f.Add([]byte{0, 0, 0, 1, 7})
	f.Add([]byte{0, 1, 0, 0, 7})
	buffer := make([]byte, maxFrame)
	f.Fuzz(func(t *testing.T, stream []byte) {
		for input := bytes.NewReader(stream); ; {
			if _, err := readFrame(input, buffer); err != nil {
				return
			}
		}
	})
}

// FuzzIndexProof also checks that nothing but the reply's own account is proved by a changed reply.
func FuzzIndexProof(f *testing.F) {
	seeds(f, "chain/index_proofs.txt", 3)
	header := Header{Version: headerVersion, Accounts: 300}
	f.Fuzz(func(t *testing.T, reply []byte) {
		if _, request, err := parseProof(reply); err == nil && request.Query == queryIndex {
			if entry, err := verifyIndex(Account(5), &header, reply); err == nil {
				t.Errorf("%+v is proved by a header without accounts", entry)
			}
		}
	})
}

func FuzzTransactionProof(f *testing.F) {
	seeds(f, "chain/transaction_proofs.txt", 2)
	header := Header{Version: headerVersion, Transactions: 4}
	f.Fuzz(func(t *testing.T, reply []byte) {
		if _, request, err := parseProof(reply); err == nil && request.Query != queryIndex {
			if proof, err := verifyTransaction(&header, reply); err == nil {
				t.Errorf("%+v is proved by a header without transactions", proof)
			}
		}
	})
}

func FuzzVouched(f *testing.F) {
	seeds(f, "chain/vouched.txt", 2)
	f.Fuzz(func(t *testing.T, encoded []byte) {
		if vouched, err := decodeVouched(encoded); err == nil && !bytes.Equal(vouched.encode(), encoded) {
			t.Errorf("%x is encoded as %x", encoded, vouched.encode())
		}
	})
}

func FuzzReconfiguration(f *testing.F) {
	seeds(f, "chain/reconfigurations.txt", 3)
	replicas, err := newReplicaSet(nil)
	if err == nil || replicas != nil {
		f.Fatal("a set without replicas was accepted")
	}
	vectors(f, "chain/reconfigurations.txt", func(name string, fields []string) {
		if name == "addition" {
			replicas, err = newReplicaSet(unhex(f, fields[2]))
		}
	})
	f.Fuzz(func(t *testing.T, encoded []byte) {
		if change, err := decodeReconfiguration(encoded); err == nil {
			change.verify(NetworkID{}, replicas, 0)
		}
	})
}

func FuzzCertificate(f *testing.F) {
	seeds(f, "chain/certificates.txt", 3)
	f.Fuzz(func(t *testing.T, encoded []byte) {
		if certificate, err := decodeCertificate(encoded); err == nil {
			if certificate.verify(NetworkID{}, replicaSet{{1}}) == nil {
				t.Errorf("%x is signed", encoded)
			}
		}
	})
}

// FuzzChain begins with a network that vectors make, whose genesis header must not change.
func FuzzChain(f *testing.F) {
	var network NetworkID
	vectors(f, "chain/definitions.txt", func(name string, fields []string) {
		if name != "sealed" {
			return
		}
		sealed := readSealedHeader(unhex(f, fields[1]))
		if sealed.Header.Height == 0 {
			network = sealed.Header.Hash()
		}
		f.Add(unhex(f, fields[1]))
	})
	f.Fuzz(func(t *testing.T, encoded []byte) {
		chain, err := RestoreChain(network, encoded)
		if err == nil && (chain.Network() != network || !bytes.HasPrefix(encoded, chain.Encode())) {
			t.Errorf("%x is encoded as %x", encoded, chain.Encode())
		}
	})
}

func FuzzID(f *testing.F) {
	for _, seed := range []string{"7", "0x7", "+7", "-7", "", "0x", "18446744073709551616", "ffffffffffffffffffffffffffffffff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if id, err := ParseAccountID(text); err == nil {
			if again, err := ParseAccountID(id.String()); err != nil || again != id {
				t.Errorf("%q is %v, and then %v, %v", text, id, again, err)
			}
		}
	})
}
