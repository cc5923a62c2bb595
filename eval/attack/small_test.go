package attack

import "testing"

// Tiny collections are attacked too; attacks that lack data are left out.
func TestSmallCollections(t *testing.T) {
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
