package aspe

import (
	"slices"
	"testing"

	"cpar"
	"cpar/internal/testing/syntheticphotos"
	"cpar/kdforest"
	"cpar/model/profile"
	"cpar/model/vector"
	"cpar/user/internal/fixtures"
)

func TestOrderIsThatOfLevels(t *testing.T) {
	splits := [][]uint16{{0}, {3, 4, 500, 998, 999}, {500}}
	var planes []kdforest.Plane[uint16]
	fields := []int{2, 5, 9}
	for i, levels := range splits {
		for _, level := range levels {
			planes = append(planes, kdforest.Plane[uint16]{Dim: fields[i], Value: level})
		}
	}
	x, _ := fixtures.Index(t, cpar.SchemeCPAR, profile.Paper, syntheticphotos.Photos(2, 1), syntheticphotos.Stuck{})
	for order, width := range map[Order]uint8{OrderRank: 2, OrderOPE: 8} {
		e, err := newOrderEncoder(x, &ledgerPart{order: order, planes: planes}, fields)
		if err != nil {
			t.Fatal(err)
		}
		if order.bytes() != width {
			t.Errorf("%v: %d bytes", order, order.bytes())
		}
		for field, levels := range splits {
			for _, split := range levels {
				s, err := e(field, split)
				if err != nil {
					t.Fatal(err)
				}
				if order == OrderRank && int(s) != slices.Index(levels, split) {
					t.Errorf("split %d of %v has rank %d", split, levels, s)
				}
				for level := range uint16(vector.Beta + 1) {
					q, err := e(field, level)
					if err != nil {
						t.Fatal(err)
					}
					if (q <= s) != (level <= split) {
						t.Fatalf("%v, field %d: level %d is %d, split %d is %d", order, field, level, q, split, s)
					}
				}
			}
		}
	}
}

func TestOptionNamesRoundTrip(t *testing.T) {
	for _, o := range []Order{OrderRank, OrderOPE} {
		if got, err := ParseOrder(o.String()); err != nil || got != o {
			t.Errorf("%v: %v, %v", o, got, err)
		}
	}
	for _, s := range []Split{SplitPCA, SplitOriginal} {
		if got, err := ParseSplit(s.String()); err != nil || got != s {
			t.Errorf("%v: %v, %v", s, got, err)
		}
	}
}
