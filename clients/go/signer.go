package turnpike

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/btcsuite/btcd/btcec/v2"
	"github.com/btcsuite/btcd/btcec/v2/ecdsa"
)

// Signer signs the operations of one key on one network. Any number of goroutines may use it at once.
type Signer struct {
	secret  *btcec.PrivateKey
	public  [33]byte
	network NetworkID
	nonce   atomic.Uint32
}

// NewSigner returns a signer for a secret key of secp256k1 and a network, which [Client.Info] names. Signatures are
// invalid on other networks.
func NewSigner(secret [32]byte, network NetworkID) (*Signer, error) {
	var scalar btcec.ModNScalar
	if overflow := scalar.SetBytes(&secret); overflow != 0 || scalar.IsZero() {
		return nil, errors.New("a secret key is a number from 1 to the order of secp256k1; generate another one")
	}
	key := btcec.PrivKeyFromScalar(&scalar)
	return &Signer{secret: key, public: [33]byte(key.PubKey().SerializeCompressed()), network: network}, nil
}

// KeyedAccount returns the account that a compressed public key is bound to.
func KeyedAccount(public [33]byte) AccountID {
	hash := tagged(tagAccount, public[:])
	// A one, then the first 127 bits of the hash.
	id := AccountID(hash[:16])
	for i := len(id) - 1; i > 0; i-- {
		id[i] = id[i]>>1 | id[i-1]<<7
	}
	id[0] = id[0]>>1 | 0x80
	return id
}

// Account returns the account that the key is bound to.
func (s *Signer) Account() AccountID { return KeyedAccount(s.public) }

// PublicKey returns the compressed public key.
func (s *Signer) PublicKey() [33]byte { return s.public }

// String returns the account. The secret key is not shown.
func (s *Signer) String() string { return "signer of " + s.Account().String() }

// Sign signs an operation as of now. An operation without a transaction id gets one.
//
// To repeat a signed operation, repeat the result of Sign: after the node's replay window it gets StatusStaleTimestamp,
// and is never executed again.
func (s *Signer) Sign(operation Operation, promise Promise) SignedOperation {
	now := time.Now()
	operation.name(now)
	return s.SignAt(operation, promise, now, s.nonce.Add(1))
}

// SignAt signs an operation as of a time. The nonce distinguishes operations signed within one microsecond.
func (s *Signer) SignAt(operation Operation, promise Promise, at time.Time, nonce uint32) SignedOperation {
	signed := SignedOperation{
		Operation: operation, Timestamp: uint64(at.UnixMicro()), Nonce: nonce, Promise: promise, PublicKey: s.public,
	}
	digest := signed.digest(s.network)
	signature := ecdsa.Sign(s.secret, digest[:])
	r, s_ := signature.R(), signature.S()
	r.PutBytesUnchecked(signed.Signature[:32])
	s_.PutBytesUnchecked(signed.Signature[32:])
	return signed
}

// digest returns the hash that the signature is of.
func (f *SignedOperation) digest(network NetworkID) Hash {
	var bytes [signedOperationSize]byte
	f.write(bytes[:])
	return tagged(tagTransfer, network[:], bytes[:signedOperationSize-len(f.Signature)])
}

// Verify reports whether the signature is valid on a network. It does not check that the key may act for the account.
func (f *SignedOperation) Verify(network NetworkID) bool {
	public, err := btcec.ParsePubKey(f.PublicKey[:])
	if err != nil {
		return false
	}
	var r, s btcec.ModNScalar
	isTooLarge := r.SetByteSlice(f.Signature[:32]) || s.SetByteSlice(f.Signature[32:])
	if isTooLarge || r.IsZero() || s.IsZero() || s.IsOverHalfOrder() {
		return false
	}
	digest := f.digest(network)
	return ecdsa.NewSignature(&r, &s).Verify(digest[:], public)
}
