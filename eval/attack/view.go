package attack

import (
	"fmt"

	"cpar"
	"cpar/cloud/score"
	"cpar/cloud/search"
	"cpar/eval/measure"
	"cpar/internal/indexdir"
	"cpar/internal/wire"
	"cpar/kdforest"
)

// A Cloud is a curious cloud process that reports everything it can compute.
// Implementations may use only the inputs of the real process.
type Cloud interface {
	Scheme() string
	Stored() *StoredIndex
	Observe(request []byte) (*Observation, error)
}

type StoredIndex struct {
	Records int
	// Vectors holds the ciphertext words of each record. It is nil if several
	// records share ciphertexts.
	Vectors [][]uint64
	// Cuts holds the field (a dimension of the feature vectors) and the order
	// ciphertext of every split plane. It is nil without a forest.
	Cuts []cpar.Plane
}

// Observation holds everything a cloud learns from one request. Fields that the
// scheme does not send are empty.
type Observation struct {
	Request, Reply []byte
	// Scores holds the score of every record, even if the search does not need
	// it. In schemes without readable scores, it holds the ciphertexts' 64-bit
	// words.
	Scores []float64
	Order  []uint64
	// Planes holds the signed score of every split plane.
	Planes []int64
	// Offset is r_s·r, the product of the request's secret scale and offset. It
	// is the difference between scores of records and of planes.
	Offset uint64
	// Path lists the visited records in order. Returned lists the records in
	// the reply.
	Path, Returned []uint32
}

// A View is the information that an attack gets from the cloud.
type View struct {
	Scheme string
	*StoredIndex
	Observations []*Observation
}

func (v *View) scores() [][]float64 {
	return measure.Map(v.Observations, func(s *Observation) []float64 { return s.Scores })
}

// A scoreCloud is the cloud of schemes cpar, ivf and capia. It runs the
// daemon's own code on the segments of an index folder.
type scoreCloud struct {
	scheme string
	index  *score.Index
	stored StoredIndex
	all    []uint32
}

// openCloud opens an index folder as the cloud does. An index with scheme cpar
// holds the same records as capia and, if it has cells, as ivf. It can be
// observed as any of these. The caller must keep `files` open.
func openCloud(files *indexdir.Index, scheme cpar.Scheme) (*scoreCloud, error) {
	m := files.Manifest()
	x, err := score.Load(m, files.Segments())
	if err != nil {
		return nil, err
	}
	c := &scoreCloud{scheme: scheme.String(), index: x, stored: StoredIndex{Records: int(m.Records)}}
	for i, s := range m.Segments {
		if s.Kind != cpar.SegmentVectors {
			continue
		}
		words := wire.View(files.Segments()[i])
		for dim := int(m.Dim); len(words) >= dim; words = words[dim:] {
			c.stored.Vectors = append(c.stored.Vectors, words[:dim:dim])
		}
	}
	if x.Forest != nil && scheme == cpar.SchemeCPAR {
		c.stored.Cuts = x.Forest.Cuts
	}
	c.all = make([]uint32, m.Records)
	for i := range c.all {
		c.all[i] = uint32(i)
	}
	return c, nil
}

func (c *scoreCloud) Scheme() string       { return c.scheme }
func (c *scoreCloud) Stored() *StoredIndex { return &c.stored }

func (c *scoreCloud) Observe(request []byte) (*Observation, error) {
	q, err := cpar.DecodeRequest(request)
	if err != nil {
		return nil, fmt.Errorf("observing a request: %w", err)
	}
	s := &Observation{Request: request}
	reply, err := search.AnnotateTraced(c.index, q, func(v kdforest.Visit) { s.Path = append(s.Path, v.Record) })
	if err != nil {
		return nil, fmt.Errorf("observing a request: %w", err)
	}
	if s.Reply, err = reply.MarshalBinary(); err != nil {
		return nil, fmt.Errorf("observing a request: %w", err)
	}
	s.Returned = measure.MatchRecords(reply)
	space, err := score.NewSpace(c.index, q)
	if err != nil {
		return nil, fmt.Errorf("observing a request: %w", err)
	}
	scores := make([]int64, len(c.all))
	space.Score(c.all, scores)
	s.Scores = measure.Map(scores, func(x int64) float64 { return float64(x) }) // exact, because scores have 35 bits
	s.Order = measure.Map(q.Order, func(o cpar.OrderCiphertext) uint64 { return uint64(o) })
	if q.Planes != nil {
		s.Offset = q.Planes.Offset
		if s.Planes, err = c.index.PlaneScores(q); err != nil {
			return nil, fmt.Errorf("observing a request: %w", err)
		}
	}
	return s, nil
}
