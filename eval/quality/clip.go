package quality

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"cpar"
	"cpar/eval/measure"
	"cpar/internal/hint"
	"cpar/model/feature"
	"cpar/model/profile"
	"cpar/model/rank"
	"cpar/model/wordvector"
	"cpar/user"
)

// Clip compares the recall of texts by profile "clip" through scheme sealed
// with the full-width search in plaintext.
//
//	images ─▶ profile clip ─▶ sealed index      texts ─▶ SearchWords ─▶ ten nearest images
type Clip struct {
	Pair    string `json:"pair"`
	Width   int    `json:"width"`
	Images  int    `json:"images"`
	Queries int    `json:"queries"`
	// Full is R@10 of the full-width float32 search: the share of texts with a
	// right image among the ten with the highest cosine. FullCentred is R@10
	// after subtracting the mean of each side.
	Full        float64   `json:"full"`
	FullCentred float64   `json:"full_centred"`
	Rows        []ClipRow `json:"rows"`
}

type ClipRow struct {
	Dim    int     `json:"dim"`
	Sealed float64 `json:"sealed"` // R@10 through scheme sealed
	// Best is R@10 of the best orthonormal projection, in float64. It uses the
	// directions of greatest variance and the means from which a synthetic pair
	// was drawn. It is 0 for a real pair, whose directions are unknown.
	Best float64 `json:"best,omitempty"`
	// Share is Sealed divided by Full, or by Best if that is less.
	Share float64 `json:"share"`
}

// A ClipPair holds the embeddings of images and the vectors of texts. right[i]
// lists the images that text i describes.
type ClipPair struct {
	Name          string
	Images, Texts [][]float32
	right         [][]int
	// text returns the vectors of words that are not queries.
	text profile.TextVectors
	made *madePair // nil for a real pair
}

// The made pair is synthetic. Image and text i are unit(z_i + noise + gap),
// where z_i is normal with variance 1/k in direction k of a random orthonormal
// basis. The noise is white, with madeNoise times the total variance of z. The
// gap is a vector of each modality in a random direction, madeGap times as long
// as z on average. With noise 0.5, every search found all pairs. The noise was
// then chosen by the full-width search alone, which now finds three quarters.
const (
	madeWidth, madeImages, madeQueries = 512, 3000, 600
	madeNoise, madeGap, madeSeed       = 4.0, 1.0, 33
)

type madePair struct {
	axes         [][]float64 // orthonormal, of decreasing variance
	image, text  []float64   // gaps
	deviation    []float64
	noise, total float64
}

func newMadePair(r *rand.Rand) *madePair {
	m := &madePair{}
	for k := range madeWidth {
		m.deviation = append(m.deviation, 1/math.Sqrt(float64(k+1)))
		m.total += 1 / float64(k+1)
		axis := normals(r, madeWidth)
		for range 2 { // twice, because of rounding errors
			for _, other := range m.axes {
				by := inner(axis, other)
				for i := range axis {
					axis[i] -= by * other[i]
				}
			}
		}
		m.axes = append(m.axes, scaled(axis, 1))
	}
	m.noise = math.Sqrt(madeNoise * m.total / madeWidth)
	m.image, m.text = scaled(normals(r, madeWidth), madeGap*math.Sqrt(m.total)), scaled(normals(r, madeWidth), madeGap*math.Sqrt(m.total))
	return m
}

func normals(r *rand.Rand, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = r.NormFloat64()
	}
	return out
}

func inner(a, b []float64) (s float64) {
	for i := range a {
		s += a[i] * b[i]
	}
	return s
}

func scaled(x []float64, length float64) []float64 {
	by := length / math.Sqrt(inner(x, x))
	return measure.Map(x, func(v float64) float64 { return v * by })
}

// draw returns the image and the text of one z.
func (m *madePair) draw(r *rand.Rand) (image, text []float32) {
	z := make([]float64, madeWidth)
	for k, axis := range m.axes {
		by := m.deviation[k] * r.NormFloat64()
		for i := range z {
			z[i] += by * axis[i]
		}
	}
	with := func(gap []float64) []float32 {
		x := make([]float64, madeWidth)
		for i := range x {
			x[i] = z[i] + gap[i] + m.noise*r.NormFloat64()
		}
		return measure.Map(scaled(x, 1), func(v float64) float32 { return float32(v) })
	}
	return with(m.image), with(m.text)
}

// MadePair draws the made pair. Words that are not queries have other texts, so
// that nothing is fitted to the queries.
func MadePair() *ClipPair {
	r := rand.New(rand.NewPCG(madeSeed, 0x636c6970)) // "clip"
	m := newMadePair(r)
	p := &ClipPair{made: m, Name: fmt.Sprintf("made, eigenvalues 1/i, noise %g of the variance, gap %g, seed %d", madeNoise, madeGap, madeSeed)}
	for i := range madeImages {
		image, text := m.draw(r)
		p.Images = append(p.Images, image)
		if i < madeQueries {
			p.Texts, p.right = append(p.Texts, text), append(p.right, []int{i})
		}
	}
	p.text = func(words []string) ([][]float32, error) {
		return measure.Map(words, func(w string) []float32 {
			h := fnv.New64a()
			h.Write([]byte(w))
			_, text := m.draw(rand.New(rand.NewPCG(madeSeed, h.Sum64())))
			return text
		}), nil
	}
	return p
}

// RealPair pairs the embeddings of photos with the text half of their network.
// The queries are the keywords. The right images of a keyword are the photos
// that have it.
func RealPair(name string, photos []user.Photo, text profile.TextVectors) (*ClipPair, error) {
	p := &ClipPair{Name: name, text: text}
	having := map[string][]int{}
	for i, im := range photos {
		if im.Vectors.Embedding == nil {
			return nil, fmt.Errorf("%w: the photos have no embeddings", cpar.ErrInput)
		}
		p.Images = append(p.Images, im.Vectors.Embedding.Values)
		for w := range rank.Count([][]string{im.Keywords}) {
			having[w] = append(having[w], i)
		}
	}
	words := slices.Sorted(maps.Keys(having))
	for _, w := range words {
		p.right = append(p.right, having[w])
	}
	if len(words) == 0 {
		return nil, fmt.Errorf("%w: the photos have no keywords", cpar.ErrInput)
	}
	var err error
	if p.Texts, err = text(words); err == nil && len(p.Texts[0]) != len(p.Images[0]) {
		err = hint.Add(fmt.Errorf("%w: the image network gives %d values and the text half %d", cpar.ErrInput, len(p.Images[0]), len(p.Texts[0])),
			"pass the text half that came with --model")
	}
	return p, err
}

// query is the word that stands for a text in a search.
func query(i int) string { return fmt.Sprintf("text %d", i) }

// vectors returns the vectors of queries and of other words.
func (p *ClipPair) vectors(words []string) ([][]float32, error) {
	if i := 0; len(words) == 1 {
		if _, err := fmt.Sscanf(words[0], "text %d", &i); err == nil && query(i) == words[0] && i < len(p.Texts) {
			return p.Texts[i : i+1], nil
		}
	}
	return p.text(words)
}

func MeasureClip(ctx context.Context, p *ClipPair, dims []int, progress user.Progress) (*Clip, error) {
	out := &Clip{Pair: p.Name, Width: len(p.Images[0]), Images: len(p.Images), Queries: len(p.Texts)}
	wide := func(list [][]float32) [][]float64 {
		return measure.Map(list, func(x []float32) []float64 {
			return scaled(measure.Map(x, func(v float32) float64 { return float64(v) }), 1)
		})
	}
	images, texts := wide(p.Images), wide(p.Texts)
	out.Full = p.recall(images, texts)
	out.FullCentred = p.recall(minus(images, meanOf(images)), minus(texts, meanOf(texts)))
	photos := make([]user.Photo, len(p.Images))
	for i, x := range p.Images {
		photos[i] = user.Photo{Vectors: &feature.Vectors{Embedding: &feature.Embedding{Values: x}}}
	}
	for k, d := range dims {
		row := ClipRow{Dim: d}
		bound := out.Full
		if m := p.made; m != nil {
			row.Best = p.recall(m.project(minus(images, m.mean(m.image)), d), m.project(minus(texts, m.mean(m.text)), d))
			bound = min(bound, row.Best)
		}
		var err error
		if row.Sealed, err = p.sealed(ctx, photos, d); err != nil {
			return nil, err
		}
		row.Share = measure.RoundTo(row.Sealed/bound, 4)
		out.Rows = append(out.Rows, row)
		progress.Report("dimensions", k+1, len(dims))
	}
	return out, nil
}

func meanOf(list [][]float64) []float64 {
	mean := make([]float64, len(list[0]))
	for _, x := range list {
		for i, v := range x {
			mean[i] += v / float64(len(list))
		}
	}
	return mean
}

func minus(list [][]float64, mean []float64) [][]float64 {
	return measure.Map(list, func(x []float64) []float64 {
		out := make([]float64, len(x))
		for i, v := range x {
			out[i] = v - mean[i]
		}
		return out
	})
}

// mean returns the centre of a modality after scaling to length 1. Before, all
// squared lengths are nearly equal.
func (m *madePair) mean(gap []float64) []float64 {
	return scaled(gap, madeGap/math.Sqrt(1+madeNoise+madeGap*madeGap))
}

func (m *madePair) project(list [][]float64, d int) [][]float64 {
	return measure.Map(list, func(x []float64) []float64 {
		return measure.Map(m.axes[:d], func(axis []float64) float64 { return inner(axis, x) })
	})
}

// recall returns R@10 by cosine.
func (p *ClipPair) recall(images, texts [][]float64) float64 {
	lengths := measure.Map(images, func(x []float64) float64 { return math.Sqrt(inner(x, x)) })
	found := make([]bool, len(texts))
	_ = measure.Each(context.Background(), len(texts), func(q int) error {
		cosine := make([]float64, len(images))
		order := make([]int, len(images))
		for i, x := range images {
			cosine[i], order[i] = inner(x, texts[q])/lengths[i], i
		}
		slices.SortFunc(order, func(a, b int) int { return cmp.Compare(cosine[b], cosine[a]) })
		found[q] = slices.ContainsFunc(order[:min(10, len(order))], func(i int) bool { return slices.Contains(p.right[q], i) })
		return nil
	})
	return share(found)
}

func share(found []bool) float64 {
	n := 0
	for _, yes := range found {
		if yes {
			n++
		}
	}
	return measure.RoundTo(float64(n)/float64(len(found)), 4)
}

// sealed returns R@10 of an encrypted index with profile "clip".
func (p *ClipPair) sealed(ctx context.Context, photos []user.Photo, d int) (float64, error) {
	s, b, err := measure.OpenSealed(ctx, photos, user.Options{Scheme: cpar.SchemeSealed, Profile: profile.Clip, Dim: d, Ranker: rank.KindPaper, Text: p.vectors})
	if err != nil {
		return 0, err
	}
	defer s.Close()
	found := make([]bool, len(p.Texts))
	err = measure.Each(ctx, len(found), func(q int) error {
		search, err := s.Owner.SearchWords(wordvector.Query{{Word: query(q), Weight: 1}}, p.vectors)
		if err != nil {
			return err
		}
		pending, requests, err := search.Requests(false)
		if err != nil {
			return err
		}
		replies, err := s.Cloud.Annotate(ctx, 1, requests)
		if err != nil {
			return err
		}
		lists := make([][]rank.Neighbour, len(replies))
		for i, reply := range replies {
			if lists[i], err = pending[i].Neighbours(reply); err != nil {
				return err
			}
		}
		found[q] = slices.ContainsFunc(user.Nearest(10, lists...), func(n rank.Neighbour) bool {
			return slices.Contains(p.right[q], b.PhotoOf(n.Record))
		})
		return nil
	})
	return share(found), err
}

func (c *Clip) Tables() []measure.Table {
	t := measure.Table{Name: "clip", Title: fmt.Sprintf("R@10 of texts, %s, %d images of width %d, %d texts; full-width float32 search %.3f, and %.3f after centring each side", c.Pair, c.Images, c.Width, c.Queries, c.Full, c.FullCentred),
		Columns: []string{"dimensions", "through sealed", "float32 search, full width", "best projection", "sealed over the lesser"}}
	for _, r := range c.Rows {
		t.Rows = append(t.Rows, []string{measure.FormatInt(r.Dim), measure.FormatDecimal(r.Sealed, 3), measure.FormatDecimal(c.Full, 3), measure.FormatNonZero(r.Best, 3), measure.FormatDecimal(r.Share, 3)})
	}
	return []measure.Table{t}
}
