package letter

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"testing"

	"cpar/model/embed"
	"cpar/model/vectorlayout"
	"cpar/user/ive"
	"cpar/user/scorevector"
)

// TestSameNeighboursAsTheFastSystem: the product's single vector, folded
// request and scan find the same images as three keys, unfolded requests and
// Algorithm 1, up to both ε. Only images whose distances differ by less may
// swap.
func TestSameNeighboursAsTheFastSystem(t *testing.T) {
	s := systemOf(t, 150, Printed{})
	layout := vectorlayout.L1KL(s.user.embed.MHat(), smallBins, 999)
	budget, err := scorevector.NewLargestScale(layout)
	if err != nil {
		t.Fatal(err)
	}
	key, err := ive.NewKey([32]byte{1}, budget.Cipher())
	if err != nil {
		t.Fatal(err)
	}
	noise := ive.NewNoise([32]byte{2})
	farthest := int64(0)
	var z [][]int16
	for _, image := range s.images {
		x := mustEmbed(t, s.user.embed, image)
		z = append(z, x)
		farthest = max(farthest, scorevector.SquaredNorm(x))
	}
	records := make([][]uint64, len(z))
	for i := range z {
		plain := make([]int64, budget.Dim())
		records[i] = make([]uint64, budget.Dim())
		if err := errors.Join(budget.Record(plain, z[i], s.images[i].KL, noise.Epsilon()),
			key.EncryptRecord(records[i], plain, noise, budget.NoiselessSlot())); err != nil {
			t.Fatal(err)
		}
	}
	same, places := 0, 0
	for _, image := range s.requests {
		reply, _, m := s.ask(t, image, Search{L: smallL, AP: 1})
		rs := noise.Scale()
		plain, q := make([]int64, budget.Dim()), make([]uint64, budget.Dim())
		if err := errors.Join(budget.Request(plain, mustEmbed(t, s.user.embed, image), image.KL, rs, farthest),
			key.EncryptRequest(q, plain, noise)); err != nil {
			t.Fatal(err)
		}
		distances, order := make([]float64, len(records)), make([]int, len(records))
		for i, c := range records {
			distances[i], order[i] = budget.Dis(budget.Cipher().Score(c, q), rs), i
		}
		slices.SortFunc(order, func(a, b int) int { return cmp.Compare(distances[a], distances[b]) })
		for i, x := range reply.Images {
			places++
			if x == order[i] {
				same++
			}
			// The bound allows for 3ε/r_s on both sides and for rounded
			// histograms.
			if got := s.user.Dis(reply.Comp[i], m); math.Abs(got-distances[x]) > 1e-3 {
				t.Errorf("image %d is at %g, in the fast system at %g", x, got, distances[x])
			}
			if math.Abs(distances[x]-distances[order[i]]) > 1e-3 {
				t.Errorf("place %d: image %d, in the fast system %d", i, x, order[i])
			}
		}
	}
	t.Logf("%d of %d places agree", same, places)
	if float64(same) < 0.97*float64(places) {
		t.Errorf("%d of %d places agree", same, places)
	}
}

func mustEmbed(t *testing.T, p *embed.Projection, image Image) []int16 {
	t.Helper()
	z, err := p.Embed(image.Levels)
	if err != nil {
		t.Fatal(err)
	}
	return z
}
