package wire

import (
	"encoding/binary"
	"fmt"
)

const MaxBatch = 64

// AppendBatch appends the encoding of a batch to b: a four-byte count, then
// each item as a four-byte length and its bytes. An item is an encoded request
// or reply.
func AppendBatch(b []byte, items [][]byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(len(items)))
	for _, item := range items {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(item)))
		b = append(b, item...)
	}
	return b
}

// DecodeBatch decodes 1 to MaxBatch items, which alias b. Errors wrap `kind`.
func DecodeBatch(b []byte, kind error) ([][]byte, error) {
	r := NewReader(b, kind)
	n := r.Count(4, "items")
	if r.Err() == nil && (n < 1 || n > MaxBatch) {
		r.Fail("a batch of %d; it must have 1 to %d items", n, MaxBatch)
	}
	var items [][]byte
	for i := 0; i < n && r.Err() == nil; i++ {
		items = append(items, r.Bytes(r.Count(1, fmt.Sprintf("bytes of item %d", i+1)), "item"))
	}
	if err := r.Close(); err != nil {
		return nil, fmt.Errorf("reading batch: %w", err)
	}
	return items, nil
}
