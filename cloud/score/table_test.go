package score

import (
	"math/rand/v2"
	"slices"
	"testing"

	"cpar/internal/modq"
)

func tables(t *testing.T, n, dim int) (all []*table) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	words := make([]uint64, n*dim)
	for i := range words {
		words[i] = rng.Uint64()
	}
	for _, per := range []int{n, 100, 37, 1} {
		apart, joined := &table{dim: dim}, &table{dim: dim}
		for at := 0; at < n; at += per {
			part := words[at*dim : min(at+per, n)*dim]
			apart.add(slices.Clone(part))
			joined.add(part)
		}
		if !apart.close() || !joined.close() {
			t.Fatalf("chunks of %d rows are rejected", per)
		}
		if want := (n + per - 1) / per; len(apart.chunks) != want {
			t.Fatalf("%d chunks, want %d", len(apart.chunks), want)
		}
		if len(joined.chunks) != 1 || !slices.Equal(joined.chunks[0], words) {
			t.Errorf("rows in one piece are %d chunks", len(joined.chunks))
		}
		all = append(all, apart, joined)
	}
	return all
}

func TestTablesAgreeInAnyDivision(t *testing.T) {
	const n, dim = 250, 11
	rng := rand.New(rand.NewPCG(3, 4))
	x := make([]uint64, dim)
	for i := range x {
		x[i] = rng.Uint64()
	}
	for _, tab := range tables(t, n, dim) {
		want := make([]uint64, n)
		for i := range want {
			want[i] = modq.Dot(tab.row(uint32(i)), x)
		}
		for range 200 {
			first := rng.IntN(n)
			got := make([]uint64, rng.IntN(n-first+1))
			tab.run(got, uint32(first), x)
			if !slices.Equal(got, want[first:first+len(got)]) {
				t.Fatalf("%d chunks: rows %d to %d differ", len(tab.chunks), first, first+len(got))
			}
			index := make([]uint32, rng.IntN(90))
			for i := range index {
				index[i] = uint32(rng.IntN(n))
			}
			got = make([]uint64, len(index))
			tab.gather(got, index, x)
			for i, r := range index {
				if got[i] != want[r] {
					t.Fatalf("%d chunks: row %d, requested as number %d of %d, differs", len(tab.chunks), r, i, len(index))
				}
			}
		}
	}
}

func TestBatchScoresEqualSingles(t *testing.T) {
	const n, dim = 250, 11
	rng := rand.New(rand.NewPCG(5, 6))
	for _, tab := range tables(t, n, dim) {
		for _, requests := range []int{1, 2, 8, 9, 64} {
			x := &Index{Manifest: capia(1).m, vectors: *tab, centroids: *tab}
			x.Manifest.Shift = 7
			var spaces []*Space
			for range requests {
				q := request(dim)
				for i := range q.Vector {
					q.Vector[i] = rng.Uint64()
				}
				spaces = append(spaces, &Space{index: x, q: q})
			}
			p := NewBatch(spaces)
			got, centroids := make([]int64, 240*requests), make([]int64, 240*requests)
			p.Run(5, got)
			p.Centroids(5, centroids)
			if !slices.Equal(got, centroids) {
				t.Fatalf("records and centroids have the same rows but different scores")
			}
			for k, s := range spaces {
				if want := uint64(2 * 240 * dim * 8); s.Touched() != want {
					t.Errorf("%d requests: %d bytes touched, want %d", requests, s.Touched(), want)
				}
				one, list := make([]int64, 240), make([]int64, 240)
				s.Run(5, one)
				s.Centroids(5, list)
				for i := range one {
					if got[i*requests+k] != one[i] || list[i] != one[i] || one[i] != modq.RoundShift(modq.Dot(tab.row(uint32(5+i)), s.q.Vector), 7) {
						t.Fatalf("%d requests: row %d of request %d differs", requests, 5+i, k)
					}
				}
			}
		}
	}
}
