package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"
)

var errKind = errors.New("corrupt")

func TestBatchEncoding(t *testing.T) {
	for _, items := range [][][]byte{{{1}}, {{}, {2, 3}, {}}, make([][]byte, MaxBatch)} {
		b := AppendBatch([]byte("before"), items)
		got, err := DecodeBatch(b[6:], errKind)
		if err != nil || len(got) != len(items) {
			t.Fatalf("%v: %v, %v", items, got, err)
		}
		for i := range got {
			if !bytes.Equal(got[i], items[i]) {
				t.Errorf("item %d is %v, want %v", i, got[i], items[i])
			}
		}
	}
	for name, bad := range map[string][]byte{
		"nothing":        nil,
		"no items":       AppendBatch(nil, nil),
		"too many items": AppendBatch(nil, make([][]byte, MaxBatch+1)),
		"short":          AppendBatch(nil, [][]byte{{1, 2}})[:9],
		"long":           append(AppendBatch(nil, [][]byte{{1, 2}}), 0),
		"a huge length":  binary.LittleEndian.AppendUint32([]byte{1, 0, 0, 0}, 1<<31),
		"a huge number":  {255, 255, 255, 255},
	} {
		if got, err := DecodeBatch(bad, errKind); !errors.Is(err, errKind) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

func FuzzDecodeBatch(f *testing.F) {
	f.Add(AppendBatch(nil, [][]byte{{1, 2, 3}, {}, {4}}))
	f.Add([]byte{1, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		items, err := DecodeBatch(b, errKind)
		if err == nil && !bytes.Equal(AppendBatch(nil, items), b) {
			t.Errorf("%x decodes to %x", b, items)
		}
	})
}
