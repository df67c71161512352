package turnpike

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// root is the repository's.
const root = "../.."

// vectors calls check with the fields of each record of a file of golden vectors.
func vectors(t testing.TB, file string, check func(name string, fields []string)) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "vectors", file))
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, line := range strings.Split(string(text), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Split(line, " ")
		check(fields[0], fields[1:])
		count++
	}
	if count == 0 {
		t.Fatalf("%s has no vectors", file)
	}
}

func unhex(t testing.TB, text string) []byte {
	t.Helper()
	if text == "-" {
		return nil
	}
	decoded, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return decoded
}

func readHeader(encoded []byte) *Header {
	sealed := readSealedHeader(append(bytes.Clone(encoded), make([]byte, sealSize)...))
	return &sealed.Header
}

// secretKey is the one of the vectors: 0102..1f20.
func secretKey() (secret [32]byte) {
	for i := range secret {
		secret[i] = byte(i + 1)
	}
	return secret
}

func TestStatusVectors(t *testing.T) {
	vectors(t, "wire/status.txt", func(name string, fields []string) {
		code, _ := strconv.Atoi(fields[0])
		status := Status(code)
		if status.String() != name || status.Advice() == "" || !strings.HasPrefix(status.Error(), name+": ") {
			t.Errorf("status %d is %v, not %s", code, status, name)
		}
	})
	if Status(999).isKnown() || !strings.Contains(Status(999).Error(), "999") {
		t.Error("status 999 is known")
	}
}

func TestReplyVectors(t *testing.T) {
	kinds := map[string]frameType{
		"batch": frameTypeBatch, "proof": frameTypeProof, "index": frameTypeProof, "headers": frameTypeHeaders,
		"info": frameTypeInfo, "finality": frameTypeFinality, "feed": frameTypeFeed, "history": frameTypeHistory,
		"assets": frameTypeAssets, "error": 0,
	}
	checked := map[string]int{}
	vectors(t, "wire/replies.txt", func(name string, fields []string) {
		kind, isUsed := kinds[fields[0]]
		frame := unhex(t, fields[2])
		reply, err := parseReply(frame)
		switch {
		case fields[0] == "bad" || !isUsed || name == "batch_compact":
			// Also replies to frames that this client never sends.
			if err == nil {
				t.Errorf("%s was accepted", name)
			}
			return
		case err != nil:
			t.Errorf("%s: %v", name, err)
		case reply.kind != kind || reply.status.String() != fields[1] || reply.id != binary.BigEndian.Uint32(frame[4:]):
			t.Errorf("%s: kind %v, status %v, id %x", name, reply.kind, reply.status, reply.id)
		}
		checked[fields[0]]++
	})
	if len(checked) != len(kinds) {
		t.Errorf("only %v have vectors", checked)
	}
}

// TestRequestVectors compares the frames that the client sends with those of the vectors, byte for byte.
func TestRequestVectors(t *testing.T) {
	checked := 0
	vectors(t, "wire/requests.txt", func(name string, fields []string) {
		frame := unhex(t, fields[3])
		if fields[1] != "OK" {
			return
		}
		var made []byte
		switch name {
		case "info":
			made = newFrame(frameTypeInfo, binary.BigEndian.Uint32(frame[4:]), infoFrameSize)
		case "batch_operation", "batch_signed":
			var header batchHeader
			header.read(frame)
			size := entrySize(header.Format)
			made = newBatch(header.Header.Id, header.Format, header.Promise, int(header.Count), func(i int, to []byte) {
				entry := frame[batchHeaderSize+i*size:]
				if header.Format == batchFormatSigned {
					var signed SignedOperation
					signed.read(entry)
					signed.write(to)
				} else {
					var operation Operation
					operation.read(entry)
					operation.write(to)
				}
			}).frame
		case "proof_latest", "proof_transaction", "proof_locator", "proof_index":
			var request proofRequest
			request.read(frame)
			made = newFrame(frameTypeProof, request.Header.Id, len(frame))
			request.write(made[prefixSize:])
		case "headers_own", "headers_tip":
			var request headersFrame
			request.read(frame)
			made = newFrame(frameTypeHeaders, request.Header.Id, len(frame))
			request.write(made[prefixSize:])
		case "finality", "finality_with_room", "finality_of_a_generation":
			var request finalityFrame
			request.read(frame)
			made = newFrame(frameTypeFinality, request.Header.Id, len(frame))
			request.write(made[prefixSize:])
		case "history", "history_with_room", "history_of_account_0", "history_of_open_holds", "history_selected", "history_at_cursor_0":
			var request historyFrame
			request.read(frame)
			made = newFrame(frameTypeHistory, request.Header.Id, len(frame))
			request.write(made[prefixSize:])
		case "assets", "assets_from_a_code":
			var request assetsFrame
			request.read(frame)
			made = newFrame(frameTypeAssets, request.Header.Id, len(frame))
			request.write(made[prefixSize:])
		default:
			return
		}
		checked++
		if !bytes.Equal(made[prefixSize:], frame) {
			t.Errorf("%s: %x, not %x", name, made[prefixSize:], frame)
		}
	})
	if checked != 20 {
		t.Errorf("%d requests were compared", checked)
	}
}

// TestHostilePages refuses pages with which a caller would not end, or count something twice.
func TestHostilePages(t *testing.T) {
	var frame []byte
	vectors(t, "wire/replies.txt", func(name string, fields []string) {
		if name == "history" {
			frame = unhex(t, fields[2])
		}
	})
	cursorAt := []int{48, 52}
	page, err := readHistory(frame, nil)
	if err != nil || len(page.Transactions) != 2 || *page.Next != (Locator{6, 1}) {
		t.Fatalf("the page is %+v: %v", page, err)
	}
	for _, cursor := range []Locator{{7, 3}, {7, 2}, {6, 1}, {0, 0}} {
		if _, err := readHistory(frame, &cursor); err == nil {
			t.Errorf("a page that is not before %v was accepted", cursor)
		}
	}
	for _, next := range []Locator{{6, 2}, {7, 4}, {math.MaxUint32, 0}} {
		hostile := bytes.Clone(frame)
		binary.BigEndian.PutUint32(hostile[cursorAt[0]:], next.Height)
		binary.BigEndian.PutUint32(hostile[cursorAt[1]:], next.Position)
		if _, err := readHistory(hostile, nil); err == nil {
			t.Errorf("a page that continues at %v was accepted", next)
		}
	}
	if _, err := readHistory(frame, &Locator{7, 4}); err != nil {
		t.Error(err)
	}
}

func TestDefinitionVectors(t *testing.T) {
	hash := func(h Hash) []byte { return h[:] }
	vectors(t, "chain/definitions.txt", func(name string, fields []string) {
		input, expected := unhex(t, fields[0]), unhex(t, fields[1])
		var found []byte
		switch name {
		case "genesis", "sealed":
			return // only nodes make headers
		case "header":
			found = hash(readHeader(input).Hash())
			if encoded := readHeader(input).encode(); !bytes.Equal(encoded[:], input) {
				t.Errorf("a header is encoded as %x", encoded)
			}
		case "account":
			account := KeyedAccount([33]byte(input))
			found = account[:]
		case "path":
			found = binary.BigEndian.AppendUint64(nil, accountPath(AccountID(input)))
		case "transaction":
			found = hash(tagged(tagTransaction, input))
		case "node":
			found = hash(tagged(tagNode, input))
		case "index_node":
			found = hash(tagged(tagIndexNode, input))
		case "index_leaf":
			found = hash(tagged(tagIndexLeaf, input))
		default:
			t.Fatalf("%s is not known here", name)
		}
		if !bytes.Equal(found, expected) {
			t.Errorf("%s of %x is %x, not %x", name, input, found, expected)
		}
	})
}

func TestSignatureVectors(t *testing.T) {
	vectors(t, "chain/signatures.txt", func(name string, fields []string) {
		network := NetworkID(unhex(t, fields[1]))
		var signed SignedOperation
		signed.read(unhex(t, fields[2]))
		if signed.Verify(network) != (fields[0] == "good") {
			t.Errorf("%s is not %s", name, fields[0])
		}
		if fields[0] != "good" {
			return
		}
		signer, err := NewSigner(secretKey(), network)
		if err != nil {
			t.Fatal(err)
		}
		at := time.UnixMicro(int64(signed.Timestamp))
		if made := signer.SignAt(signed.Operation, signed.Promise, at, signed.Nonce); made != signed {
			t.Errorf("%s is signed as %+v", name, made)
		}
		if signer.Account() != signed.Operation.namer() {
			t.Errorf("%s is of account %v", name, signed.Operation.namer())
		}
	})
}

func TestSealVectors(t *testing.T) {
	vectors(t, "chain/seals.txt", func(name string, fields []string) {
		sealed := readSealedHeader(unhex(t, fields[2]))
		hash := sealed.Header.Hash()
		isValid := isSignature([32]byte(unhex(t, fields[1])), tagged(tagSeal, hash[:]), sealed.Seal)
		if isValid != (fields[0] == "good") {
			t.Errorf("%s is not %s", name, fields[0])
		}
	})
}

func TestHeaderChainVectors(t *testing.T) {
	vectors(t, "chain/header_chains.txt", func(name string, fields []string) {
		network, encoded := NetworkID(unhex(t, fields[1])), unhex(t, fields[2])
		var headers []SealedHeader
		for at := 0; at < len(encoded); at += SealedHeaderSize {
			headers = append(headers, readSealedHeader(encoded[at:]))
		}
		chain, err := newChain(network, headers[0])
		if err == nil {
			err = chain.extend(headers[1:])
		}
		if (err == nil) != (fields[0] == "good") {
			t.Errorf("%s is not %s: %v", name, fields[0], err)
		}
		if _, err := RestoreChain(network, encoded); (err == nil) != (fields[0] == "good") {
			t.Errorf("%s, restored, is not %s: %v", name, fields[0], err)
		}
	})
}

// chainOf returns a chain that trusts one header, at the height that a proof names.
func chainOf(header *Header, height uint64) *Chain {
	c := &Chain{headers: make([]SealedHeader, height+1), hashes: make([]Hash, height+1)}
	c.headers[0].Header.Version = headerVersion
	c.headers[height].Header, c.hashes[height] = *header, header.Hash()
	return c
}

func TestTransactionProofVectors(t *testing.T) {
	vectors(t, "chain/transaction_proofs.txt", func(name string, fields []string) {
		header := readHeader(unhex(t, fields[1]))
		proof, err := chainOf(header, header.Height).VerifyTransaction(unhex(t, fields[2]))
		if (err == nil) != (fields[0] == "good") || (err == nil) != (proof != nil) {
			t.Errorf("%s is not %s: %v", name, fields[0], err)
		}
	})
}

func TestIndexProofVectors(t *testing.T) {
	vectors(t, "chain/index_proofs.txt", func(name string, fields []string) {
		account, header := AccountID(unhex(t, fields[1])), readHeader(unhex(t, fields[2]))
		proof, err := chainOf(header, header.Height).VerifyBalance(account, unhex(t, fields[3]))
		verdict := "bad"
		if err == nil {
			verdict = map[bool]string{true: "absent", false: "entry"}[proof.Entry == nil]
		}
		if verdict != fields[0] {
			t.Errorf("%s is %s, not %s: %v", name, verdict, fields[0], err)
		}
	})
}

func TestCertificateVectors(t *testing.T) {
	vectors(t, "chain/certificates.txt", func(name string, fields []string) {
		replicas, err := newReplicaSet(unhex(t, fields[2]))
		if err != nil {
			t.Fatal(err)
		}
		certificate, err := decodeCertificate(unhex(t, fields[3]))
		if err == nil {
			err = certificate.verify(NetworkID(unhex(t, fields[1])), replicas)
		}
		if (err == nil) != (fields[0] == "good") {
			t.Errorf("%s is not %s: %v", name, fields[0], err)
		}
	})
}

func TestReconfigurationVectors(t *testing.T) {
	vectors(t, "chain/reconfigurations.txt", func(name string, fields []string) {
		before, err := newReplicaSet(unhex(t, fields[2]))
		if err != nil {
			t.Fatal(err)
		}
		change, err := decodeReconfiguration(unhex(t, fields[3]))
		var after replicaSet
		if err == nil {
			after, err = change.verify(NetworkID(unhex(t, fields[1])), before, 0)
		}
		if (err == nil) != (fields[0] == "good") || err == nil && !bytes.Equal(after.encode(), unhex(t, fields[4])) {
			t.Errorf("%s is not %s: %v, %x", name, fields[0], err, after)
		}
	})
}

func TestVouchedVectors(t *testing.T) {
	vectors(t, "chain/vouched.txt", func(name string, fields []string) {
		encoded := unhex(t, fields[2])
		vouched, err := decodeVouched(encoded)
		var present replicaSet
		if err == nil {
			if !bytes.Equal(vouched.encode(), encoded) {
				t.Errorf("%s is encoded as %x", name, vouched.encode())
			}
			present, err = vouched.replicas(NetworkID(unhex(t, fields[1])))
		}
		if (err == nil) != (fields[0] == "good") || err == nil && !bytes.Equal(present.encode(), unhex(t, fields[3])) {
			t.Errorf("%s is not %s: %v, %x", name, fields[0], err, present)
		}
	})
}
