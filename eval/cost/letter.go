package cost

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"cpar/eval/measure"
	"cpar/internal/paper"
	"cpar/letter"
	"cpar/model/vector"
	"cpar/user"
	"cpar/user/scorevector"
)

// DefaultLiteralN is small, because a request to the literal index takes
// seconds.
const DefaultLiteralN = 300

const (
	letterRequests = 5
	letterL        = 10
	letterPCA      = 32
)

// A Letter is the cost of the literal implementation of the paper (package
// letter), from building an index to reading replies.
type Letter struct {
	Boxes []LetterBox `json:"boxes"`
	// Place is the share of ranks at which the encrypted and the plaintext search
	// return the same record, over all requests at AP-10 and AP-100 (10 and 100
	// percent of the records visited).
	Place float64 `json:"place_agreement"`
	// Pruned is the number of sides that the search skipped.
	Pruned int `json:"pruned_planes"`
	// Planes is the number of comparisons with hyperplanes (the paper's type-2)
	// while Queue is full.
	Planes int `json:"planes"`
	// Farthest holds the largest distances of all test images from hyperplanes
	// of the index, as shares of the distance of the tenth neighbour.
	Farthest FarthestPlane `json:"farthest_plane"`
}

// A FarthestPlane holds shares for planes that split a level and a bin.
type FarthestPlane struct {
	L1 float64 `json:"l1"`
	KL float64 `json:"kl"`
}

// A LetterBox is the cost of one operation of a box (a figure of the paper with
// an algorithm) as printed, or of the operation that replaces it in the
// product.
type LetterBox struct {
	Box      string `json:"box"`
	Elements int    `json:"elements"` // elements of the resulting ciphertexts
	Bytes    int    `json:"bytes"`
	// Dot is the number of inner products counted during the operation.
	Dot int64 `json:"dot"`
	// DotPaper is this number by the paper's formulas, or nil.
	DotPaper *int64 `json:"dot_paper"`
	// MS is the median time in milliseconds. MSPaper is the paper's time, or
	// nil.
	MS      float64  `json:"ms"`
	MSPaper *float64 `json:"ms_paper"`
}

func LetterStep(ctx context.Context, r *measure.Run, m measure.Measurement) (measure.Result, error) {
	return measure.OneStep(ctx, r, m.Name, r.LiteralN, measure.WithCorpus(r, func(ctx context.Context, c *measure.Corpus, progress user.Progress) (*Letter, error) {
		return MeasureLetter(ctx, c, r.LiteralN, r.LiteralAlpha, progress)
	}))
}

// MeasureLetter builds a literal index, sends a few requests and measures every
// box. `alpha` is the paper's α, or 0 for its default value.
func MeasureLetter(ctx context.Context, c *measure.Corpus, n int, alpha float64, progress user.Progress) (*Letter, error) {
	few := *c
	few.Train = c.Train[:min(n, len(c.Train))]
	train, test, err := measure.PlainVectors(&few, letterPCA)
	if err != nil {
		return nil, err
	}
	images := letterImages(train, few.Train)
	progress.Report("keys", 0, 1)
	u, cloud, err := letter.Setup(ctx, images, letter.Options{OneKey: true, Alpha: alpha, Secret: [32]byte{'l'}}, progress)
	if err != nil {
		return nil, err
	}
	l := new(Letter)
	x := &letterCosts{ctx: ctx, user: u, cloud: cloud, images: images, out: l}
	all := letterImages(test, few.Test)
	var requests []letter.Image
	for k := range min(letterRequests, len(all)) {
		requests = append(requests, all[measure.SampleAt(k, min(letterRequests, len(all)), len(all))])
	}
	if err := x.search(requests, progress); err != nil {
		return nil, err
	}
	if err := x.farthestPlane(all, progress); err != nil {
		return nil, err
	}
	if err := x.boxes(requests[0]); err != nil {
		return nil, err
	}
	return l, x.product()
}

// letterImages returns the vectors of images in the paper's form: histograms
// have empty bins, which the product raises.
func letterImages(vectors []measure.Unquantized, images []user.Photo) []letter.Image {
	out := make([]letter.Image, len(vectors))
	for i, v := range vectors {
		out[i] = letter.Image{Levels: v.Levels, KL: vector.NormaliseL1(measure.ToFloat64s(images[i].Vectors.Lab)), Keywords: images[i].Keywords}
	}
	return out
}

type letterCosts struct {
	ctx    context.Context
	user   *letter.User
	cloud  *letter.Cloud
	images []letter.Image
	out    *Letter
}

// dims returns the lengths of V_L1, H_L1 and V_KL (vectors of a record, a
// hyperplane and a histogram): 1299, 2594 and 98. They include the elements
// that the boxes append.
func (x *letterCosts) dims() (v, h, kl int64) {
	m, bins := int64(x.user.L1.M), int64(x.user.KL.M)
	return m + 3, 2*m + 2, 2*bins + 2
}

func (x *letterCosts) search(requests []letter.Image, progress user.Progress) error {
	v, h, kl := x.dims()
	places, same := 0, 0
	for _, ap := range []float64{0.1, 1} {
		var took []float64
		before, formula := x.cloud.Count.N(), int64(0)
		for i, image := range requests {
			if err := x.ctx.Err(); err != nil {
				return err
			}
			progress.Report("search", i, len(requests))
			how := letter.Search{L: letterL, AP: ap}
			q, memory, err := x.user.Request(image)
			if err != nil {
				return err
			}
			begun := time.Now()
			reply, err := x.cloud.Annotate(q, how)
			if err != nil {
				return err
			}
			took = append(took, 1e3*time.Since(begun).Seconds())
			twin, err := x.user.Twin(x.cloud, memory)
			if err != nil {
				return err
			}
			clear, err := x.cloud.Search(twin, how)
			if err != nil {
				return err
			}
			for k, image := range reply.Images {
				places++
				if image == clear.Images[k] {
					same++
				}
			}
			x.out.Planes += reply.Stats.Planes
			x.out.Pruned += reply.Stats.Pruned
			formula += int64(reply.Stats.Visited)*2*(v+kl+2) + int64(reply.Stats.Planes)*(v+h+2*kl+4)
		}
		n := int64(len(requests))
		formula /= n
		x.out.Boxes = append(x.out.Boxes, LetterBox{
			Box: fmt.Sprintf("Algorithm 1, AP-%g, n = %d", 100*ap, len(x.images)), Elements: letterL, Bytes: 8 * letterL,
			Dot: (x.cloud.Count.N() - before) / n, DotPaper: &formula, MS: measure.RoundTo(measure.Median(took), 4)})
	}
	x.out.Place = measure.RoundTo(float64(same)/float64(places), 4)
	return nil
}

func (x *letterCosts) farthestPlane(requests []letter.Image, progress user.Progress) error {
	memories := make([]*letter.Memory, len(requests))
	for i, image := range requests {
		var err error
		if _, memories[i], err = x.user.Request(image); err != nil {
			return err
		}
	}
	var mu sync.Mutex
	done := 0
	return measure.Each(x.ctx, len(memories), func(i int) error {
		l1, kl, err := x.user.FarthestPlane(x.cloud, memories[i], letterL)
		mu.Lock()
		defer mu.Unlock()
		x.out.Farthest.L1 = measure.RoundTo(max(x.out.Farthest.L1, l1), 4)
		x.out.Farthest.KL = measure.RoundTo(max(x.out.Farthest.KL, kl), 4)
		done++
		progress.Report("compare hyperplanes", done, len(memories))
		return err
	})
}

func (x *letterCosts) box(name string, elements int, formula int64, stated string, f func(i int) error) error {
	times := 7
	if elements > 1<<20 { // boxes that produce matrices are slow
		times = 1
	}
	dots := func() int64 { return x.user.Count.N() + x.cloud.Count.N() }
	before := dots()
	ms, err := measure.MedianMS(x.ctx, times, f)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	b := LetterBox{Box: name, Elements: elements, Bytes: 8 * elements, Dot: (dots() - before) / int64(times+1), // averaged over the calls and one that warms up
		MS: ms}
	if formula >= 0 {
		b.DotPaper = &formula
	}
	if stated != "" {
		value := paper.Values().Number(stated).Value
		b.MSPaper = &value
	}
	x.out.Boxes = append(x.out.Boxes, b)
	return nil
}

const noFormula = -1

func (x *letterCosts) boxes(request letter.Image) error {
	v, h, kl := x.dims()
	u := x.user
	q, memory, err := u.Request(request)
	if err != nil {
		return err
	}
	reply, err := x.cloud.Annotate(q, letter.Search{L: letterL, AP: 0.1})
	if err != nil {
		return err
	}
	plain, err := u.Prepare(x.images[0])
	if err != nil {
		return err
	}
	node := &x.cloud.Trees[0][0] // the root always has a hyperplane
	leaf := &x.cloud.Trees[0][len(x.images)-1]
	var sink float64
	one := func(what func(i int) (any, error)) func(int) error {
		return func(i int) error { _, err := what(i); return err }
	}
	l1 := one(func(int) (any, error) { return u.L1.Vector(plain.L1, 0) })
	l1Plane := one(func(i int) (any, error) { return u.L1.Plane(plain.L1, i, 0) })
	divergence := one(func(int) (any, error) { return u.KL.Vector(plain.KL, 0) })
	divergencePlane := one(func(i int) (any, error) { return u.KL.Plane(plain.KL, i, 0) })
	for _, b := range []struct {
		name     string
		elements int64
		formula  int64
		stated   string
		f        func(i int) error
	}{
		{"PL1C-RF Enc", v, v, "", l1},
		{"PL1C-RF Enc, hyperplane", h, h, "", l1Plane},
		{"PKLC-RF Enc", kl, kl, "", divergence},
		{"PKLC-RF Enc, hyperplane", kl, kl, "", divergencePlane},
		{"Enc, both tools", v + kl, v + kl, "vector_encrypt", func(i int) error { return cmp.Or(l1(i), divergence(i)) }},
		{"Enc, hyperplane, both tools", h + kl, h + kl, "plane_encrypt", func(i int) error { return cmp.Or(l1Plane(i), divergencePlane(i)) }},
		{"OPE of one value", 1, 0, "ope", one(func(i int) (any, error) { return u.Order(plain, i%len(u.Fields)) })},
		{"SᵀS_s, all three", v*v + h*h + kl*kl, noFormula, "", func(int) error { u.L1.Evaluations(); u.KL.Evaluation(); return nil }},
		{"PL1C-RF Request", v + h, v + h, "", one(func(int) (any, error) { return u.L1.Request(plain.L1, memory.Scale) })},
		{"PKLC-RF Request", kl, kl, "", one(func(int) (any, error) { return u.KL.Request(plain.KL, memory.Scale) })},
		{"Secure Annotation Request", int64(q.Elements()), v + h + kl, "request_time", func(int) error { _, _, err := u.Request(request); return err }},
		{"PL1C-RF Type-1", 1, 2 * (v + 1), "", func(int) error { sink += q.L1.Type1(node.CV1, leaf.CV1); return nil }},
		{"PL1C-RF Type-2", 1, v + h + 2, "", func(int) error { sink += q.L1.Type2(node.CH1, leaf.CV1); return nil }},
		{"PKLC-RF Type-1", 1, 2 * (kl + 1), "", func(int) error { sink += q.KL.Compare(node.CVKL, leaf.CVKL); return nil }},
		{"PKLC-RF Type-2", 1, 2 * (kl + 1), "", func(int) error { sink += q.KL.Compare(node.CHKL, leaf.CVKL); return nil }},
		{"Final Keyword Selection", 0, 0, "selection", func(int) error { _, err := u.Select(reply, memory); return err }},
	} {
		if err := x.box(b.name, int(b.elements), b.formula, b.stated, b.f); err != nil {
			return err
		}
	}
	_ = sink
	return nil
}

// product adds the operations that replace the boxes in the product. The
// product uses one vector for both distances and folds requests. Inner products
// are calculated here, not counted.
func (x *letterCosts) product() error {
	v, h, kl := x.dims()
	layout := scorevector.Paper()
	dim, planes := layout.JL+layout.KL+3, len(x.user.Fields)+1
	record, request, score, err := vectorOperations(dim)
	if err != nil {
		return err
	}
	plane, planeRequest, planeScore, err := vectorOperations(planes)
	if err != nil {
		return err
	}
	for _, b := range []struct {
		name     string
		elements int
		formula  int64
		stated   string
		f        func(i int) error
	}{
		{"product: Enc", dim, v + kl, "vector_encrypt", record},
		{"product: Enc, hyperplane", planes, h + kl, "plane_encrypt", plane},
		{"product: request", dim, v + h + kl, "request_time", request},
		{"product: request for hyperplanes", planes, h, "", planeRequest},
		{"product: Comp", 1, v + kl + 2, "", score},
		{"product: Comp_h", 1, h + kl + 2, "", planeScore},
	} {
		if err := x.box(b.name, b.elements, b.formula, b.stated, b.f); err != nil {
			return err
		}
		x.out.Boxes[len(x.out.Boxes)-1].Dot = int64(b.elements) // one inner product per element
	}
	return nil
}

func (l *Letter) Tables() []measure.Table {
	boxes := measure.Table{Name: "letter", Title: "The paper's boxes as printed: DOT counted, and by its formulas; medians, one core, beside the paper's times",
		Columns: []string{"box", "elements", "bytes", "DOT", "the paper's formula", "ms", "the paper's ms"}}
	for _, b := range l.Boxes {
		formula, stated := "", ""
		if b.DotPaper != nil {
			formula = measure.FormatInt(*b.DotPaper)
		}
		if b.MSPaper != nil {
			stated = paper.Digits(*b.MSPaper)
		}
		boxes.Rows = append(boxes.Rows, []string{b.Box, measure.FormatInt(b.Elements), measure.FormatInt(b.Bytes), measure.FormatInt(b.Dot), formula, measure.FormatSignificant(b.MS), stated})
	}
	found := measure.Table{Name: "letter-found", Title: "The literal system beside its search in the clear", Columns: []string{"what", "value"}, Rows: [][]string{
		{"places alike", measure.FormatDecimal(l.Place, 4)}, {"type-2 comparisons", measure.FormatInt(l.Planes)}, {"of these, sides pruned", measure.FormatInt(l.Pruned)},
		{"farthest plane of a level, of the tenth neighbour's distance", measure.FormatDecimal(l.Farthest.L1, 4)},
		{"farthest plane of a bin, of the tenth neighbour's distance", measure.FormatDecimal(l.Farthest.KL, 4)}}}
	return []measure.Table{boxes, found}
}
