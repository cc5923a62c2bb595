package eval

import (
	"context"
	"fmt"
	"slices"

	"cpar"
	"cpar/internal/parallel"
	"cpar/kdforest"
	"cpar/model/kmeans"
	"cpar/model/profile"
	"cpar/model/rank"
	"cpar/model/vector"
	"cpar/user"
)

// Clusters is what hidden clusters find: records stand in C clusters of equal size, some
// in several, and a request is scored against one. Everything is in the clear, on the
// integers of scheme sealed.
type Cells struct {
	Records  int    `json:"records"`
	Requests int    `json:"requests"`
	Profile  string `json:"profile"`
	// Full is how many of a photo's human keywords are found where all records are scored.
	Full float64      `json:"words_per_photo"`
	Rows []CellRow `json:"rows"`
}

// A ClusterRow is one number of clusters and of places a record; figures are means of
// clusterSeeds divisions.
type CellRow struct {
	Cells int     `json:"clusters"`
	Copies   float64 `json:"copies"`
	// Recall is the share of the ten nearest of all records that are found in the cluster
	// asked, Least that of the worst division. Words are the human keywords found, of Full.
	Recall float64 `json:"recall_at_10"`
	MinRecall  float64 `json:"least_recall_at_10"`
	KeywordShare  float64 `json:"words_of_full"`
}

const clusterSeeds = 5

// MeasureClusters measures profile network if all images have embeddings, else learned.
func MeasureCells(ctx context.Context, c *Corpus, progress user.Progress) (*Cells, error) {
	m, err := newCellRun(ctx, c, progress)
	if err != nil {
		return nil, err
	}
	out := &Cells{Records: len(c.Train), Requests: len(c.Test), Profile: m.owner.Profile().Kind().String(), Full: RoundTo(m.all.keywords, 3)}
	for _, clusters := range []int{4, 8, 16} {
		for _, copies := range []float64{1.25, 1.5, 1.7, 2} {
			if clusters > len(c.Train)/2 {
				continue
			}
			row, err := m.row(ctx, clusters, copies)
			if err != nil {
				return nil, err
			}
			out.Rows = append(out.Rows, row)
			progress.Report("clusters", len(out.Rows), 12)
		}
	}
	return out, nil
}

// A clusterRun has the vectors and scores of a collection.
type cellRun struct {
	corpus   *Corpus
	owner    *user.Builder
	rows     [][]float32
	keywords [][]string
	vectors  []*vector.Vector
	requests [][]float32
	scores   [][]int64
	dis      func(v *vector.Vector, score int64) (float64, error)
	// all is what is found where every record is scored.
	all *retrieval
}

// newClusterRun fits profile network if all images have embeddings, else learned.
func newCellRun(ctx context.Context, c *Corpus, progress user.Progress) (*cellRun, error) {
	opt := user.Options{Scheme: cpar.SchemeSealed, Profile: profile.Learned, Ranker: rank.KindCalibrated, Progress: progress}
	embedded := func(im user.Photo) bool { return im.Vectors.Embedding != nil }
	if !slices.ContainsFunc(slices.Concat(c.Train, c.Test), func(im user.Photo) bool { return !embedded(im) }) {
		opt.Profile = profile.Network
	}
	b, err := user.Setup(ctx, user.NewKey(), c.Train, opt)
	if err != nil {
		return nil, err
	}
	m := &cellRun{corpus: c, owner: b}
	if err := m.score(); err != nil {
		return nil, err
	}
	m.all, err = m.retrieve(func(int, uint32) bool { return true })
	return m, err
}

func (m *cellRun) score() error {
	plain, err := m.owner.Twin()
	if err != nil {
		return err
	}
	twin, _ := plain.Rows()
	m.dis = twin.Dis
	floats := func(row []int16, sign float32) []float32 {
		out := make([]float32, len(row))
		for i, x := range row {
			out[i] = sign * float32(x)
		}
		return out
	}
	for i := range m.corpus.Train {
		row, _ := twin.Row(i)
		m.rows = append(m.rows, floats(row, 1))
		m.keywords = append(m.keywords, m.corpus.Train[m.owner.PhotoOf(uint32(i))].Keywords)
	}
	for i, im := range m.corpus.Test {
		v, err := m.owner.Vector(im.Vectors)
		if err != nil {
			return fmt.Errorf("request %d: %w", i, err)
		}
		u, err := twin.Request(v)
		if err != nil {
			return fmt.Errorf("request %d: %w", i, err)
		}
		scores, err := twin.Scores(v)
		if err != nil {
			return fmt.Errorf("request %d: %w", i, err)
		}
		m.vectors, m.requests, m.scores = append(m.vectors, v), append(m.requests, floats(u, -1)), append(m.scores, scores)
	}
	return nil
}

// row divides the collection some times, and asks.
func (m *cellRun) row(ctx context.Context, clusters int, copies float64) (CellRow, error) {
	out := CellRow{Cells: clusters, Copies: copies, MinRecall: 1}
	size := (int(copies*float64(len(m.rows))) + clusters - 1) / clusters
	for seed := range clusterSeeds {
		cells, err := kmeans.Balance(ctx, m.rows, clusters, size, [32]byte{byte(seed)})
		if err != nil {
			return out, err
		}
		found, err := m.retrieve(func(request int, record uint32) bool {
			_, there := slices.BinarySearch(cells.Records[cells.Nearest(m.requests[request])], record)
			return there
		})
		if err != nil {
			return out, err
		}
		share := recall(found.near, m.all.near)
		out.Recall += share / clusterSeeds
		out.MinRecall = min(out.MinRecall, share)
		out.KeywordShare += found.keywords / m.all.keywords / clusterSeeds
	}
	out.Recall, out.MinRecall, out.KeywordShare = RoundTo(out.Recall, 3), RoundTo(out.MinRecall, 3), RoundTo(out.KeywordShare, 4)
	return out, nil
}

// foundOf is what requests found: their ten nearest, and human keywords a photo.
type retrieval struct {
	near  [][]uint32
	keywords float64
}

// found ranks the nearest of those records that a request is scored against.
func (m *cellRun) retrieve(scored func(request int, record uint32) bool) (*retrieval, error) {
	all, errs := make([][]rank.Neighbour, len(m.vectors)), make([]error, len(m.vectors))
	parallel.For(len(m.vectors), func(i int) {
		queue := kdforest.NewQueue(max(10, m.owner.Ranker().Neighbours()))
		for record, score := range m.scores[i] {
			if scored(i, uint32(record)) {
				queue.Push(kdforest.Hit{Record: uint32(record), Score: score})
			}
		}
		for _, hit := range queue.Hits() {
			n := rank.Neighbour{Record: hit.Record, Keywords: m.keywords[hit.Record]}
			if n.Dis, errs[i] = m.dis(m.vectors[i], hit.Score); errs[i] != nil {
				return
			}
			all[i] = append(all[i], n)
		}
	})
	said := make([][]rank.Keyword, len(all))
	for i, near := range all {
		err := errs[i]
		if err == nil {
			said[i], err = m.owner.Rank(near[:min(len(near), m.owner.Ranker().Neighbours())], user.Ranking{MaxKeywords: standardKeywords, Guess: m.vectors[i].Guess})
		}
		if err != nil {
			return nil, fmt.Errorf("request %d: %w", i, err)
		}
	}
	return &retrieval{near: topRecords(all), keywords: meanKeywordsFound(keywordsOf(said), Keywords(m.corpus.Test))}, nil
}

// Tables implements Result.
func (c *Cells) Tables() []Table {
	t := Table{Name: "clusters", Title: fmt.Sprintf("One hidden cluster asked, profile %s, %d records, %d requests, %.2f words a photo found in all", c.Profile, c.Records, c.Requests, c.Full),
		Columns: []string{"clusters", "places a record", "recall@10", "the least", "words of the full scan's %"}}
	for _, r := range c.Rows {
		t.Rows = append(t.Rows, []string{FormatInt(r.Cells), FormatDecimal(r.Copies, 2), FormatDecimal(r.Recall, 3), FormatDecimal(r.MinRecall, 3), FormatDecimal(100*r.KeywordShare, 1)})
	}
	return []Table{t}
}
