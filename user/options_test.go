package user

import (
	"context"
	"errors"
	"testing"

	"cpar"
	"cpar/internal/hint"
	"cpar/model/profile"
	"cpar/model/vectorlayout"
	"cpar/user/internal/rows"
)

// TestDefaultOptions checks that the default scheme needs no permission.
func TestDefaultOptions(t *testing.T) {
	o, err := Options{}.withDefaults()
	if err != nil || o.Scheme != cpar.SchemeSealed || o.Profile != profile.Paper || o.PCA != 32 {
		t.Errorf("%+v, %v", o, err)
	}
	if !NewKey().Policy().Allows(o.Scheme) || !Hides(o.Scheme) {
		t.Errorf("a new key does not allow %v, or it hides nothing", o.Scheme)
	}
	b := setUp(t, NewKey(), madeImages(3, 1), Options{})
	if b.Scheme() != cpar.SchemeSealed {
		t.Errorf("built %v", b.Scheme())
	}
}

func TestOptionsRefused(t *testing.T) {
	for name, opt := range map[string]Options{
		"PCA-7": {PCA: 7}, "65 trees": {Trees: 65}, "no such scheme": {Scheme: 9}, "no such order": {Order: 2},
		"no such split": {Split: 2}, "no such place": {Place: 2}, "no such ranker": {Ranker: 7}, "-2 lists": {Lists: -2},
		"no trees": {Scheme: cpar.SchemeCPAR, Trees: -1}, "lists that it has not": {Scheme: cpar.SchemeCPAR, Lists: 5},
	} {
		if _, err := Setup(context.Background(), testKey(), madeImages(3, 1), opt); !errors.Is(err, cpar.ErrInput) {
			t.Errorf("%s: %v, want ErrInput", name, err)
		}
	}
}

func TestBlockWidthsKeepTheRequestLimit(t *testing.T) {
	for _, c := range []struct {
		pca, block  int
		ok, careful bool // in the two rings
	}{
		{32, 0, true, true}, {32, 8, false, false}, {32, 16, true, false}, {32, 32, true, true}, {32, 64, true, true}, {32, 128, true, true}, {32, 256, false, false},
		{32, 96, false, false}, {32, -64, false, false}, {8, 0, true, true}, {8, 16, false, false}, {8, 32, true, false}, {8, 64, true, true},
		{16, 16, false, false}, {16, 32, true, false}, {16, 64, true, true}, {64, 16, true, false}, {64, 32, true, true}, {128, 16, true, false}, {128, 32, true, true},
	} {
		for _, careful := range []bool{false, true} {
			o, err := Options{PCA: c.pca, Block: c.block, Careful: careful}.withDefaults()
			if ok := map[bool]bool{false: c.ok, true: c.careful}[careful]; !ok {
				if !errors.Is(err, cpar.ErrInput) || hint.Of(err) == "" {
					t.Errorf("PCA-%d, blocks of %d, careful %v: %v; %s", c.pca, c.block, careful, err, hint.Of(err))
				}
				continue
			}
			if err != nil {
				t.Errorf("PCA-%d, blocks of %d, careful %v: %v", c.pca, c.block, careful, err)
				continue
			}
			p, err := rows.NewQuantiser(profile.PaperLayout(o.PCA), true).Lattice(o.Block, o.Careful, 0)
			if err != nil || p.RequestSize() > cpar.MaxRequestBytes {
				t.Errorf("PCA-%d, blocks of %d, careful %v: requests of %d bytes, %v", c.pca, c.block, careful, p.RequestSize(), err)
			}
		}
	}
	// Short vectors have few blocks at any width.
	for block := minBlock; block <= maxBlock; block *= 2 {
		for _, careful := range []bool{false, true} {
			if _, err := (Options{Profile: profile.Learned, Block: block, Careful: careful}).withDefaults(); err != nil {
				t.Errorf("blocks of %d of a learnt profile, careful %v: %v", block, careful, err)
			}
			p, err := rows.NewQuantiser(vectorlayout.SquaredL2(96, 1000), true).Lattice(block, careful, 0)
			if err != nil || p.RequestSize() > cpar.MaxRequestBytes {
				t.Errorf("96 numbers, blocks of %d, careful %v: requests of %d bytes, %v", block, careful, p.RequestSize(), err)
			}
		}
	}
}
