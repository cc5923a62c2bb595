package aspe

import (
	"context"

	"cpar"
	"cpar/internal/progress"
	"cpar/ivf"
	"cpar/kdforest"
	"cpar/model/kmeans"
	"cpar/model/vector"
	"cpar/user/internal/index"
	"cpar/user/scorevector"
)

// Options say what records are searched by.
type Options struct {
	// Trees of the forest and Lists of the inverted file. None leaves that structure
	// out; 0 lists means cluster.DefaultCells.
	Trees, Lists int
	// Split is the space of the forest's planes, Place where records are.
	Split Split
	Place cpar.Place
	Order Order
}

// None, as a number of trees or lists, leaves that structure out.
const None = -1

// A Builder is an index that is being made: it knows the collection in the clear.
type Builder struct {
	*Index
	collection *index.Collection
	place      cpar.Place
	clamped    int
	forest     *kdforest.Forest // nil for an index without
	lists      *ivf.Cells       // nil for an index without
	centroids  []centroid
}

// A centroid is the mean of a list, laid out as a record that no photo is behind.
type centroid struct {
	z         []int16
	histogram []float64
}

// SetUp makes what records are searched by. The records of a list of the inverted
// file come to lie together: c is renumbered. Photos unlike any photograph are
// moved towards the baseline, so that no score can wrap.
func SetUp(ctx context.Context, x *index.Index, c *index.Collection, opt Options, tell progress.Func) (*Builder, error) {
	budget, err := budgetOf(x)
	if err != nil {
		return nil, err
	}
	b := &Builder{collection: c, place: opt.Place}
	s := &ledgerPart{order: opt.Order}
	for _, z := range c.Z {
		if budget.Clamp(z) {
			b.clamped++
		}
	}
	if opt.Lists != None {
		if err := b.cluster(ctx, x, s, budget.Unit(), opt.Lists, tell); err != nil {
			return nil, err
		}
	}
	for _, z := range c.Z {
		s.farthest = max(s.farthest, scorevector.SquaredNorm(z))
	}
	for _, mean := range b.centroids {
		budget.Clamp(mean.z)
		s.farthest = max(s.farthest, scorevector.SquaredNorm(mean.z))
	}
	if opt.Trees != None {
		if err := b.plant(ctx, x, s, opt, tell); err != nil {
			return nil, err
		}
	}
	b.Index, err = open(x, s)
	return b, err
}

// Clamped counts the records that were moved towards the baseline.
func (b *Builder) Clamped() int { return b.clamped }

// cluster divides the records into lists and renumbers them, so that a list's
// records lie together: what is read together is stored together.
func (b *Builder) cluster(ctx context.Context, x *index.Index, s *ledgerPart, unit float64, lists int, tell progress.Func) error {
	c := b.collection
	tell.Report("lists", 0, len(c.Z))
	// The seed of the first centroids need not be secret, but that costs nothing.
	found, err := kmeans.FitPhotos(ctx, c.Z, histograms(c.Vectors), unit, kmeans.Options{Cells: lists, Seed: x.Secret("lists")})
	if err != nil {
		return err
	}
	b.lists = &ivf.Cells{First: found.Starts}
	b.centroids = make([]centroid, found.Len())
	for i := range b.centroids {
		z, mean := found.Centroid(i, c.Z, histograms(c.Vectors))
		b.centroids[i] = centroid{z, mean}
	}
	s.lists = uint32(found.Len())
	c.Reorder(found.Order)
	tell.Report("lists", len(c.Z), len(c.Z))
	return nil
}

func histograms(vectors []*vector.Vector) [][]float64 {
	out := make([][]float64, len(vectors))
	for i, v := range vectors {
		out[i] = v.KL
	}
	return out
}

// plant grows the forest over the points of the records.
func (b *Builder) plant(ctx context.Context, x *index.Index, s *ledgerPart, opt Options, tell progress.Func) (err error) {
	tell.Report("forest", 0, opt.Trees)
	points := make([][]uint16, len(b.collection.Vectors))
	for i, v := range b.collection.Vectors {
		points[i] = v.Levels
	}
	if opt.Split == SplitPCA {
		if s.split, points, err = fitSplitter(ctx, points); err != nil {
			return err
		}
	}
	build := kdforest.BuildOptions{Trees: opt.Trees, Seed: x.Secret("forest")} // split dimensions are drawn from a secret
	if opt.Place == cpar.PlaceLeaf {
		build.Place = kdforest.PlaceLeaf
	}
	if b.forest, s.planes, err = kdforest.Build(points, build); err != nil {
		return err
	}
	s.trees = uint8(opt.Trees)
	s.centres = centres(points, s.fields())
	tell.Report("forest", opt.Trees, opt.Trees)
	return nil
}

// centres returns the mean value of each field. A mean of vectors that keep
// the budget of package combined keeps it too, a midpoint need not.
func centres(points [][]uint16, fields []int) []uint16 {
	c := make([]uint16, len(fields))
	for i, f := range fields {
		sum := 0
		for _, row := range points {
			sum += int(row[f])
		}
		c[i] = uint16((sum + len(points)/2) / len(points))
	}
	return c
}
