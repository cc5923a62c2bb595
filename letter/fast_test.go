package letter

import (
	"errors"
	"math"
	"slices"
	"testing"

	"cpar/eval/measure"
	"cpar/internal/testing/oracle"
	"cpar/kdforest"
	"cpar/model/embed"
	"cpar/model/vectorlayout"
	"cpar/photo/dataset"
	"cpar/user"
	"cpar/user/ive"
	"cpar/user/scorevector"
)

// A fastSystem is the product's side of a comparison: its single vector for
// both distances and its folded request, encrypted, over letter's trees. It
// has no ε, so that its order is letter's order in the clear. Only the noise e
// is left, which changes a distance by less than 10⁻⁴.
type fastSystem struct {
	s       small
	budget  *scorevector.Budget
	key     *ive.Key
	noise   *ive.Noise
	records [][]uint64
	largest int64 // Σz² of the farthest record
	forest  *kdforest.Forest
	nodes   []*Node // by plane
}

func fastSystemOf(t *testing.T, s small) *fastSystem {
	t.Helper()
	f := &fastSystem{s: s, noise: ive.NewNoise([32]byte{2})}
	var err error
	if f.budget, err = scorevector.NewLargestScale(vectorlayout.L1KL(s.user.embed.MHat(), s.user.KL.M, beta)); err != nil {
		t.Fatal(err)
	}
	if f.key, err = ive.NewKey([32]byte{1}, f.budget.Cipher()); err != nil {
		t.Fatal(err)
	}
	for _, image := range s.images {
		z := mustEmbed(t, s.user.embed, image)
		f.largest = max(f.largest, scorevector.SquaredNorm(z))
		plain, record := make([]int64, f.budget.Dim()), make([]uint64, f.budget.Dim())
		if err := errors.Join(f.budget.Record(plain, z, image.KL, 0),
			f.key.EncryptRecord(record, plain, f.noise, f.budget.NoiselessSlot())); err != nil {
			t.Fatal(err)
		}
		f.records = append(f.records, record)
	}
	f.forest = &kdforest.Forest{Records: uint32(len(s.images))}
	for _, nodes := range s.cloud.Trees {
		tree := make(kdforest.Tree, len(nodes))
		for k := range nodes {
			n := &nodes[k]
			tree[k] = kdforest.Node{Record: uint32(n.Image), Plane: kdforest.None, Left: uint32(n.Left), Right: uint32(n.Right)} // none becomes None
			if n.CH1 != nil {
				tree[k].Plane = uint32(len(f.nodes))
				f.nodes = append(f.nodes, n)
			}
		}
		f.forest.Trees = append(f.forest.Trees, tree)
	}
	f.forest.Planes = uint32(len(f.nodes))
	if err := f.forest.Validate(); err != nil {
		t.Fatal(err)
	}
	return f
}

// A fastRequest is one request to a fastSystem. It implements kdforest.Space.
type fastRequest struct {
	*fastSystem
	scale int64
	q     []uint64
	order []uint64 // OPE(V_s[sf_j]), as letter sends it
}

func (f *fastSystem) request(t *testing.T, image Image, order []uint64) *fastRequest {
	t.Helper()
	r := &fastRequest{f, f.noise.Scale(), make([]uint64, f.budget.Dim()), order}
	plain := make([]int64, f.budget.Dim())
	if err := errors.Join(f.budget.Request(plain, mustEmbed(t, f.s.user.embed, image), image.KL, r.scale, f.largest),
		f.key.EncryptRequest(r.q, plain, f.noise)); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *fastRequest) Left(plane uint32) bool {
	n := r.nodes[plane]
	return r.order[n.Field] <= n.OPE
}

func (r *fastRequest) Beyond(uint32, int64) bool { return false }

func (r *fastRequest) Score(records []uint32, scores []int64) {
	for i, k := range records {
		scores[i] = r.budget.Cipher().Score(r.records[k], r.q)
	}
}

func (r *fastRequest) dis(image int) float64 {
	return r.budget.Dis(r.budget.Cipher().Score(r.records[image], r.q), r.scale)
}

// TestSameNeighboursAsTheFastSystem checks that the product's single vector,
// folded request and search find the same images in the same order as three
// keys, unfolded requests and Algorithm 1. With ε, images whose distances
// differ by less may swap.
func TestSameNeighboursAsTheFastSystem(t *testing.T) {
	sameNeighbours(t, systemOf(t, 150, Printed{}), []int{1000})
}

// TestSameNeighboursOnPhotographs compares both systems at every AP-X that the
// paper measures. 2.5 % of 411 images is the smallest share above ten. No AP-X
// is a whole number of images, so that line 17 (the first image beyond AP-X)
// and the product (AP-X rounded up) mean the same number of visits.
func TestSameNeighboursOnPhotographs(t *testing.T) {
	const n, requests = 411, 12
	images := photographs(t, n+requests)
	s := small{images: images[:n], requests: images[n:]}
	var err error
	// A quarter of the paper's m̂ makes keys 64 times as fast.
	s.user, s.cloud, err = Setup(t.Context(), s.images, Options{OneKey: true, Alpha: 0.25}, nil)
	if err != nil {
		t.Fatal(err)
	}
	sameNeighbours(t, s, []int{25, 50, 100, 200, 1000})
}

func sameNeighbours(t *testing.T, s small, tenths []int) {
	t.Helper()
	fast := fastSystemOf(t, s)
	for _, x := range tenths {
		how := Search{L: smallL, AP: float64(x) / 1000}
		visits, err := kdforest.Visits(x, len(s.images), smallL)
		if err != nil {
			t.Fatal(err)
		}
		same, places := 0, 0
		for i, image := range s.requests {
			q, m, err := s.user.Request(image)
			if err != nil {
				t.Fatal(err)
			}
			reply, err := s.cloud.Annotate(q, how)
			if err != nil {
				t.Fatal(err)
			}
			clear := s.inTheClear(t, m, how)
			r := fast.request(t, image, q.OPE)
			var order, images []int
			hits, _, err := fast.forest.Search(r, kdforest.Options{Visits: visits, L: smallL,
				Trace: func(v kdforest.Visit) { order = append(order, int(v.Record)) }})
			if err != nil {
				t.Fatal(err)
			}
			for _, hit := range hits {
				images = append(images, int(hit.Record))
			}
			// At AP-100, a plane that prunes changes the order, but not the
			// result.
			if x < 1000 && !slices.Equal(order, reply.Stats.Order) {
				t.Fatalf("AP-%g, request %d visits %v, in the fast system %v", 100*how.AP, i, reply.Stats.Order, order)
			}
			if reply.Stats.Visited != visits {
				t.Errorf("AP-%g, request %d: %d visits, in the fast system %d", 100*how.AP, i, reply.Stats.Visited, visits)
			}
			for k, image := range clear.Images {
				if gap := math.Abs(r.dis(image) - r.dis(images[k])); gap > 1e-4 {
					t.Errorf("AP-%g, request %d, place %d: image %d, in the fast system %d, which is %g from it", 100*how.AP, i, k, image, images[k], gap)
				}
			}
			for k, image := range reply.Images {
				places++
				if image == images[k] {
					same++
				}
				if got := s.user.Dis(reply.Comp[k], m); math.Abs(got-r.dis(image)) > 1e-3 {
					t.Errorf("image %d is at %g, in the fast system at %g", image, got, r.dis(image))
				}
				if math.Abs(r.dis(image)-r.dis(images[k])) > 1e-3 {
					t.Errorf("AP-%g, place %d: image %d, in the fast system %d", 100*how.AP, k, image, images[k])
				}
			}
		}
		t.Logf("AP-%g: with ε, %d of %d places agree", 100*how.AP, same, places)
		if float64(same) < 0.97*float64(places) {
			t.Errorf("AP-%g: with ε, %d of %d places agree", 100*how.AP, same, places)
		}
	}
}

// photographs returns the vectors of photographs of Corel-5k, with the bins of
// histograms raised as in the product.
func photographs(t *testing.T, n int) []Image {
	t.Helper()
	c, err := dataset.Open(t.Context(), oracle.Path(t, "data/corel5k"), dataset.Options{})
	if err != nil {
		t.Fatal(err)
	}
	photos, _, err := user.ReadPhotos(t.Context(), c.Photos[:n], user.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	vectors, _, err := measure.PlainVectors(&measure.Corpus{Train: photos}, 32)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]Image, n)
	for i, v := range vectors {
		out[i] = Image{Levels: v.Levels, KL: v.KL, Keywords: photos[i].Keywords}
	}
	return out
}

func mustEmbed(t *testing.T, p *embed.Projection, image Image) []int16 {
	t.Helper()
	z, err := p.Embed(image.Levels)
	if err != nil {
		t.Fatal(err)
	}
	return z
}
