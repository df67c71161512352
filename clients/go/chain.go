package turnpike

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/btcsuite/btcd/btcec/v2/schnorr"
)

const (
	// headerVersion and orderedVersion are those of chains that a key seals, and of chains that replicas order.
	headerVersion  = 2
	orderedVersion = 3
	// withoutIndex is added to the version of a header that repeats the previous header's index root.
	withoutIndex = 2
	// HeaderSize and SealedHeaderSize are the lengths of an encoded header, and of one with its seal.
	HeaderSize       = 128
	SealedHeaderSize = HeaderSize + sealSize
	sealSize         = schnorr.SignatureSize
	// maxTransactions is the most that a block may have.
	maxTransactions = 1 << 20
)

// ErrUnknownBlock means that a proof is for a block that the chain of headers does not have, or does not trust.
var ErrUnknownBlock = errors.New("the proof is for a block outside the verified headers; synchronise them and ask again")

// Header is the header of a block.
type Header struct {
	Version         uint32
	Transactions    uint32
	Height          uint64
	Timestamp       uint64 // microseconds since the Unix epoch
	Accounts        uint64 // number of accounts after the block
	Previous        Hash
	TransactionRoot Hash // in genesis the chain's key, or the hash of the set of replicas
	IndexRoot       Hash // of the index after the block, or after the last one before it that states a root
}

// StatesIndex reports whether the index root is that of this block. If not, it repeats the previous header's.
func (h *Header) StatesIndex() bool {
	return h.Version != headerVersion+withoutIndex && h.Version != orderedVersion+withoutIndex
}

// isOfChain reports whether a header of this version may be in one chain with h.
func (h *Header) isOfChain(version uint32) bool {
	first := h.Version
	if !h.StatesIndex() {
		first -= withoutIndex
	}
	return version == first || version == first+withoutIndex
}

// SealedHeader is a header with its seal: a BIP340 signature by the chain's key, or zeros if replicas order the chain.
type SealedHeader struct {
	Header Header
	Seal   [sealSize]byte
}

// Hash identifies the block; for genesis it is the network id.
func (h *Header) Hash() Hash {
	bytes := h.encode()
	return tagged(tagHeader, bytes[:])
}

func (h *Header) encode() (b [HeaderSize]byte) {
	binary.BigEndian.PutUint32(b[0:], h.Version)
	binary.BigEndian.PutUint32(b[4:], h.Transactions)
	binary.BigEndian.PutUint64(b[8:], h.Height)
	binary.BigEndian.PutUint64(b[16:], h.Timestamp)
	binary.BigEndian.PutUint64(b[24:], h.Accounts)
	copy(b[32:], h.Previous[:])
	copy(b[64:], h.TransactionRoot[:])
	copy(b[96:], h.IndexRoot[:])
	return b
}

// readSealedHeader decodes SealedHeaderSize bytes.
func readSealedHeader(b []byte) SealedHeader {
	return SealedHeader{
		Header: Header{
			Version:         binary.BigEndian.Uint32(b[0:]),
			Transactions:    binary.BigEndian.Uint32(b[4:]),
			Height:          binary.BigEndian.Uint64(b[8:]),
			Timestamp:       binary.BigEndian.Uint64(b[16:]),
			Accounts:        binary.BigEndian.Uint64(b[24:]),
			Previous:        Hash(b[32:64]),
			TransactionRoot: Hash(b[64:96]),
			IndexRoot:       Hash(b[96:128]),
		},
		Seal: [sealSize]byte(b[HeaderSize:SealedHeaderSize]),
	}
}

// HeaderError reports a header that cannot be part of the chain.
type HeaderError struct {
	Height  uint64
	Problem string
}

func (e *HeaderError) Error() string {
	return fmt.Sprintf("header at height %d %s; ask another node", e.Height, e.Problem)
}

// ForkError is evidence that the chain's key sealed two headers of one height: its holder made two chains, or somebody
// else has the key. The chain of headers is unchanged.
type ForkError struct {
	Known, Other SealedHeader
}

func (e *ForkError) Error() string {
	return fmt.Sprintf("the chain's key sealed two headers at height %d, %v and %v: its holder reverted settled blocks, or somebody "+
		"else has the key; ask the operator", e.Known.Header.Height, e.Known.Header.Hash(), e.Other.Header.Hash())
}

// Chain is a light client's chain: verified headers from genesis on. One goroutine at a time may use it.
//
// On a chain that a key seals, each header has the key's signature. On a chain that replicas order, headers are trusted
// up to the one that a certificate of the replicas vouches for.
type Chain struct {
	headers   []SealedHeader
	hashes    []Hash
	certified uint64
	vouched   *vouched
}

// newChain verifies the genesis header, of which network is the hash that the caller trusts.
func newChain(network NetworkID, genesis SealedHeader) (*Chain, error) {
	header := &genesis.Header
	hash := header.Hash()
	if hash != network {
		return nil, fmt.Errorf("the node is of network %v, not %v; check the address or the network id", hash, network)
	}
	if header.Version != headerVersion && header.Version != orderedVersion {
		return nil, &HeaderError{0, fmt.Sprintf("has version %d, which this program does not know", header.Version)}
	}
	if header.Height != 0 || header.Transactions != 0 || header.Accounts != 0 || header.IndexRoot != (Hash{}) {
		return nil, &HeaderError{header.Height, "is not the genesis header of an empty chain"}
	}
	c := &Chain{headers: []SealedHeader{genesis}, hashes: []Hash{hash}}
	if !c.isSealed(hash, genesis.Seal) {
		return nil, &HeaderError{0, "is not sealed by the key that it names"}
	}
	return c, nil
}

// RestoreChain decodes what [Chain.Encode] returned. It verifies the links and the last seal, which covers all headers
// before it; on a chain that replicas order, the certificate.
func RestoreChain(network NetworkID, encoded []byte) (*Chain, error) {
	var c *Chain
	for ; c == nil || len(encoded) >= SealedHeaderSize && !isEnd(encoded); encoded = encoded[SealedHeaderSize:] {
		if len(encoded) < SealedHeaderSize {
			return nil, errors.New("the headers are cut off; synchronise them again")
		}
		sealed := readSealedHeader(encoded)
		if c == nil {
			var err error
			if c, err = newChain(network, sealed); err != nil {
				return nil, err
			}
			continue
		}
		hash := sealed.Header.Hash()
		if err := checkSuccessor(&c.headers[c.Height()].Header, c.TipHash(), &sealed.Header); err != nil {
			return nil, err
		}
		c.headers, c.hashes = append(c.headers, sealed), append(c.hashes, hash)
	}
	if c.isOrdered() && len(encoded) > 0 {
		vouched, err := decodeVouched(encoded)
		if err != nil {
			return nil, err
		}
		if err := c.certify(vouched); err != nil {
			return nil, err
		}
		c.forgetUnvouched()
		return c, nil
	}
	if len(encoded) > 0 {
		return nil, errors.New("the headers are cut off; synchronise them again")
	}
	if !c.isSealed(c.TipHash(), c.headers[c.Height()].Seal) {
		return nil, &HeaderError{c.Height(), "is not sealed by the chain's key"}
	}
	c.forgetUnvouched()
	return c, nil
}

// isEnd reports whether the headers end here: another one would begin with its version, in four bytes, and a certificate
// begins with the number of founders, in one byte, which is not 0.
func isEnd(encoded []byte) bool { return encoded[0] != 0 }

// Encode returns the headers with their seals, and the certificate of the last one if replicas order the chain, in the
// format of the program's header files.
func (c *Chain) Encode() []byte {
	bytes := make([]byte, 0, len(c.headers)*SealedHeaderSize)
	for i := range c.headers {
		header := c.headers[i].Header.encode()
		bytes = append(append(bytes, header[:]...), c.headers[i].Seal[:]...)
	}
	if c.vouched != nil {
		bytes = append(bytes, c.vouched.encode()...)
	}
	return bytes
}

// Network returns the network id: the hash of genesis.
func (c *Chain) Network() NetworkID { return c.hashes[0] }

// Height returns the height of the last header.
func (c *Chain) Height() uint64 { return uint64(len(c.headers)) - 1 }

// TipHash returns the hash of the last header.
func (c *Chain) TipHash() Hash { return c.hashes[c.Height()] }

// Header returns the header at a height.
func (c *Chain) Header(height uint64) (Header, bool) {
	if height > c.Height() {
		return Header{}, false
	}
	return c.headers[height].Header, true
}

// find returns the header at a height, if it has this hash and somebody vouches for it.
func (c *Chain) find(height uint64, hash Hash) (*Header, error) {
	if height > c.trusted() || c.hashes[height] != hash {
		return nil, ErrUnknownBlock
	}
	return &c.headers[height].Header, nil
}

// isOrdered reports whether replicas order the chain.
func (c *Chain) isOrdered() bool { return c.headers[0].Header.Version == orderedVersion }

// trusted returns the height up to which the key or the replicas vouch for the headers.
func (c *Chain) trusted() uint64 {
	if c.isOrdered() {
		return c.certified
	}
	return c.Height()
}

// forgetUnvouched drops headers that no certificate covers: the node may have made them up.
func (c *Chain) forgetUnvouched() {
	count := c.trusted() + 1
	c.headers, c.hashes = c.headers[:count], c.hashes[:count]
}

// isSealed reports whether the seal is the one that a header with this hash must have.
func (c *Chain) isSealed(hash Hash, seal [sealSize]byte) bool {
	if c.isOrdered() {
		return seal == [sealSize]byte{}
	}
	return isSignature(c.headers[0].Header.TransactionRoot, tagged(tagSeal, hash[:]), seal)
}

// extend appends the headers that follow the tip: all of them, or none if one is invalid.
func (c *Chain) extend(headers []SealedHeader) error {
	previous, hash := &c.headers[c.Height()].Header, c.TipHash()
	hashes := make([]Hash, len(headers))
	for i := range headers {
		if err := checkSuccessor(previous, hash, &headers[i].Header); err != nil {
			return err
		}
		previous, hash = &headers[i].Header, headers[i].Header.Hash()
		if !c.isSealed(hash, headers[i].Seal) {
			return &HeaderError{previous.Height, "is not sealed by the chain's key"}
		}
		hashes[i] = hash
	}
	c.headers, c.hashes = append(c.headers, headers...), append(c.hashes, hashes...)
	return nil
}

// compare returns an error if the node has another header at the height of a known one.
func (c *Chain) compare(other SealedHeader) error {
	height := other.Header.Height
	if height > c.Height() {
		return ErrWrongReply
	}
	hash := other.Header.Hash()
	if hash == c.hashes[height] {
		return nil
	}
	if !c.isOrdered() && c.headers[0].Header.isOfChain(other.Header.Version) && c.isSealed(hash, other.Seal) {
		return &ForkError{c.headers[height], other}
	}
	return &HeaderError{height, "is not the known one, and not sealed by the chain's key"}
}

// checkSuccessor checks the rules between a header and the one before it.
func checkSuccessor(previous *Header, hash Hash, header *Header) error {
	problem := ""
	switch {
	case !previous.isOfChain(header.Version):
		problem = fmt.Sprintf("has version %d after one of version %d", header.Version, previous.Version)
	case header.Height != previous.Height+1:
		problem = fmt.Sprintf("follows height %d", previous.Height)
	case header.Previous != hash:
		problem = "does not link to the one before it"
	case header.Timestamp < previous.Timestamp:
		problem = "is older than the one before it"
	case header.Transactions > maxTransactions || (header.Transactions == 0) != (header.TransactionRoot == Hash{}):
		problem = "has an impossible number of transactions"
	// Each transaction adds or removes at most an entry of the index and that of its asset.
	case max(header.Accounts, previous.Accounts)-min(header.Accounts, previous.Accounts) > 2*uint64(header.Transactions) ||
		(header.Accounts == 0) != (header.IndexRoot == Hash{}):
		problem = "has an impossible number of accounts"
	case !header.StatesIndex() && header.IndexRoot != previous.IndexRoot:
		problem = "repeats another index root than that of the header before it"
	default:
		return nil
	}
	return &HeaderError{header.Height, problem}
}

// isSignature reports whether a BIP340 signature of a message is valid for a key.
func isSignature(key [32]byte, message Hash, signature [sealSize]byte) bool {
	public, err := schnorr.ParsePubKey(key[:])
	if err != nil {
		return false
	}
	parsed, err := schnorr.ParseSignature(signature[:])
	return err == nil && parsed.Verify(message[:], public)
}
