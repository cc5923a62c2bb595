package user

import (
	"context"
	"errors"
	"testing"

	"cpar"
	"cpar/internal/hint"
	"cpar/user/internal/rows"
	"cpar/user/profile"
)

// TestDefaultOptions: the safest scheme that serves, under which nothing needs to be
// allowed.
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

// TestBlocksThatCanBeAsked: an index of which a request is more than a cloud takes
// is not built.
func TestBlocksThatCanBeAsked(t *testing.T) {
	for _, c := range []struct {
		pca, block int
		ok         bool
	}{
		{32, 0, true}, {32, 16, false}, {32, 32, false}, {32, 64, true}, {32, 128, true}, {32, 256, true}, {32, 512, false},
		{32, 96, false}, {32, -64, false}, {8, 64, false}, {8, 128, true}, {16, 64, true}, {64, 32, false}, {128, 32, false}, {128, 64, true},
	} {
		o, err := Options{PCA: c.pca, Block: c.block}.withDefaults()
		if !c.ok {
			if !errors.Is(err, cpar.ErrInput) || hint.Of(err) == "" {
				t.Errorf("PCA-%d, blocks of %d: %v; %s", c.pca, c.block, err, hint.Of(err))
			}
			continue
		}
		if err != nil {
			t.Errorf("PCA-%d, blocks of %d: %v", c.pca, c.block, err)
			continue
		}
		p, err := rows.NewQuantiser(profile.PaperLayout(o.PCA)).Lattice(o.Block)
		if err != nil || p.RequestSize() > cpar.MaxRequestBytes {
			t.Errorf("PCA-%d, blocks of %d: requests of %d bytes, %v", c.pca, c.block, p.RequestSize(), err)
		}
	}
	// Short vectors have few blocks, whatever their width.
	if _, err := (Options{Profile: profile.Learned, Block: 32}).withDefaults(); err != nil {
		t.Errorf("blocks of 32 of a learnt profile: %v", err)
	}
}
