package user

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"slices"

	"cpar/internal/wire"
)

// A History holds the first ancestorBytes of the digest of every earlier
// generation, newest first. It distinguishes a descendant at any distance from
// a fork. Eight bytes suffice, because only holders of the key can make
// generations, and they cannot choose a digest.
type History []byte

const (
	ancestorBytes = 8
	// maxAncestors bounds the size of the ledger. Beyond it, the oldest
	// ancestors are dropped.
	maxAncestors = 1 << 16
	// minAncestors is the padded length of a short history. Longer histories
	// are padded to minAncestors times a power of two. Padding hides the exact
	// number of updates from a server that has not seen the updates.
	minAncestors = 16
)

// Has reports whether `state` is the digest of the ancestor `distance`
// generations back.
func (h History) Has(state [sha256.Size]byte, distance uint64) bool {
	if distance < 1 || distance > uint64(len(h)/ancestorBytes) {
		return false
	}
	return bytes.Equal(h[(distance-1)*ancestorBytes:distance*ancestorBytes], state[:ancestorBytes])
}

// after returns the history of the next generation. Parameter `state` is the
// digest of the current generation.
func (h History) after(state [sha256.Size]byte) History {
	return slices.Concat(state[:ancestorBytes], h[:min(len(h), (maxAncestors-1)*ancestorBytes)])
}

// padding returns the number of zeros that extend `size` bytes to room·2ⁿ
// bytes, for the smallest sufficient n ≥ 0.
func padding(size, room int) int {
	for room < size {
		room *= 2
	}
	return room - size
}

func (h History) padding() int { return padding(len(h), minAncestors*ancestorBytes) }

func appendHistory(b []byte, h History) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(len(h)/ancestorBytes))
	return append(append(b, h...), make([]byte, h.padding())...)
}

// readHistory reads a history. Version 7 of the ledger recorded whole digests
// of at most sixteen ancestors.
func readHistory(r *wire.Reader, version uint16) (h History) {
	size, limit := ancestorBytes, maxAncestors
	if version == oldLedgerVersion {
		size, limit = sha256.Size, 16
	}
	n := r.Count(size, "states before")
	switch {
	case n > limit:
		r.Fail("%d states before", n)
		return nil
	case version == oldLedgerVersion:
		for range n {
			if b := r.Bytes(size, "state before"); b != nil {
				h = append(h, b[:ancestorBytes]...)
			}
		}
		return h
	}
	h = slices.Clone(History(r.Bytes(n*ancestorBytes, "states before")))
	r.Zeros(h.padding(), "padding of the states")
	return h
}
