package turnpike

import (
	"bytes"
	"fmt"
	"math"
	"math/bits"
)

const (
	// maxLeafEntries is the most accounts in a leaf of the index above the greatest depth.
	maxLeafEntries = 16
	// maxIndexDepth is the number of bits in a path of the index.
	maxIndexDepth = 64
)

// ProofError reports a proof that does not hold.
type ProofError struct {
	Problem string
}

func (e *ProofError) Error() string {
	return "the node's proof is invalid: " + e.Problem + "; the node is faulty, ask another one"
}

func unproved(problem string, values ...any) error {
	return &ProofError{fmt.Sprintf(problem, values...)}
}

// hashes returns the first count hashes.
func hashes(b []byte, count uint8) []Hash {
	path := make([]Hash, count)
	for i := range path {
		path[i] = Hash(b[i*hashSize:])
	}
	return path
}

// parseProof returns the reply to a query for a proof, without trailing zeros.
func parseProof(frame []byte) (reply, proofRequest, error) {
	var request proofRequest
	r, err := parseReply(frame)
	if err != nil || r.kind != frameTypeProof || r.status != StatusOk {
		return r, request, unproved("the frame is not a proof")
	}
	request.read(frame)
	if request.Chain != chainOwn {
		return r, request, unproved("the frame is a proof of another chain")
	}
	return r, request, nil
}

// Marks of an entry beside the position of its latest transaction.
const (
	holdBit   = 1 << 31
	frozenBit = 1 << 30
	assetBit  = 1 << 29
)

// IsFrozen reports whether the entry is that of an account that cannot pay.
func (f *IndexEntry) IsFrozen() bool {
	return f.Position&(holdBit|frozenBit) == frozenBit
}

// HasAsset reports whether the account or hold is of another asset than 0, which [Client.ProveAsset] proves. Do not take
// its balance for one of asset 0.
func (f *IndexEntry) HasAsset() bool {
	return f.Position&assetBit != 0
}

// Asset returns the asset that the entry states, or 0 if it is not that of an asset.
func (f *IndexEntry) Asset() uint32 {
	if f.Position&(holdBit|frozenBit) != holdBit|frozenBit || f.Balance > math.MaxUint32 {
		return 0
	}
	return uint32(f.Balance)
}

// LatestPosition returns the position of the latest transaction in its block.
func (f *IndexEntry) LatestPosition() uint32 {
	return f.Position & (assetBit - 1)
}

// BalanceProof proves the balance of an account as of a block, or that there is no such account.
type BalanceProof struct {
	// Entry has the balance and the position of the latest transaction; nil if the account does not exist.
	Entry *IndexEntry
	// Height is that of the block. Empty blocks after it have the same balances.
	Height uint64
	// Reply is the node's reply, which [Chain.VerifyBalance] verifies again without a node.
	Reply []byte
}

// TransactionProof proves that a transaction is in a block.
type TransactionProof struct {
	// Operation as requested; Signed has its signature, or is nil if it was not signed.
	Operation Operation
	Signed    *SignedOperation
	// Height and Block are those of the block, Position is that in it.
	Height   uint64
	Block    Hash
	Position uint32
	// Reply is the node's reply, which [Chain.VerifyTransaction] verifies again without a node.
	Reply []byte
}

// VerifyBalance verifies the reply to a request for a balance proof. It returns [ErrUnknownBlock] if the block is not
// among the verified headers.
func (c *Chain) VerifyBalance(account AccountID, reply []byte) (*BalanceProof, error) {
	_, request, err := parseProof(reply)
	if err != nil || request.Query != queryIndex {
		return nil, unproved("the frame is not a proof of a balance")
	}
	var fixed indexReply
	fixed.read(reply)
	header, err := c.find(fixed.BlockHeight, fixed.BlockHash)
	if err != nil {
		return nil, err
	}
	entry, err := verifyIndex(account, header, reply)
	if err != nil {
		return nil, err
	}
	return &BalanceProof{entry, fixed.BlockHeight, reply}, nil
}

// verifyIndex verifies a parsed reply against the header of its block.
func verifyIndex(account AccountID, header *Header, reply []byte) (found *IndexEntry, err error) {
	if !header.StatesIndex() {
		return nil, unproved("its header states no index root")
	}
	var fixed indexReply
	fixed.read(reply)
	path := hashes(reply[indexReplySize:], fixed.Depth)
	encoded := reply[indexReplySize+len(path)*hashSize:][:int(fixed.EntryCount)*indexEntrySize]
	entries := make([]IndexEntry, fixed.EntryCount)
	for i := range entries {
		entries[i].read(encoded[i*indexEntrySize:])
	}
	route := accountPath(account)
	if err := checkLeaf(route, header.Accounts, path, entries); err != nil {
		return nil, err
	}
	var node Hash
	if len(entries) > 0 {
		node = tagged(tagIndexLeaf, encoded)
	}
	for level, sibling := range path {
		if route>>(maxIndexDepth-len(path)+level)&1 == 0 {
			node = tagged(tagIndexNode, node[:], sibling[:])
		} else {
			node = tagged(tagIndexNode, sibling[:], node[:])
		}
	}
	if node != header.IndexRoot {
		return nil, unproved("its path does not lead to the header's index root")
	}
	for i := range entries {
		if entries[i].Account == account {
			return &entries[i], nil
		}
	}
	return nil, nil
}

// checkLeaf checks that a leaf is well formed: absence from a leaf proves nothing if entries may be anywhere.
func checkLeaf(route, accounts uint64, path []Hash, entries []IndexEntry) error {
	depth := len(path)
	if depth > maxIndexDepth {
		return unproved("a path has at most %d nodes", maxIndexDepth)
	}
	isSmall := len(entries) <= maxLeafEntries
	// Above the root there is nothing to merge with; elsewhere a subtree of few accounts is a leaf.
	fits := accounts == uint64(len(entries))
	if depth > 0 {
		fits = accounts > uint64(max(maxLeafEntries, len(entries)-1))
	}
	if !fits || !isSmall && depth < maxIndexDepth {
		return unproved("a leaf of %d accounts cannot be at depth %d", len(entries), depth)
	}
	for i := range entries {
		position := accountPath(entries[i].Account)
		if depth > 0 && (position^route)>>(maxIndexDepth-depth) != 0 {
			return unproved("entry %d does not belong in its leaf", i)
		}
		if i > 0 {
			before := accountPath(entries[i-1].Account)
			if before > position || before == position && bytes.Compare(entries[i-1].Account[:], entries[i].Account[:]) >= 0 {
				return unproved("entry %d is out of order", i)
			}
		}
	}
	if isSmall && depth > 0 && path[0] == (Hash{}) {
		return unproved("its leaf has no sibling")
	}
	return nil
}

// VerifyTransaction verifies the reply to a request for a proof of a transaction. It returns [ErrUnknownBlock] if the
// block is not among the verified headers. The caller compares the operation with the expected one.
func (c *Chain) VerifyTransaction(reply []byte) (*TransactionProof, error) {
	_, request, err := parseProof(reply)
	if err != nil || request.Query == queryIndex {
		return nil, unproved("the frame is not a proof of a transaction")
	}
	var fixed proofReply
	fixed.read(reply)
	header, err := c.find(fixed.BlockHeight, fixed.BlockHash)
	if err != nil {
		return nil, err
	}
	return verifyTransaction(header, reply)
}

// verifyTransaction verifies a parsed reply against the header of its block.
func verifyTransaction(header *Header, reply []byte) (*TransactionProof, error) {
	var fixed proofReply
	fixed.read(reply)
	path := hashes(reply[proofReplySize:], fixed.Depth)
	transaction := reply[proofReplySize+len(path)*hashSize:][:fixed.TransactionLength]
	proof := &TransactionProof{Height: fixed.BlockHeight, Block: fixed.BlockHash, Position: fixed.Position, Reply: reply}
	switch len(transaction) {
	case operationSize:
		proof.Operation.read(transaction)
	case signedOperationSize:
		proof.Signed = new(SignedOperation)
		proof.Signed.read(transaction)
		proof.Operation = proof.Signed.Operation
	default:
		return nil, unproved("a transaction cannot have %d bytes", len(transaction))
	}
	if proof.Operation.Status != StatusOk {
		return nil, unproved("its transaction failed")
	}
	if fixed.TransactionCount != header.Transactions {
		return nil, unproved("its block has %d transactions, and the header %d", fixed.TransactionCount, header.Transactions)
	}
	if tagged(tagTransaction, transaction) != fixed.Leaf {
		return nil, unproved("its leaf is not the hash of the transaction")
	}
	if err := verifyPath(header.TransactionRoot, header.Transactions, fixed.Position, fixed.Leaf, path); err != nil {
		return nil, err
	}
	return proof, nil
}

// verifyPath checks that a leaf is at a position in a tree of that many transactions. The number of transactions fixes
// the depth, so the path uses up all bits of the position, and no other position leads to the same place.
func verifyPath(root Hash, transactions, position uint32, node Hash, path []Hash) error {
	if position >= transactions {
		return unproved("position %d is outside a block of %d transactions", position, transactions)
	}
	last := transactions - 1
	if depth := bits.Len32(last); depth != len(path) {
		return unproved("its path has %d nodes, and the tree a depth of %d", len(path), depth)
	}
	for level, sibling := range path {
		isInside := position^1 <= last
		if isInside == (sibling == Hash{}) {
			return unproved("node %d of its path does not fit the shape of the tree", level)
		}
		if position&1 == 0 {
			node = tagged(tagNode, node[:], sibling[:])
		} else {
			node = tagged(tagNode, sibling[:], node[:])
		}
		position, last = position>>1, last>>1
	}
	if node != root {
		return unproved("its path does not lead to the header's transaction root")
	}
	return nil
}
