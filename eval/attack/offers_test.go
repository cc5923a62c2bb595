package attack

import (
	"context"
	"encoding/binary"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"testing"

	"cpar"
	"cpar/eval/measure"
	"cpar/internal/lattice"
	"cpar/model/feature"
	"cpar/user"
)

func rowsOf(t *testing.T, c *Collection, stage func(*run) error) map[string]Row {
	t.Helper()
	r := &run{c: c, o: Options{PCA: 128}}
	if err := stage(r); err != nil {
		t.Fatal(err)
	}
	out := map[string]Row{}
	for _, row := range r.rows {
		out[row.Attack] = row
	}
	return out
}

// Owners of scheme sealed reveal nothing that the cloud did not predict.
func TestRefusalsLinkNothing(t *testing.T) {
	c := synthetic(3, 60, 40)
	all := rowsOf(t, c, func(r *run) (err error) {
		if r.sealed, err = build(t.Context(), c.Train, user.Options{Scheme: cpar.SchemeSealed, PCA: 128}); err != nil {
			return err
		}
		defer r.sealed.Close()
		return r.tamper(t.Context())
	})
	if link, other := all["link-refusals"], all["refusal-unforeseen"]; link.Success != 0.5 || link.Trials != 40 || other.Success != 0 || other.Trials != 60*tamperingCount {
		t.Errorf("sealed: %+v", all)
	}
	told := make([]tampering, 40)
	for i := range told {
		told[i] = tampering{func(words []uint64) { words[0] = uint64(i) }, i > 0}
	}
	rows, err := linkRefusals(t.Context(), leaky{}.refuses, told, measure.FeaturesOf(c.Test))
	// The noise of leaky is random: 34 of 40 links were seen, and 20 are chance.
	if err != nil || rows[0].Success < 0.75 || rows[1].Success < 0.3 {
		t.Errorf("refusals that depend on photos: %+v, %v", rows, err)
	}
}

type leaky struct{}

func (leaky) refuses(_ context.Context, f *feature.Vectors, told tampering) (bool, error) {
	h := fnv.New64a()
	number := make([]uint64, 1)
	told.alter(number)
	if err := binary.Write(h, binary.LittleEndian, append([]float32{float32(number[0])}, f.RGB...)); err != nil {
		return false, err
	}
	return (h.Sum64()>>32&1 == 1) != (rand.IntN(10) == 0), nil
}

func TestOffersAreRefused(t *testing.T) {
	c := synthetic(4, 30, 4)
	all := rowsOf(t, c, func(r *run) error { return r.offers(t.Context()) })
	for attack, want := range map[string]struct {
		least int
		error string
	}{
		"rollback": {10, cpar.ErrCloud.Error()}, "rollback-fork": {1, cpar.ErrCloud.Error()}, "rollback-mixed": {10, cpar.ErrCorrupt.Error()},
		"downgrade-version": {cpar.Version, cpar.ErrVersion.Error()}, "downgrade-scheme": {6, cpar.ErrCloud.Error()},
		"downgrade-parameters": {40, cpar.ErrCorrupt.Error()},
	} {
		if r := all[attack]; r.Success != 0 || r.Trials < want.least || !strings.Contains(r.Refused, want.error) {
			t.Errorf("%s: %+v", attack, r)
		}
	}
	o := &offers{run: &run{c: c, o: Options{PCA: 128}}, folder: t.TempDir(), key: user.NewKey(cpar.Schemes()...)}
	if err := o.make(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := o.offered(t.Context(), "newer", 0, o.generations[:1], o.generations[1:2], nil); err != nil {
		t.Fatal(err)
	}
	if r := o.run.rows[0]; r.Success != 1 || r.Refused != "" {
		t.Errorf("a newer state: %+v", r)
	}
}

// Both guesses recognise an unmasked request.
func TestSealedHidesAskedCell(t *testing.T) {
	c := synthetic(5, 120, 40)
	all := rowsOf(t, c, func(r *run) error { return r.cells(t.Context()) })
	for _, attack := range []string{"cluster-by-place", "cluster-learnt"} {
		if r := all[attack]; r.Trials != 160 || r.Baseline != 0.125 || r.Success > r.Baseline+3*(r.High-r.Success) {
			t.Errorf("%+v", r)
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	p, err := lattice.Params{LogN: lattice.Fast.LogN, Dim: 8 * lattice.SlotDim(20), LogSlots: 3, Block: 32, LogT: 15, RecordNorm: 127, RequestNorm: 127, Addend: 252}.Balance()
	if err != nil {
		t.Fatal(err)
	}
	views := make([][][]float64, 40)
	for i := range views {
		for c := range p.Slots() {
			views[i] = append(views[i], append(cellSpreads(p, unmasked(p, rng, c)), 0))
		}
	}
	for _, r := range guessCells(views) {
		if r.Success < 0.95 {
			t.Errorf("not masked: %+v", r)
		}
	}
}

// unmasked returns a request with small elements in one position.
func unmasked(p lattice.Params, rng *rand.Rand, place int) []byte {
	ring, matrix := p.Ring(), make([]byte, p.MatrixBytes())
	for b := range p.Blocks() {
		w := make([]uint64, ring.N)
		for j := range w {
			w[j] = rng.Uint64N(ring.Q)
			if at := b*p.Block + j; j < p.Block && at/p.SlotDim() == place {
				w[j] /= 4
			}
		}
		ring.Evaluate(w)
		p.Scatter(matrix, w, b)
	}
	return matrix
}
