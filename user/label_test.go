package user

import (
	"errors"
	"testing"

	"cpar"
	"cpar/internal/indexdir"
)

func TestLabelNeedsOnlyTheLedger(t *testing.T) {
	for _, s := range cpar.Schemes() {
		key, opt := testKey(), small(s)
		opt.Name = "family"
		b, folder := build(t, key, madeImages(12, 1), opt)
		x, err := indexdir.Open(folder)
		if err != nil {
			t.Fatal(err)
		}
		defer x.Release()
		ledgerOnly := func(s cpar.Segment) ([]byte, error) {
			if s.Kind != cpar.SegmentLedger {
				t.Errorf("%v was fetched", s.Kind)
			}
			return x.Read(s)
		}
		l, err := ReadLabel(key.Restricted(DefaultPolicy()), x.Manifest(), ledgerOnly)
		if err != nil {
			t.Fatalf("%v: %v", s, err)
		}
		o, err := Open(key, x.Manifest(), x.Read)
		if err != nil {
			t.Fatal(err)
		}
		if l.Name() != "family" || l.Origin() != b.ID() || l.Scheme() != s || l.Records() != 12 || l.Generation() != 1 || l.Digest() != o.Digest() {
			t.Errorf("%v: %+v", s, l)
		}
		if _, err := ReadLabel(testKey(), x.Manifest(), x.Read); !errors.Is(err, cpar.ErrKey) {
			t.Errorf("%v: with another key: %v", s, err)
		}
		m := *x.Manifest()
		m.Records++ // contradicts the ledger
		if _, err := ReadLabel(key, &m, x.Read); !errors.Is(err, cpar.ErrCorrupt) {
			t.Errorf("%v: with another manifest: %v", s, err)
		}
	}
}
