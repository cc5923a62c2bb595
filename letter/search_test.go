package letter

import (
	"math"
	"slices"
	"testing"
)

// Only images within ε may change order.
func TestEncryptedSearchEqualsPlainSearch(t *testing.T) {
	s := system(t, Printed{})
	places, same := 0, 0
	for _, ap := range []float64{0.1, 0.3, 1} {
		for _, image := range s.requests {
			got, want, _ := s.ask(t, image, Search{L: smallL, AP: ap})
			if !slices.Equal(got.Stats.Order, want.Stats.Order) {
				t.Fatalf("AP %g visits %v, in the clear %v", ap, got.Stats.Order, want.Stats.Order)
			}
			// Line 17 stops at the first image beyond AP-X.
			if n := min(smallN, int(ap*smallN)+1); got.Stats.Visited != n {
				t.Errorf("AP %g visits %d of %d, want %d", ap, got.Stats.Visited, smallN, n)
			}
			for i, x := range got.Images {
				places++
				if x == want.Images[i] {
					same++
				}
			}
		}
	}
	t.Logf("%d of %d places agree", same, places)
	if float64(same) < 0.98*float64(places) {
		t.Errorf("%d of %d places agree", same, places)
	}
}

// AP-100 finds the ten nearest by the squared distance of approximated vectors
// exactly.
func TestAllImagesAtAP100(t *testing.T) {
	s := system(t, Printed{})
	for _, image := range s.requests {
		_, clear, m := s.ask(t, image, Search{L: smallL, AP: 1})
		if clear.Stats.Visited != smallN {
			t.Fatalf("%d images visited of %d", clear.Stats.Visited, smallN)
		}
		brute := make([]float64, smallN)
		for i, x := range s.user.images {
			_, kl := dis(s.images[i], image)
			brute[i] = kl
			for j, v := range x.L1 {
				brute[i] += (v - m.image.L1[j]) * (v - m.image.L1[j])
			}
		}
		sorted := slices.Sorted(slices.Values(brute))
		for i, x := range clear.Images {
			if math.Abs(brute[x]-sorted[i]) > 1e-9 {
				t.Fatalf("place %d: image %d at %g, the nearest is at %g", i, x, brute[x], sorted[i])
			}
			if got := s.user.Dis(clear.Comp[i], m); math.Abs(got-sorted[i]) > 1e-6 {
				t.Fatalf("Dis is %g, want %g", got, sorted[i])
			}
		}
	}
}

func TestTreesInParallel(t *testing.T) {
	s := system(t, Printed{})
	for _, image := range s.requests {
		q, _, err := s.user.Request(image)
		if err != nil {
			t.Fatal(err)
		}
		one, err := s.cloud.Annotate(q, Search{L: smallL, AP: 1})
		if err != nil {
			t.Fatal(err)
		}
		all, err := s.cloud.Annotate(q, Search{L: smallL, AP: 1, Parallel: true})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(one.Images, all.Images) || all.Stats.Visited != smallN {
			t.Errorf("in turn %v, at once %v", one.Images, all.Images)
		}
	}
}

func TestRequestKeysFindTheSame(t *testing.T) {
	s := system(t, Printed{})
	s.user.opt.OneKey, s.cloud.SS = false, nil
	for _, image := range s.requests[:3] {
		got, want, _ := s.ask(t, image, Search{L: smallL, AP: 1})
		same := 0
		for i, x := range got.Images {
			if x == want.Images[i] {
				same++
			}
		}
		if same < smallL-2 {
			t.Errorf("%v, in the clear %v", got.Images, want.Images)
		}
	}
}

func TestSelect(t *testing.T) {
	s := system(t, Printed{})
	right := 0
	for _, image := range s.requests {
		reply, _, m := s.ask(t, image, Search{L: smallL, AP: 1})
		words, err := s.user.Select(reply, m)
		if err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		for _, w := range words {
			sum += w.Weight
		}
		// Each image has two keywords, and ΣW = L − 1.
		if math.Abs(sum-2*(smallL-1)) > 1e-9 {
			t.Errorf("weights add up to %g", sum)
		}
		if words[0].Keyword == image.Keywords[0] {
			right++
		}
	}
	if right < len(s.requests)-1 {
		t.Errorf("%d of %d requests get their group's word first", right, len(s.requests))
	}
	reply, _, m := s.ask(t, s.requests[0], Search{L: smallL, AP: 1})
	reply.Keywords[0] = slices.Clone(reply.Keywords[0])
	reply.Keywords[0][3] ^= 1
	if _, err := s.user.Select(reply, m); err == nil {
		t.Error("altered keywords pass")
	}
}
