package kmeans

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"reflect"
	"slices"
	"testing"

	"cpar"
	"cpar/internal/wire"
)

func mustBalance(t testing.TB, rows [][]float32, clusters, size int) *BalancedCells {
	t.Helper()
	c, err := Balance(context.Background(), rows, clusters, size, [32]byte{1})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestBalanceFillsEveryCell(t *testing.T) {
	for name, c := range map[string]struct{ n, d, groups, clusters, size int }{
		"groups":         {400, 12, 8, 8, 75},
		"lopsided":       {400, 5, 2, 8, 75},
		"no copies":      {400, 5, 3, 8, 50},
		"all in all":     {30, 4, 3, 4, 30},
		"one cluster":    {50, 4, 2, 1, 50},
		"single records": {8, 3, 8, 8, 2},
	} {
		rows := blobs(testRand(3), c.n, c.d, c.groups, 1)
		cells := mustBalance(t, rows, c.clusters, c.size)
		homes := make([]int, c.n)
		for k, records := range cells.Records {
			if len(records) != c.size || !slices.IsSorted(records) || len(slices.Compact(slices.Clone(records))) != c.size {
				t.Errorf("%s: cluster %d has the records %v", name, k, records)
			}
			for _, i := range records {
				homes[i]++
			}
		}
		if slices.Contains(homes, 0) || len(cells.Records) != c.clusters {
			t.Errorf("%s: a record is in no cluster of %d", name, len(cells.Records))
		}
		if !reflect.DeepEqual(cells, mustBalance(t, rows, c.clusters, c.size)) {
			t.Errorf("%s: the same rows and seed give other cells", name)
		}
	}
}

// With room for all, a cell's copies are the records least beyond its border.
func TestCopiesGoToTheNextNearestCell(t *testing.T) {
	rows := blobs(testRand(5), 600, 8, 30, 2)
	cells := mustBalance(t, rows, 4, 400)
	for k, records := range cells.Records {
		inside, outside := float32(0), float32(1e30)
		for i, row := range rows {
			to := make([]float32, 4)
			cells.distances(to, row)
			beyond := to[k] - slices.Min(to)
			if _, there := slices.BinarySearch(records, uint32(i)); there {
				inside = max(inside, beyond)
			} else {
				outside = min(outside, beyond)
			}
		}
		if inside > outside {
			t.Errorf("cluster %d has a record %g beyond its border and lacks one %g beyond", k, inside, outside)
		}
	}
}

func TestNearestCellHoldsTheRecord(t *testing.T) {
	rows := blobs(testRand(7), 300, 6, 8, 1)
	cells := mustBalance(t, rows, 4, 150)
	for i, row := range rows {
		if _, there := slices.BinarySearch(cells.Records[cells.Nearest(row)], uint32(i)); !there {
			t.Errorf("record %d is not in its own cluster", i)
		}
	}
	if got := (&BalancedCells{Centroids: [][]float32{{1}, {-1}}}).Nearest([]float32{0}); got != 0 {
		t.Errorf("between two centroids: %d", got)
	}
}

func TestBalanceRefuses(t *testing.T) {
	rows := blobs(testRand(1), 10, 3, 2, 1)
	for name, c := range map[string][2]int{"no cluster": {0, 5}, "no cell": {2, 0}, "too few cells": {3, 3}, "too many cells": {2, 11}, "more clusters than rows": {11, 1}} {
		if _, err := Balance(context.Background(), rows, c[0], c[1], [32]byte{}); !errors.Is(err, cpar.ErrInput) {
			t.Errorf("%s: %v", name, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Balance(ctx, rows, 2, 6, [32]byte{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func read(b []byte, n, d int) (*BalancedCells, error) {
	r := wire.NewReader(b, cpar.ErrCorrupt)
	c, err := ReadBalancedCells(r, n, d)
	if err == nil {
		err = r.Close()
	}
	return c, err
}

func TestCellsRoundTrip(t *testing.T) {
	lengths := map[int]bool{}
	for groups := range 4 {
		rows := blobs(testRand(uint64(groups)), 101, 5, groups+1, 1)
		cells := mustBalance(t, rows, 4, 38)
		b := cells.AppendBinary(nil, len(rows))
		got, err := read(b, 101, 5)
		if err != nil || !reflect.DeepEqual(got, cells) {
			t.Fatalf("read %v, %v", got, err)
		}
		lengths[len(b)] = true
	}
	if len(lengths) != 1 {
		t.Errorf("lengths %v", lengths)
	}
	good := mustBalance(t, blobs(testRand(1), 101, 5, 3, 1), 4, 38).AppendBinary(nil, 101)
	bitmaps := 16 + 4*4*5
	for name, change := range map[string]func(b []byte) []byte{
		"empty":              func(b []byte) []byte { return nil },
		"short":              func(b []byte) []byte { return b[:len(b)-1] },
		"long":               func(b []byte) []byte { return append(b, 0) },
		"other records":      func(b []byte) []byte { b[0]++; return b },
		"no cluster":         func(b []byte) []byte { b[4] = 0; return b },
		"other cells":        func(b []byte) []byte { b[8]++; return b },
		"other dimension":    func(b []byte) []byte { b[12]++; return b },
		"an infinite centre": func(b []byte) []byte { b[18], b[19] = 0x80, 0x7f; b[16], b[17] = 0, 0; return b },
		"one cell more":      func(b []byte) []byte { b[bitmaps] ^= 1; return b },
		"a record beyond":    func(b []byte) []byte { b[len(b)-1] |= 0x80; return b },
		"one cluster twice":  func(b []byte) []byte { copy(b[bitmaps:], bytes.Repeat(b[bitmaps:bitmaps+13], 4)); return b },
	} {
		if c, err := read(change(bytes.Clone(good)), 101, 5); !errors.Is(err, cpar.ErrCorrupt) {
			t.Errorf("%s: %v, %v", name, c, err)
		}
	}
}

func FuzzReadCells(f *testing.F) {
	f.Add(mustBalance(f, blobs(testRand(1), 41, 3, 3, 1), 4, 16).AppendBinary(nil, 41), uint16(41), uint8(3))
	f.Add([]byte{1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1}, uint16(1), uint8(0))
	f.Fuzz(func(t *testing.T, b []byte, n uint16, d uint8) {
		c, err := read(b, int(n), int(d))
		if err != nil {
			if !errors.Is(err, cpar.ErrCorrupt) {
				t.Error(err)
			}
			return
		}
		if again := c.AppendBinary(nil, int(n)); !bytes.Equal(again, b) {
			t.Errorf("%x was read, %x is written", b, again)
		}
	})
}

// TestEnoughCellsHoldNeighbours compares with a count over all rows and cells.
func TestEnoughCellsHoldNeighbours(t *testing.T) {
	rows := blobs(testRand(5), 300, 6, 3, 1)
	cells := mustBalance(t, rows, 8, 65)
	found := make([]float64, 9) // by the number of cells
	for i, row := range rows {
		others := make([]uint32, 0, len(rows))
		for j := range rows {
			if j != i {
				others = append(others, uint32(j))
			}
		}
		slices.SortFunc(others, func(a, b uint32) int {
			return cmp.Compare(squaredL2(rows[a], row), squaredL2(rows[b], row))
		})
		for asked := 1; asked <= 8; asked++ {
			for _, o := range others[:20] {
				if slices.ContainsFunc(cells.Order(row)[:asked], func(c int) bool { return slices.Contains(cells.Records[c], o) }) {
					found[asked] += 1. / 20 / 300
				}
			}
		}
	}
	for _, share := range []float64{0.5, 0.7, 0.9, 0.95, 1} {
		asked, err := cells.Enough(t.Context(), rows, rows, 20, share)
		if err != nil || found[asked] < share-1e-9 && asked < 8 || asked > 1 && found[asked-1] >= share {
			t.Errorf("%d cells hold %.0f %%, %v; by number of cells: %.3f", asked, 100*share, err, found)
		}
	}
}

// A sample of the rows gives the number of cells that all rows need, for
// queries that are no rows.
func TestEnoughCountsNeighboursAmongAllRows(t *testing.T) {
	const side, neighbours = 8, 100
	r := testRand(33)
	point := func() []float32 { return []float32{r.Float32(), r.Float32()} }
	rows, queries := make([][]float32, 3*sampled), make([][]float32, 60)
	for i := range rows {
		rows[i] = point()
	}
	for i := range queries {
		queries[i] = point()
	}
	cells := &BalancedCells{}
	for i := range side * side {
		cells.Centroids = append(cells.Centroids, []float32{(float32(i%side) + 0.5) / side, (float32(i/side) + 0.5) / side})
	}
	cells.fill(rows, len(rows)*11/10/len(cells.Centroids))
	near, err := nearest(t.Context(), rows, queries, neighbours)
	if err != nil {
		t.Fatal(err)
	}
	share := float64(cells.countFound(queries, near, 1)) / float64(neighbours*len(queries))
	for by, want := range map[float64]int{-0.03: 1, 0.03: 2} {
		if got, err := cells.Enough(t.Context(), rows, queries, neighbours, share+by); err != nil || got != want {
			t.Errorf("one cell holds %.3f of the neighbours, and %d are said to hold %.3f; %v", share, got, share+by, err)
		}
	}
}
