package measure

import (
	"context"
	"fmt"
	"slices"

	"cpar"
	"cpar/internal/lattice"
	"cpar/kdforest"
	"cpar/model/kmeans"
	"cpar/model/profile"
	"cpar/model/rank"
	"cpar/model/vector"
	"cpar/model/wordvector"
	"cpar/user"
)

// A CellRow is the quality for one number of cells (hidden clusters of scheme
// sealed) and one number of copies per record. Values are means over
// clusterSeeds partitions.
type CellRow struct {
	Cells  int     `json:"clusters"`
	Copies float64 `json:"copies"`
	// Recall is the share of the ten nearest records that a search of one cell
	// finds. MinRecall is its minimum over partitions.
	Recall    float64 `json:"recall_at_10"`
	MinRecall float64 `json:"least_recall_at_10"`
	// KeywordShare is the number of human keywords found, divided by the number
	// found in all records.
	KeywordShare float64 `json:"words_of_full"`
}

const clusterSeeds = 5

type cellRun struct {
	corpus   *Corpus
	Owner    *user.Builder
	rows     [][]float32
	keywords [][]string
	vectors  []*vector.Vector
	requests [][]float32
	scores   [][]int64
	dis      func(v *vector.Vector, score int64) (float64, error)
	// All is the result of searching all records.
	All *retrieval
}

// NewCellRun fits profile "network" if all images have embeddings, and profile
// "learned" otherwise.
func NewCellRun(ctx context.Context, c *Corpus, progress user.Progress) (*cellRun, error) {
	opt := user.Options{Scheme: cpar.SchemeSealed, Profile: profile.Learned, Ranker: rank.KindCalibrated, Progress: progress}
	if Embedded(c.Train, c.Test) {
		opt.Profile = profile.Network
	}
	b, err := user.Setup(ctx, user.NewKey(), c.Train, opt)
	if err != nil {
		return nil, err
	}
	m := &cellRun{corpus: c, Owner: b}
	if err := m.score(); err != nil {
		return nil, err
	}
	m.All, err = m.retrieve(func(int, uint32) bool { return true })
	return m, err
}

func Embedded(images ...[]user.Photo) bool {
	return !slices.ContainsFunc(slices.Concat(images...), func(im user.Photo) bool { return im.Vectors.Embedding == nil })
}

func (m *cellRun) score() error {
	var err error
	if m.vectors, err = m.corpus.TestVectors(m.Owner.Owner); err != nil {
		return err
	}
	x, err := IntegersOf(m.Owner, len(m.corpus.Train), m.vectors)
	if err != nil {
		return err
	}
	m.dis, m.scores = x.Dis, x.Scores
	for i := range x.Rows {
		m.keywords = append(m.keywords, m.corpus.Train[m.Owner.PhotoOf(uint32(i))].Keywords)
	}
	m.rows = Map(x.Rows, func(row []int16) []float32 { return Floats(row, 1) })
	m.requests = Map(x.Requests, func(u []int16) []float32 { return Floats(u, -1) })
	return nil
}

// Integers holds the integer vectors that scheme sealed encrypts.
type Integers struct {
	Rows     [][]int16
	Addends  []int64
	Requests [][]int16
	// Scores holds the score of each record for each request. Dis converts a
	// score to a distance.
	Scores [][]int64
	Dis    func(v *vector.Vector, score int64) (float64, error)
}

func IntegersOf(b *user.Builder, n int, requests []*vector.Vector) (*Integers, error) {
	plain, err := b.Twin()
	if err != nil {
		return nil, err
	}
	twin, _ := plain.Rows()
	x := &Integers{Dis: twin.Dis}
	for i := range n {
		row, addend := twin.Row(i)
		x.Rows, x.Addends = append(x.Rows, slices.Clone(row)), append(x.Addends, addend)
	}
	for i, v := range requests {
		u, err := twin.Request(v)
		if err != nil {
			return nil, fmt.Errorf("request %d: %w", i, err)
		}
		scores, err := twin.Scores(v)
		if err != nil {
			return nil, fmt.Errorf("request %d: %w", i, err)
		}
		x.Requests, x.Scores = append(x.Requests, u), append(x.Scores, scores)
	}
	return x, nil
}

// Floats returns sign·row. Scheme sealed negates requests, and a sign of −1
// undoes this.
func Floats(row []int16, sign float32) []float32 {
	return Map(row, func(x int16) float32 { return sign * float32(x) })
}

func (m *cellRun) Row(ctx context.Context, clusters int, copies float64) (CellRow, error) {
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
		share := RecallAt10(found.near, m.All.near)
		out.Recall += share / clusterSeeds
		out.MinRecall = min(out.MinRecall, share)
		out.KeywordShare += found.Keywords / m.All.Keywords / clusterSeeds
	}
	out.Recall, out.MinRecall, out.KeywordShare = RoundTo(out.Recall, 3), RoundTo(out.MinRecall, 3), RoundTo(out.KeywordShare, 4)
	return out, nil
}

// An AskedRow is the recall of searches in the Asked cells nearest to the
// request.
type AskedRow struct {
	Cells int `json:"clusters"`
	Asked int `json:"asked"`
	// Words and Photos are the shares of the 100 nearest records of a word or a
	// photo that the cells hold.
	Words  float64 `json:"words_recall_at_100"`
	Photos float64 `json:"photos_recall_at_100"`
	// MinWords is the smallest share of a partition.
	MinWords float64 `json:"words_least"`
}

// Asked measures the recall of 1 to `clusters` cells of the size that scheme
// sealed gives them.
func (m *cellRun) Asked(ctx context.Context, clusters int) ([]AskedRow, error) {
	words, err := m.wordVectors()
	if err != nil {
		return nil, err
	}
	x, err := IntegersOf(m.Owner, 0, words)
	if err != nil {
		return nil, err
	}
	kinds := []struct {
		requests [][]float32
		near     [][]uint32
	}{{requests: Map(x.Requests, func(u []int16) []float32 { return Floats(u, -1) }), near: nearest100(x.Scores)},
		{requests: m.requests, near: nearest100(m.scores)}}
	out := make([]AskedRow, clusters)
	for i := range out {
		out[i] = AskedRow{Cells: clusters, Asked: i + 1, MinWords: 1}
	}
	for seed := range clusterSeeds {
		cells, err := kmeans.Balance(ctx, m.rows, clusters, lattice.CellSize(len(m.rows), clusters, clusters == 1<<lattice.WideSlots), [32]byte{byte(seed)})
		if err != nil {
			return nil, err
		}
		for k, kind := range kinds {
			found := make([]float64, clusters)
			for i, request := range kind.requests {
				asked := map[uint32]bool{}
				for n, cell := range cells.Order(request) {
					for _, record := range cells.Records[cell] {
						asked[record] = true
					}
					for _, record := range kind.near[i] {
						if asked[record] {
							found[n] += 1 / float64(len(kind.near[i])*len(kind.requests))
						}
					}
				}
			}
			for n, share := range found {
				if k == 0 {
					out[n].Words += share / clusterSeeds
					out[n].MinWords = RoundTo(min(out[n].MinWords, share), 3)
				} else {
					out[n].Photos += share / clusterSeeds
				}
			}
		}
	}
	for i := range out {
		out[i].Words, out[i].Photos = RoundTo(out[i].Words, 3), RoundTo(out[i].Photos, 3)
	}
	return out, nil
}

// wordVectors returns the vectors of the keywords of the test images.
func (m *cellRun) wordVectors() (out []*vector.Vector, err error) {
	for word := range rank.Count(Keywords(m.corpus.Test)) {
		s, e := m.Owner.SearchWords(wordvector.Query{{Word: word, Weight: 1}}, nil)
		if e == nil { // otherwise no training image has the word
			out = append(out, s.Vector())
		} else {
			err = e
		}
	}
	if out != nil {
		err = nil
	}
	return out, err
}

func nearest100(scores [][]int64) [][]uint32 {
	return Map(scores, func(of []int64) []uint32 {
		queue := kdforest.NewQueue(100)
		for record, score := range of {
			queue.Push(kdforest.Hit{Record: uint32(record), Score: score})
		}
		return Map(queue.Hits(), func(h kdforest.Hit) uint32 { return h.Record })
	})
}

// A retrieval holds the ten nearest records of each request. Keywords is the
// mean number of human keywords found per photo.
type retrieval struct {
	near     [][]uint32
	Keywords float64
}

func (m *cellRun) retrieve(scored func(request int, record uint32) bool) (*retrieval, error) {
	all, said := make([][]rank.Neighbour, len(m.vectors)), make([][]rank.Keyword, len(m.vectors))
	ranked := m.Owner.Ranker().Neighbours()
	if err := Each(context.Background(), len(all), func(i int) error {
		queue := kdforest.NewQueue(max(10, ranked))
		for record, score := range m.scores[i] {
			if scored(i, uint32(record)) {
				queue.Push(kdforest.Hit{Record: uint32(record), Score: score})
			}
		}
		for _, hit := range queue.Hits() {
			dis, err := m.dis(m.vectors[i], hit.Score)
			if err != nil {
				return fmt.Errorf("request %d: %w", i, err)
			}
			all[i] = append(all[i], rank.Neighbour{Record: hit.Record, Dis: dis, Keywords: m.keywords[hit.Record]})
		}
		var err error
		if said[i], err = m.Owner.Rank(all[i][:min(len(all[i]), ranked)], user.Ranking{MaxKeywords: StandardKeywords, Guess: m.vectors[i].Guess}); err != nil {
			return fmt.Errorf("request %d: %w", i, err)
		}
		return nil
	}); err != nil {
		return nil, err
	}
	return &retrieval{near: TopRecords(all), Keywords: MeanKeywordsFound(KeywordsOf(said), Keywords(m.corpus.Test))}, nil
}
