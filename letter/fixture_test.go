package letter

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// photos returns n synthetic images of m levels and bins. They lie near the
// means of groups, which differ mainly in a few coordinates.
func photos(seed uint64, n, m, bins int) []Image {
	r := rand.New(rand.NewPCG(seed, 1))
	groups := make([]Image, 6)
	for g := range groups {
		groups[g] = photo(r, nil, m, bins, 120)
	}
	out := make([]Image, n)
	for i := range out {
		g := r.IntN(len(groups))
		out[i] = photo(r, &groups[g], m, bins, 25)
		out[i].Keywords = []string{fmt.Sprintf("group %d", g), fmt.Sprintf("image %d", i%7)}
	}
	return out
}

func photo(r *rand.Rand, near *Image, m, bins int, spread float64) (p Image) {
	for i := range m {
		centre := 500.0
		if near != nil {
			centre = float64(near.Levels[i])
		}
		p.Levels = append(p.Levels, uint16(max(0, min(999, centre+spread/float64(1+i/6)*r.NormFloat64()))))
	}
	sum := 0.0
	for i := range bins {
		x := r.ExpFloat64()
		if near != nil {
			x = near.KL[i] * math.Exp(0.2*r.NormFloat64())
		}
		p.KL = append(p.KL, x+1e-3)
		sum += x + 1e-3
	}
	for i := range p.KL {
		p.KL[i] /= sum
	}
	return p
}

type small struct {
	user     *User
	cloud    *Cloud
	images   []Image
	requests []Image
}

const (
	smallN, smallM, smallBins = 120, 24, 6
	smallL                    = 10
)

func system(t testing.TB, printed Printed) small {
	t.Helper()
	return systemOf(t, smallM, printed)
}

func systemOf(t testing.TB, m int, printed Printed) small {
	t.Helper()
	images := photos(3, smallN+12, m, smallBins)
	s := small{images: images[:smallN], requests: images[smallN:]}
	var err error
	s.user, s.cloud, err = Setup(context.Background(), s.images, Options{OneKey: true, Printed: printed}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (s small) ask(t testing.TB, image Image, how Search) (encrypted, clear *Reply, m *Memory) {
	t.Helper()
	q, m, err := s.user.Request(image)
	if err != nil {
		t.Fatal(err)
	}
	if encrypted, err = s.cloud.Annotate(q, how); err != nil {
		t.Fatal(err)
	}
	return encrypted, s.inTheClear(t, m, how), m
}

func (s small) inTheClear(t testing.TB, m *Memory, how Search) *Reply {
	t.Helper()
	twin, err := s.user.Twin(s.cloud, m)
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.cloud.Search(twin, how)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// dis computes Dis of two images by definition: the L1 distance of levels in
// units of distance, and the divergence of the first from the second.
func dis(a, c Image) (l1, kl float64) {
	for i, x := range a.Levels {
		l1 += math.Abs(float64(x)-float64(c.Levels[i])) * 2 / 999
	}
	for i, x := range a.KL {
		kl += x * math.Log(x/c.KL[i])
	}
	return l1, kl
}
