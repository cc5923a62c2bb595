package attack

import (
	"context"
	"errors"
	"slices"
	"testing"

	"cpar"
)

// On a small collection every attack succeeds as SECURITY.md says.
func TestAttacks(t *testing.T) {
	c := synthetic(1, 500, 120)
	rows, err := Run(t.Context(), c, Options{PCA: 128, More: []*Target{opaque(len(c.Train))}})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if r.Estimate == nil && !(0 <= r.Low && r.Low <= r.Success && r.Success <= r.High && r.High <= 1 && r.Trials > 0 && r.Baseline < 1) {
			t.Errorf("%s on %s: %+v", r.Attack, r.Scheme, r)
		}
	}
	const cpar, capia, ivf = "cpar", "capia", "ivf"
	for _, want := range []struct {
		attack, scheme string
		known          int
		least, most    float64
	}{
		{"link-order", cpar, 0, 0.93, 1}, {"link-scores", cpar, 0, 0.93, 1}, {"link-path", cpar, 0, 0.9, 1},
		{"link-scores", capia, 0, 0.93, 1}, {"link-scores-changed-copy", capia, 0, 0.88, 1},
		{"link-scores", ivf, 0, 0.93, 1}, {"request-by-vectors", ivf, 10, 0.93, 1}, {"match", ivf, 120, 0.75, 1},
		{"link-order-changed-copy", cpar, 0, 0.88, 1}, {"link-path-changed-copy", cpar, 0, 0.55, 1},
		// These improve with more known photos.
		{"request-by-vectors", cpar, 3, 0.8, 1}, {"request-by-vectors", capia, 10, 0.93, 1},
		{"request-by-photos", cpar, 3, 0, 0.45}, {"request-by-photos", cpar, 10, 0.35, 1},
		{"request-by-photos", cpar, 30, 0.8, 1}, {"request-by-photos", capia, 300, 0.88, 1},
		// With some keys, matching stops early. Most runs exceed 0.75.
		{"match", cpar, 30, 0, 1}, {"match", cpar, 120, 0.75, 1}, {"match", capia, 120, 0.75, 1}, {"match-half", cpar, 120, 0.4, 1},
		// Only similar scores reveal keywords, return counts do not.
		{"keyword-by-returns", cpar, 120, 0.4, 0.8}, {"keyword-by-likeness", cpar, 100, 0.7, 1}, {"keyword-by-likeness", capia, 100, 0.7, 1},
		// The number of splits reveals nothing, requests reveal more, planes
		// everything.
		{"spacing-ranks", cpar, 0, 0.35, 0.65}, {"spacing-ranks-requests", cpar, 120, 0.52, 0.95}, {"spacing-ope", cpar, 0, 0.65, 1},
		{"spacing-planes", cpar, 1, 1, 1}, {"spacing-planes-exact", cpar, 1, 1, 1},
		{"scale-planes", cpar, 20, 1, 1}, {"scale-scores", cpar, 0, 0.01, 0.8},
		// Slopes improve with other photos and more requests.
		{"scale-slopes", cpar, 2, 0.01, 0.4}, {"scale-slopes-log", cpar, 2, 0.6, 1}, {"scale-slopes", capia, 3, 0.7, 1},
		{"scale-slopes-log", capia, 3, 0.85, 1}, {"scale-slopes", cpar, 5, 0.93, 1}, {"offset-slopes", cpar, 5, 0.75, 1},
		{"key-elimination-noiseless", cpar, 64, 1, 1}, {"key-elimination", cpar, 64, 0, 0},
	} {
		// The limits allow for fresh keys and noise.
		if r := row(t, rows, want.attack, want.scheme, want.known); r.Success < want.least || r.Success > want.most {
			t.Errorf("%s on %s, %d known: success %.3f (guessing %.3f), want %.2f to %.2f", r.Attack, r.Scheme, r.Known, r.Success, r.Baseline, want.least, want.most)
		}
	}
	for _, want := range []struct {
		attack, scheme string
		known          int
		least, most    float64
	}{
		{"link-scores", capia, 0, 0.93, 1}, {"request-by-vectors", capia, 10, 0.5, 1}, {"match-by-its-keywords", capia, 120, 0, 1},
		// Cross-validation chooses the number of known vectors.
		{"request-by-own-projection", capia, 100, 0.02, 1}, {"request-solved", capia, -1, 0.9, 1}, {"key-by-scores", capia, -1, 0.9, 1},
		{"link-scores", "sealed", 0, 0.3, 0.65}, {"request-by-vectors", "sealed", 30, 0, 0.05},
	} {
		if r := profileRow(t, rows, want.attack, want.scheme, "learned", want.known); r.Success < want.least || r.Success > want.most {
			t.Errorf("%s on %s, profile learned, %d known: %+v, want %.2f to %.2f", want.attack, want.scheme, want.known, r, want.least, want.most)
		}
	}
	// No attack may appear to work on schemes whose words look random. Many
	// rows call for three half-widths of a 95 % interval.
	tried := map[string]int{}
	of := map[string]bool{} // attacks on any scheme
	for _, r := range rows {
		of[r.Attack] = of[r.Attack] || r.Scheme == "opaque"
	}
	for _, r := range rows {
		if r.Scheme != "opaque" && r.Scheme != "sealed" {
			continue
		}
		if r.Profile == "paper" && of[r.Attack] {
			tried[r.Scheme]++
		}
		if most := r.Baseline + 3*(r.High-r.Success); r.Success > most {
			t.Errorf("%s learns something about %s: %+v", r.Attack, r.Scheme, r)
		}
	}
	for _, attack := range []string{"link-refusals", "refusal-unforeseen", "cluster-by-place", "cluster-learnt", "rollback", "rollback-fork", "rollback-mixed",
		"downgrade-version", "downgrade-scheme", "downgrade-parameters"} {
		if !slices.ContainsFunc(rows, func(r Row) bool { return r.Attack == attack && r.Scheme == "sealed" }) {
			t.Errorf("%s was not tried", attack)
		}
	}
	if tried["opaque"] < 10 || tried["sealed"] != tried["opaque"] {
		t.Errorf("attacks tried: %v", tried)
	}
}

func TestRunRefuses(t *testing.T) {
	if _, err := Run(t.Context(), &Collection{Train: synthetic(1, 1, 9).Train}, Options{}); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("one image: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, synthetic(1, 20, 9), Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}

func TestRunOnTinyCollections(t *testing.T) {
	for _, n := range [][2]int{{2, 4}, {7, 5}, {40, 9}} {
		rows, err := Run(t.Context(), synthetic(2, n[0], n[1]), Options{PCA: 128, More: []*Target{opaque(n[0])}})
		if err != nil {
			t.Errorf("%d and %d images: %v", n[0], n[1], err)
			continue
		}
		if r := row(t, rows, "link-scores", "cpar", 0); r.Trials != n[1]/2*2 {
			t.Errorf("%d images asked about: %+v", n[1], r)
		}
		for _, r := range rows {
			if r.Attack == "request-by-vectors" && r.Known > n[0] {
				t.Errorf("%d known of %d: %+v", r.Known, n[0], r)
			}
		}
	}
}
