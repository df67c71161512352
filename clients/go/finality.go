package turnpike

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"github.com/btcsuite/btcd/btcec/v2/schnorr"
)

const (
	// maxReplicas is the largest set: a certificate names its signers in the bits of one word.
	maxReplicas = 64
	// maxReconfigurations is how many changes of the set are followed.
	maxReconfigurations = 4096
	// The lengths of an ordered block's header, of what precedes the signatures in a certificate, and of a change.
	orderedHeaderSize = 104
	certificateSize   = 128
	changeSize        = 88
	// The code of a vote that makes a block final, and those of the changes.
	voteFinalize = 3
	changeAdd    = 1
	changeRemove = 2
)

// CertificateError reports signatures of replicas that vouch for nothing.
type CertificateError struct {
	Problem string
}

func (e *CertificateError) Error() string {
	return "the certificate of the replicas is invalid: " + e.Problem + "; ask another node"
}

func uncertified(problem string, values ...any) error {
	return &CertificateError{fmt.Sprintf(problem, values...)}
}

// replicaSet has the voting keys of the replicas, by number.
type replicaSet [][32]byte

func newReplicaSet(keys []byte) (replicaSet, error) {
	count := len(keys) / hashSize
	if len(keys)%hashSize != 0 || count < 1 || count > maxReplicas {
		return nil, uncertified("a set has 1 to %d replicas, not %d", maxReplicas, count)
	}
	set := make(replicaSet, count)
	for i := range set {
		set[i] = [32]byte(keys[i*hashSize:])
		if _, err := schnorr.ParsePubKey(set[i][:]); err != nil {
			return nil, uncertified("the key of replica %d is not a public key", i)
		}
		if slices.Contains(set[:i], set[i]) {
			return nil, uncertified("the key of replica %d occurs twice", i)
		}
	}
	return set, nil
}

func (s replicaSet) encode() (keys []byte) {
	for i := range s {
		keys = append(keys, s[i][:]...)
	}
	return keys
}

// hash identifies the set; the genesis header has that of the founders.
func (s replicaSet) hash() Hash { return tagged(tagReplicas, s.encode()) }

// quorum returns how many votes make something final: n - f of n = 3f + 1.
func (s replicaSet) quorum() int { return len(s) - (len(s)-1)/3 }

// verify checks that a quorum signed a message. The signatures are a word with one bit for each signer, and theirs.
func (s replicaSet) verify(signatures []byte, message Hash) error {
	signers := binary.BigEndian.Uint64(signatures)
	if found := bits.OnesCount64(signers); found < s.quorum() {
		return uncertified("%d replicas signed, and %d are needed", found, s.quorum())
	}
	for rest := signatures[8:]; signers != 0; signers, rest = signers&(signers-1), rest[sealSize:] {
		replica := bits.TrailingZeros64(signers)
		if replica >= len(s) {
			return uncertified("replica %d is not in the set", replica)
		}
		if !isSignature(s[replica], message, [sealSize]byte(rest)) {
			return uncertified("the signature of replica %d is invalid", replica)
		}
	}
	return nil
}

// takeSigned splits off a fixed part with the signatures after it, whose word of signers defines the length.
func takeSigned(encoded []byte, fixed int) (signed, rest []byte, err error) {
	if len(encoded) < fixed+8 {
		return nil, nil, uncertified("it is cut off")
	}
	end := fixed + 8 + bits.OnesCount64(binary.BigEndian.Uint64(encoded[fixed:]))*sealSize
	if len(encoded) < end {
		return nil, nil, uncertified("it is cut off")
	}
	return encoded[:end:end], encoded[end:], nil
}

// certificate is an encoded certificate of finality: the header of an ordered block with the votes that it is final.
type certificate []byte

func decodeCertificate(encoded []byte) (certificate, error) {
	signed, rest, err := takeSigned(encoded, certificateSize)
	if err == nil && len(rest) > 0 {
		err = uncertified("it is too long")
	}
	return signed, err
}

// height returns the position of the block in the order.
func (c certificate) height() uint64 { return binary.BigEndian.Uint64(c) }

// statement returns the hash of the chain's header that the block vouches for.
func (c certificate) statement() Hash { return Hash(c[40:72]) }

// verify checks that a quorum of the replicas voted for the block as final.
func (c certificate) verify(network NetworkID, replicas replicaSet) error {
	block := tagged(tagOrdered, c[:orderedHeaderSize])
	// Epoch, view and view of the parent follow the header in the certificate, and the network in a vote.
	vote := tagged(tagVote, []byte{voteFinalize}, network[:], c[orderedHeaderSize:certificateSize], block[:])
	return replicas.verify(c[certificateSize:], vote)
}

// reconfiguration is an encoded change of the set of replicas, with the signatures of a quorum of the set before it.
type reconfiguration []byte

func decodeReconfiguration(encoded []byte) (reconfiguration, error) {
	signed, rest, err := takeSigned(encoded, changeSize)
	if err == nil && len(rest) > 0 {
		err = uncertified("a change of the set is too long")
	}
	return signed, err
}

// change returns the change without its signatures.
func (r reconfiguration) change() []byte { return r[:changeSize] }

// verify checks that a quorum of the replicas approved the change, and returns the set after it.
func (r reconfiguration) verify(network NetworkID, before replicaSet, generation uint32) (replicaSet, error) {
	action, number, port := r[0], int(r[1]), binary.BigEndian.Uint16(r[2:])
	key, address := [32]byte(r[8:40]), r[72:changeSize]
	if found := binary.BigEndian.Uint32(r[4:]); found != generation {
		return nil, uncertified("a change is of generation %d, not %d", found, generation)
	}
	set := before.hash()
	if err := before.verify(r[changeSize:], tagged(tagMemberChange, network[:], set[:], r.change())); err != nil {
		return nil, err
	}
	after := slices.Clone(before)
	switch {
	case action == changeAdd && number <= len(before):
		after = slices.Insert(after, number, key)
	case action == changeRemove && number < len(before) && before[number] == key && port == 0 && isZero(address):
		after = slices.Delete(after, number, number+1)
	default:
		return nil, uncertified("a change does not fit the set of generation %d", generation)
	}
	return newReplicaSet(after.encode())
}

func isZero(b []byte) bool { return len(bytes.Trim(b, "\x00")) == 0 }

// vouched has the founding replicas, all changes of the set, and a certificate of the set after them.
type vouched struct {
	founders         replicaSet
	reconfigurations []reconfiguration
	certificate      certificate
}

// replicas returns the present set. Each set approved the next one, so whoever trusts the founders can trust it.
func (v *vouched) replicas(network NetworkID) (replicaSet, error) {
	set := v.founders
	for generation, change := range v.reconfigurations {
		var err error
		if set, err = change.verify(network, set, uint32(generation)); err != nil {
			return nil, err
		}
	}
	return set, nil
}

// encode returns the number of founders, their keys, the number of changes, the changes, and the certificate.
func (v *vouched) encode() []byte {
	encoded := append([]byte{byte(len(v.founders))}, v.founders.encode()...)
	encoded = binary.BigEndian.AppendUint16(encoded, uint16(len(v.reconfigurations)))
	for _, change := range v.reconfigurations {
		encoded = append(encoded, change...)
	}
	return append(encoded, v.certificate...)
}

func decodeVouched(encoded []byte) (*vouched, error) {
	if len(encoded) < 1 || len(encoded) < 1+int(encoded[0])*hashSize+2 {
		return nil, uncertified("the keys of the replicas are cut off")
	}
	end := 1 + int(encoded[0])*hashSize
	founders, err := newReplicaSet(encoded[1:end])
	if err != nil {
		return nil, err
	}
	changes, rest := int(binary.BigEndian.Uint16(encoded[end:])), encoded[end+2:]
	if changes > maxReconfigurations {
		return nil, uncertified("the set changed %d times, and %d changes are followed", changes, maxReconfigurations)
	}
	v := &vouched{founders: founders}
	for range changes {
		var signed []byte
		if signed, rest, err = takeSigned(rest, changeSize); err != nil {
			return nil, err
		}
		v.reconfigurations = append(v.reconfigurations, signed)
	}
	v.certificate, err = decodeCertificate(rest)
	return v, err
}

// errStatement means that the certificate vouches for a header that the chain does not have.
var errStatement = errors.New("the certificate of the replicas vouches for no known header; ask another node")

// certify makes final the header whose hash a certificate states, and all headers before it.
func (c *Chain) certify(v *vouched) error {
	if !c.isOrdered() || c.headers[0].Header.TransactionRoot != v.founders.hash() {
		return uncertified("its founders are not those that the genesis header names")
	}
	if c.vouched != nil {
		// A change that was followed is never replaced: the keys of replicas that left may have leaked since.
		for i := range min(len(c.vouched.reconfigurations), len(v.reconfigurations)) {
			if !bytes.Equal(c.vouched.reconfigurations[i].change(), v.reconfigurations[i].change()) {
				return uncertified("the set of generation %d changed in another way than is known", i)
			}
		}
	}
	replicas, err := v.replicas(c.Network())
	if err != nil {
		return err
	}
	if err := v.certificate.verify(c.Network(), replicas); err != nil {
		return err
	}
	// An ordered block states a header below its own height.
	for height := min(v.certificate.height(), c.Height()+1); height > 0; height-- {
		if c.hashes[height-1] == v.certificate.statement() {
			if height-1 > c.certified {
				c.certified, c.vouched = height-1, v
			}
			return nil
		}
	}
	return errStatement
}
