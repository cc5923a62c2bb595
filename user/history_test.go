package user

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"cpar"
	"cpar/internal/wire"
)

func FuzzHistory(f *testing.F) {
	for _, n := range []int{0, 1, minAncestors, minAncestors + 1} {
		var h History
		for i := range n {
			h = h.after([32]byte{byte(i + 1)})
		}
		f.Add(uint16(ledgerVersion), appendHistory(nil, h))
		f.Add(uint16(oldLedgerVersion), append(binary.LittleEndian.AppendUint32(nil, uint32(min(n, 16))), make([]byte, 32*min(n, 16))...))
	}
	f.Fuzz(func(t *testing.T, version uint16, data []byte) {
		r := wire.NewReader(data, cpar.ErrCorrupt)
		h := readHistory(r, version)
		if err := r.Close(); err != nil {
			if !errors.Is(err, cpar.ErrCorrupt) {
				t.Errorf("%v wraps none of our errors", err)
			}
			return
		}
		if version == oldLedgerVersion {
			if len(h) > 16*ancestorBytes || len(data) != 4+4*len(h) {
				t.Errorf("%d bytes of %d", len(h), len(data))
			}
			return
		}
		if !bytes.Equal(appendHistory(nil, h), data) {
			t.Error("decoded, then encoded differently")
		}
	})
}
