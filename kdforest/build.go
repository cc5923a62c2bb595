package kdforest

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
)

// BuildOptions configure how trees grow. The zero value gave the highest recall
// (see the table in doc.go). Top 5, DrawEvenly and SplitMedian together give
// the forest of Silpa-Anan and Hartley, which package letter uses.
type BuildOptions struct {
	Trees  int // 0 means 10
	Top    int // number of most variable dimensions to draw from, 0 means 10
	Sample int // maximum number of records for estimating a node's variances, 0 means 100
	Draw   Draw
	Split  Split
	Place  Place

	// Seed is the only source of randomness. Equal rows, options and seeds give
	// equal forests on every machine. The seed must be secret if the split
	// dimensions are secret.
	Seed [32]byte
}

// Draw selects a split dimension among the most variable ones.
type Draw uint8

const (
	// DrawByVariance draws with probability proportional to variance, so that a
	// large Top wastes few splits on uninformative dimensions.
	DrawByVariance Draw = iota
	DrawEvenly
)

// Split selects the value at which a node splits.
type Split uint8

const (
	// SplitMean splits at the value nearest the mean, as FLANN does. Each side
	// gets at least an eighth of the records, so the depth is logarithmic.
	// Equal values may prevent this.
	SplitMean Split = iota
	// SplitMedian splits as evenly as equal values permit.
	SplitMedian
)

// Place selects the nodes that hold records.
type Place uint8

const (
	// PlaceNode puts a record at every node and splits at the record's value,
	// as Bentley and the paper do. A tree has n nodes.
	PlaceNode Place = iota
	// PlaceLeaf puts one record in each leaf and splits between values, as
	// FLANN does. A tree has 2n−1 nodes.
	PlaceLeaf
)

// Build grows a forest over `rows`, an n×d matrix of finite numbers. It returns
// the forest and its planes, without duplicates and in ascending order of
// (dimension, value). Errors wrap ErrInput.
//
// Trees grow in parallel, in time O(trees·n·log n·(d + log n)).
func Build[T Number](rows [][]T, opt BuildOptions) (*Forest, []Plane[T], error) {
	opt = opt.withDefaults()
	if err := opt.check(); err != nil {
		return nil, nil, err
	}
	if err := checkRows(rows); err != nil {
		return nil, nil, err
	}
	trees := make([]Tree, opt.Trees)
	planes := make([][]Plane[T], opt.Trees) // planes[t][i] is the plane of node i of tree t
	gate := make(chan struct{}, runtime.GOMAXPROCS(0))
	var wait sync.WaitGroup
	for t := range trees {
		wait.Go(func() {
			gate <- struct{}{}
			defer func() { <-gate }()
			g := newGrower(rows, opt, t)
			g.grow()
			trees[t], planes[t] = g.tree, g.planes
		})
	}
	wait.Wait()

	all := number(trees, planes)
	return &Forest{Records: uint32(len(rows)), Planes: uint32(len(all)), Trees: trees}, all, nil
}

func (opt BuildOptions) withDefaults() BuildOptions {
	opt.Trees = cmp.Or(opt.Trees, 10)
	opt.Top = cmp.Or(opt.Top, 10)
	opt.Sample = cmp.Or(opt.Sample, 100)
	return opt
}

func checkRows[T Number](rows [][]T) error {
	if uint64(len(rows)) >= uint64(None) {
		return fmt.Errorf("%w: %d rows, which is too many", ErrInput, len(rows))
	}
	for i, row := range rows {
		if len(row) != len(rows[0]) {
			return fmt.Errorf("%w: row %d has %d dimensions, but row 0 has %d", ErrInput, i, len(row), len(rows[0]))
		}
		for j, x := range row {
			if x-x != 0 { // x is NaN or ±Inf
				return fmt.Errorf("%w: row %d, dimension %d: %v is not finite", ErrInput, i, j, x)
			}
		}
	}
	if len(rows) > 0 && len(rows[0]) == 0 {
		return fmt.Errorf("%w: rows have no dimensions", ErrInput)
	}
	return nil
}

func (opt BuildOptions) check() error {
	if opt.Trees < 1 || opt.Top < 1 || opt.Sample < 2 {
		return fmt.Errorf("%w: building %d trees, splitting on the %d best dimensions of %d records",
			ErrInput, opt.Trees, opt.Top, opt.Sample)
	}
	if opt.Draw > DrawEvenly || opt.Split > SplitMedian || opt.Place > PlaceLeaf {
		return fmt.Errorf("%w: building with draw %d, split %d, place %d", ErrInput, opt.Draw, opt.Split, opt.Place)
	}
	return nil
}

// number collects the planes of all trees, removes duplicates, and writes their
// numbers into the nodes.
func number[T Number](trees []Tree, planes [][]Plane[T]) []Plane[T] {
	var all []Plane[T]
	for t, tree := range trees {
		for i := range tree {
			if planes[t][i].Dim >= 0 {
				all = append(all, planes[t][i])
			}
		}
	}
	slices.SortFunc(all, comparePlanes)
	all = slices.Clip(slices.Compact(all))
	for t, tree := range trees {
		for i := range tree {
			if planes[t][i].Dim >= 0 {
				p, _ := slices.BinarySearchFunc(all, planes[t][i], comparePlanes)
				tree[i].Plane = uint32(p)
			}
		}
	}
	return all
}

func comparePlanes[T Number](a, b Plane[T]) int {
	return cmp.Or(cmp.Compare(a.Dim, b.Dim), cmp.Compare(a.Value, b.Value))
}

// newRand returns a separate generator for each tree, so that the order in
// which trees grow does not matter.
func newRand(seed [32]byte, tree int) *rand.Rand {
	h := sha256.New()
	h.Write([]byte("cpar kdforest tree\x00"))
	h.Write(seed[:])
	h.Write(binary.LittleEndian.AppendUint64(nil, uint64(tree)))
	return rand.New(rand.NewChaCha8([32]byte(h.Sum(nil))))
}
