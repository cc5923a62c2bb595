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

// Options select the structures that the server searches.
type Options struct {
	// Trees is the number of trees. The constant None omits the forest.
	Trees int
	// Lists is the number of cells (groups of neighbouring records). The
	// constant None omits cells, and 0 means kmeans.DefaultCells.
	Lists int
	// Split is the space whose dimensions the forest's planes split.
	Split Split
	Place cpar.Place // whether inner nodes or leaves hold the records
	Order Order      // the encoding of split values for the server
}

// None, as a number of trees or cells, omits that structure.
const None = -1

// A Builder is an index that still holds its plaintext collection.
type Builder struct {
	*Index
	collection *index.Collection
	place      cpar.Place
	clamped    int
	forest     *kdforest.Forest // nil without a forest
	lists      *ivf.Cells       // nil without cells
	// centroids are the means of the cells. A centroid has a vector but no photo.
	centroids []index.Record
}

// SetUp builds the search structures. It reorders c so that the records of a
// cell are adjacent. It shortens vectors that are longer than any photograph's,
// so that no score can wrap modulo 2⁶⁴.
func SetUp(ctx context.Context, x *index.Index, c *index.Collection, opt Options, tell progress.Func) (*Builder, error) {
	budget, err := budgetOf(x)
	if err != nil {
		return nil, err
	}
	b := &Builder{collection: c, place: opt.Place}
	s := &ledgerPart{order: opt.Order}
	for _, r := range c.Records {
		if budget.Clamp(r.Z) {
			b.clamped++
		}
	}
	if opt.Lists != None {
		if err := b.cluster(ctx, x, s, budget.Unit(), opt.Lists, tell); err != nil {
			return nil, err
		}
	}
	for _, r := range c.Records {
		s.farthest = max(s.farthest, scorevector.SquaredNorm(r.Z))
	}
	for _, mean := range b.centroids {
		budget.Clamp(mean.Z)
		s.farthest = max(s.farthest, scorevector.SquaredNorm(mean.Z))
	}
	if opt.Trees != None {
		if err := b.buildForest(ctx, x, s, opt, tell); err != nil {
			return nil, err
		}
	}
	b.Index, err = open(x, s)
	return b, err
}

func (b *Builder) Clamped() int { return b.clamped }

// cluster divides the records into cells. It makes the records of a cell
// adjacent, because the server reads them together.
func (b *Builder) cluster(ctx context.Context, x *index.Index, s *ledgerPart, unit float64, lists int, tell progress.Func) error {
	c := b.collection
	z, histograms := c.Z(), make([][]float64, len(c.Records))
	for i, r := range c.Records {
		histograms[i] = r.Vector.KL
	}
	tell.Report("lists", 0, len(z))
	// The seed need not be secret.
	found, err := kmeans.FitPhotos(ctx, z, histograms, unit, kmeans.Options{Cells: lists, Seed: x.Secret("lists")})
	if err != nil {
		return err
	}
	b.lists = &ivf.Cells{First: found.Starts}
	b.centroids = make([]index.Record, found.Len())
	for i := range b.centroids {
		centre, histogram := found.Centroid(i, z, histograms)
		b.centroids[i] = index.Record{Z: centre, Vector: &vector.Vector{KL: histogram}}
	}
	s.lists = uint32(found.Len())
	c.Reorder(found.Order)
	tell.Report("lists", len(z), len(z))
	return nil
}

func (b *Builder) buildForest(ctx context.Context, x *index.Index, s *ledgerPart, opt Options, tell progress.Func) (err error) {
	tell.Report("forest", 0, opt.Trees)
	points := make([][]uint16, len(b.collection.Records))
	for i, r := range b.collection.Records {
		points[i] = r.Vector.Levels
	}
	if opt.Split == SplitPCA {
		if s.split, points, err = fitSplitter(ctx, points); err != nil {
			return err
		}
	}
	build := kdforest.BuildOptions{Trees: opt.Trees, Seed: x.Secret("forest")} // the seed determines the split dimensions
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

// centres returns the mean value of each field. If vectors are within the
// bounds of package scorevector, their mean is too. A midpoint of a field's
// range might not be.
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
