package turnpike

import (
	"context"
	"fmt"
	"math/big"
	"time"
)

// Flags of a history frame.
const (
	historyOpenHolds uint8 = 1 << iota
	historyCursor
	historyPruned
)

// A Role is the part of an account in a transaction.
type Role uint8

// The parts of an account.
const (
	// RoleAny selects transactions whatever the account's part is.
	RoleAny Role = iota
	// RoleSource is the account that pays, or that the transaction is about.
	RoleSource
	// RoleDestination is the account that receives, or that pays a deposit.
	RoleDestination
)

// A Locator is the place of a transaction in the chain.
type Locator struct {
	Height, Position uint32
}

// A HistoryFilter selects transactions of a history. The zero value selects all.
type HistoryFilter struct {
	// Commands are the commands to select; none for all.
	Commands []Command
	Role     Role
	// Counterpart is the other account; the zero account for any.
	Counterpart AccountID
	// OpenHolds selects HOLDs whose amount is still held.
	OpenHolds bool
	// FirstHeight is the height of the first block, EndHeight that of the first block after those to select from; 0 for
	// no end.
	FirstHeight, EndHeight uint32
	// FirstTime selects blocks made at this time or later, EndTime those made before this time; the zero time for no
	// limit.
	FirstTime, EndTime time.Time
}

// A PastTransaction is a transaction of a history. [Client.ProveLocator] proves it.
type PastTransaction struct {
	Locator
	// Time is when the block was made.
	Time      time.Time
	Operation Operation
}

// A HistoryPage is a page of a history. Nothing in it is proved.
type HistoryPage struct {
	// TipHeight is the height of the node's tip.
	TipHeight uint64
	// Transactions has the newest one first. A page can be short, or empty, and still have more after it.
	Transactions []PastTransaction
	// Next is the cursor of the next page, or nil if there is none.
	Next *Locator
	// IsPruned reports that earlier transactions are pruned, in blocks before FirstRetained.
	IsPruned      bool
	FirstRetained uint32
}

// An AssetTotal is the issued amount of an asset; of asset 0 less the deposits that were paid.
type AssetTotal struct {
	Asset  uint32
	Issued *big.Int
}

// An AssetPage is a part of the issued amounts by asset. Nothing in it is proved.
type AssetPage struct {
	// Height is that of the block that the amounts are as of.
	Height uint64
	// Totals are ascending by asset.
	Totals []AssetTotal
	// Next is the first asset of the next page, or 0 if there is none.
	Next uint32
}

// History fetches at most count transactions of an account: the newest ones, or those from the Next of another page on.
// It returns [StatusNotFound] if no block has the account.
func (c *Client) History(ctx context.Context, account AccountID, filter HistoryFilter, cursor *Locator, count int) (HistoryPage, error) {
	count, err := c.fitting(count, historyFrameSize, historyEntrySize)
	if err != nil {
		return HistoryPage{}, err
	}
	fixed := historyFrame{
		Count: uint16(count), Role: uint8(filter.Role), FirstHeight: filter.FirstHeight, EndHeight: filter.EndHeight,
		FirstTime: microseconds(filter.FirstTime), EndTime: microseconds(filter.EndTime), Account: account,
		Counterpart: filter.Counterpart,
	}
	for _, command := range filter.Commands {
		fixed.Commands |= 1 << command
	}
	if filter.OpenHolds {
		fixed.Flags |= historyOpenHolds
	}
	if cursor != nil {
		fixed.Flags |= historyCursor
		fixed.CursorHeight, fixed.CursorPosition = cursor.Height, cursor.Position
	}
	found, err := c.ask(ctx, frameTypeHistory, historyFrameSize+count*historyEntrySize, func(header frameHeader, frame []byte) {
		fixed.Header = header
		fixed.write(frame)
	})
	if err != nil {
		return HistoryPage{}, err
	}
	return readHistory(found, cursor)
}

// readHistory returns the page in a checked reply to a request with this cursor.
func readHistory(found []byte, cursor *Locator) (HistoryPage, error) {
	var fixed historyFrame
	fixed.read(found)
	page := HistoryPage{TipHeight: fixed.TipHeight, Transactions: make([]PastTransaction, fixed.Count)}
	for i := range page.Transactions {
		var entry historyEntry
		entry.read(found[historyFrameSize+i*historyEntrySize:])
		page.Transactions[i] = PastTransaction{Locator{entry.Height, entry.Position}, time.UnixMicro(int64(entry.Time)), entry.Operation}
	}
	if fixed.Flags&historyCursor != 0 {
		page.Next = &Locator{fixed.CursorHeight, fixed.CursorPosition}
	}
	if fixed.Flags&historyPruned != 0 {
		page.IsPruned, page.FirstRetained = true, fixed.FirstRetained
	}
	// Otherwise a caller that continues at Next might not end, or count a transaction twice.
	last := cursor
	for i := range page.Transactions {
		at := &page.Transactions[i].Locator
		if last != nil && !at.before(*last) || page.Next != nil && at.before(*page.Next) {
			return HistoryPage{}, malformed("the transactions are out of order")
		}
		last = at
	}
	if page.Next != nil && cursor != nil && !page.Next.before(*cursor) {
		return HistoryPage{}, malformed("the page does not follow its cursor")
	}
	return page, nil
}

// before reports whether the place is before another one in the chain.
func (l Locator) before(other Locator) bool {
	return l.Height < other.Height || l.Height == other.Height && l.Position < other.Position
}

// Assets fetches the issued amounts of at most count assets, from the code first on.
func (c *Client) Assets(ctx context.Context, first uint32, count int) (AssetPage, error) {
	count, err := c.fitting(count, assetsFrameSize, assetTotalSize)
	if err != nil {
		return AssetPage{}, err
	}
	fixed := assetsFrame{Count: uint16(count), FirstAsset: first}
	found, err := c.ask(ctx, frameTypeAssets, assetsFrameSize+count*assetTotalSize, func(header frameHeader, frame []byte) {
		fixed.Header = header
		fixed.write(frame)
	})
	if err != nil {
		return AssetPage{}, err
	}
	fixed.read(found)
	page := AssetPage{Height: fixed.TipHeight, Totals: make([]AssetTotal, fixed.Count), Next: fixed.NextAsset}
	for i := range page.Totals {
		var total assetTotal
		total.read(found[assetsFrameSize+i*assetTotalSize:])
		page.Totals[i] = AssetTotal{total.Asset, new(big.Int).SetBytes(total.Issued[:])}
		if total.Asset < first || i > 0 && page.Totals[i-1].Asset >= total.Asset || page.Next != 0 && total.Asset >= page.Next {
			return AssetPage{}, malformed("the assets are out of order")
		}
	}
	// Otherwise a caller that continues at Next might not end, or count an asset twice.
	if page.Next != 0 && page.Next <= first {
		return AssetPage{}, malformed("asset %d follows asset %d", page.Next, first)
	}
	return page, nil
}

// ask sends a request with room for its reply, and returns the reply.
func (c *Client) ask(ctx context.Context, kind frameType, room int, write func(header frameHeader, frame []byte)) ([]byte, error) {
	id := c.nextID.Add(1)
	frame := newFrame(kind, id, room)
	var header frameHeader
	header.read(frame[prefixSize:])
	write(header, frame[prefixSize:])
	found, err := c.exchange(ctx, &request{id: id, frame: frame}, c.options.Timeout, nil)
	return found.reply.frame, err
}

// fitting returns the number of entries that are wanted and fit a frame.
func (c *Client) fitting(count, fixed, size int) (int, error) {
	if count < 1 {
		return 0, fmt.Errorf("turnpike: a page of %d entries is empty; ask for at least 1", count)
	}
	return min(count, (c.frame-fixed)/size), nil
}

// microseconds returns a time as in frames: 0, for no limit, for the zero time only.
func microseconds(at time.Time) uint64 {
	if at.IsZero() {
		return 0
	}
	return uint64(max(at.UnixMicro(), 1))
}
