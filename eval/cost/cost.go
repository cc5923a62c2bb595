// Package cost measures the time, bytes and memory of searches, builds and
// requests, by number of records. It compares these costs with other libraries
// (folder driver) and with the paper, and plans clusters from them
// (PlanCapacity).
//
//	measure.Lab ─▶ Measure…, …Step ─▶ a Result: Tables, Figures
//
// It imports package measure, but not quality, attack or report.
package cost

import (
	"context"
	"fmt"
	"os"

	"cpar"
	"cpar/cloud/search"
	"cpar/eval/measure"
	"cpar/eval/plot"
	"cpar/model/feature"
	"cpar/model/vector"
	"cpar/user"
	"cpar/user/ive"
	"cpar/user/ope"
	"cpar/user/scorevector"
)

// A CostRow is the cost of one search on one core.
type CostRow struct {
	Name string `json:"name"`
	// NS is the median server time of a request.
	NS int64 `json:"ns"`
	// Bytes is the number of ciphertext bytes that the server reads for a
	// request.
	Bytes int64 `json:"bytes"`
	// StreamRatio is the time of a plain read of the same number of bytes,
	// divided by NS. The read is measured in the same run, in the faster of two
	// orders.
	StreamRatio float64 `json:"stream_ratio"`

	Search  string  `json:"search,omitempty"`
	Approx  float64 `json:"approx,omitempty"` // X of AP-X, the percentage of records visited
	Visits  float64 `json:"visits"`
	Speedup float64 `json:"speedup"` // speedup over capia (a scan) in the same run
	// Bound is the speedup that the number of visits allows.
	Bound float64 `json:"bound"`
	// MemoryBound is the speedup of only scoring the same records, in memory
	// order.
	MemoryBound float64 `json:"memory_bound,omitempty"`
}

// A RequestCost is the owner's cost of one request. Times are medians on one
// core.
type RequestCost struct {
	Features float64 `json:"features_ms"`
	Encrypt  float64 `json:"encrypt_ms"`
	Bytes    int     `json:"bytes"`
	Reply    int     `json:"reply_bytes"`

	// Bytes includes Vector and Order. To allow pruning (skipping sides of
	// planes), a request would also send Planes.
	Vector int `json:"vector_bytes"`
	Order  int `json:"order_bytes"`
	Planes int `json:"planes_bytes"`
	// Rank is the time to decrypt the reply and rank its keywords.
	Rank float64 `json:"select_ms"`
}

// A PrimitiveCost holds the times of the paper's single operations, in
// milliseconds on one core.
type PrimitiveCost struct {
	// Vector is the time to encrypt a record's vector of VectorDim elements.
	Vector    float64 `json:"vector_ms"`
	VectorDim int     `json:"vector_dimension"`
	// Plane is the time to encrypt a plane (a split of the forest) of |SF|+1
	// elements, where SF is the set of split fields. BoxedPlane is the time for
	// a plane of 2·m̂+2 elements, as in the paper's box. m̂ is the dimension of
	// the projection.
	Plane      float64 `json:"plane_ms"`
	BoxedPlane float64 `json:"boxed_plane_ms"`
	BoxedDim   int     `json:"boxed_plane_dimension"`
	// OPE is the time to encrypt the |SF| split values of a request with
	// order-preserving encryption.
	OPE float64 `json:"ope_ms"`
}

type Cost struct {
	Records    int               `json:"n"`
	Kind       string            `json:"images"`
	Requests   int               `json:"requests"`
	Rows       []CostRow         `json:"rows"`
	Roofline   *Roofline         `json:"roofline"`
	Build      measure.BuildCost `json:"build"`
	Request    RequestCost       `json:"request"`
	Primitives PrimitiveCost     `json:"tools"`
	Sealed     []SealedBatch     `json:"sealed"`
}

func MeasureCost(ctx context.Context, l *measure.Lab, n int) (*Cost, error) {
	b, err := l.Build(ctx, n)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	out := &Cost{Records: n, Kind: b.Kind, Build: b.Cost}
	if out.Rows, out.Requests, err = costRows(b.Session, ctx, l.Progress); err != nil {
		return nil, err
	}
	scans, err := b.Prepare(ctx, measure.SearchConfigurations()[0].P, min(BatchSizes[len(BatchSizes)-1], len(b.Requests)))
	if err != nil {
		return nil, err
	}
	if out.Roofline, err = measureRoofline(b.Session, scans); err != nil {
		return nil, fmt.Errorf("measuring batches: %w", err)
	}
	out.Rows = append(out.Rows, out.Roofline.row(out.Rows[0].Bytes, out.Rows[0].NS, uint32(n)))
	if out.Request, err = requestCost(ctx, b); err != nil {
		return nil, fmt.Errorf("measuring a request: %w", err)
	}
	if out.Primitives, err = primitiveCost(ctx, int(b.Cost.Fields)); err != nil {
		return nil, fmt.Errorf("measuring the paper's operations: %w", err)
	}
	if out.Sealed, err = measureSealedBatches(ctx, n, l.Progress); err != nil {
		return nil, fmt.Errorf("measuring scheme sealed: %w", err)
	}
	return out, nil
}

func costRows(s *measure.Session, ctx context.Context, progress user.Progress) ([]CostRow, int, error) {
	configs := measure.SearchConfigurations()
	n := min(measure.CostRequests, len(s.Requests))
	prepared := make([][]measure.PreparedRequest, len(configs))
	for j, conf := range configs {
		var err error
		if prepared[j], err = s.Prepare(ctx, conf.P, n); err != nil {
			return nil, 0, fmt.Errorf("%s: %w", conf.Name, err)
		}
	}
	times, err := s.TimeSearches(ctx, prepared, progress, nil)
	if err != nil {
		return nil, 0, err
	}
	var rows []CostRow
	base := measure.Median(times[0].Ns)
	for j, conf := range configs {
		t := times[j]
		row := CostRow{Name: conf.Name, NS: measure.Median(t.Ns), Bytes: int64(measure.Mean(t.Bytes)), Visits: measure.RoundTo(measure.Mean(t.Visited), 1)}
		row.StreamRatio = measure.RoundTo(float64(s.StreamTime(uint64(row.Bytes)))/float64(row.NS), 3)
		row.Speedup = measure.RoundTo(float64(base)/float64(row.NS), 3)
		row.Bound = measure.RoundTo(float64(s.Cloud.Manifest.Records)/row.Visits, 2)
		if conf.P.Scheme != cpar.SchemeCAPIA {
			row.Search, row.Approx = conf.P.Search.String(), float64(conf.P.Approx)/10
			if row.MemoryBound, err = s.MemoryBound(prepared[j], base, n); err != nil {
				return nil, 0, err
			}
		}
		rows = append(rows, row)
	}
	return rows, n, nil
}

func requestCost(ctx context.Context, b *measure.Built) (r RequestCost, err error) {
	const times = 25
	p := cpar.Params{Scheme: cpar.SchemeCPAR, Search: cpar.SearchByRank, L: 10, Approx: 100}
	if photos := b.Corpus.TestItems; len(photos) > 0 {
		data := make([][]byte, min(times+1, len(photos)))
		for i := range data {
			if data[i], err = os.ReadFile(photos[i].Path); err != nil {
				return r, fmt.Errorf("%w: %w", cpar.ErrInput, err)
			}
		}
		e := feature.NewExtractor()
		if r.Features, err = measure.MedianMS(ctx, times, func(i int) error { _, err := e.Photo(data[i%len(data)], feature.Options{}); return err }); err != nil {
			return r, err
		}
	}
	var list []measure.PreparedRequest
	if r.Encrypt, err = measure.MedianMS(ctx, times, func(i int) error {
		pending, q, err := b.Builder.RequestVector(b.Requests[i%len(b.Requests)], p)
		list = append(list, measure.PreparedRequest{Pending: pending, Request: q})
		return err
	}); err != nil {
		return r, err
	}
	replies := make([]*cpar.Reply, len(list))
	for i, a := range list {
		if replies[i], err = search.Annotate(b.Cloud, a.Request); err != nil {
			return r, err
		}
	}
	if r.Rank, err = measure.MedianMS(ctx, times, func(i int) error {
		_, err := measure.ReadReply(b.Builder.Owner, list[i%len(list)].Pending, replies[i%len(list)])
		return err
	}); err != nil {
		return r, err
	}
	q := list[0].Request
	if r.Bytes, r.Reply, err = measure.BytesOf(q, replies[0]); err != nil {
		return r, err
	}
	r.Vector, r.Order = 8*len(q.Vector), int(b.Cloud.Manifest.OrderBytes)*len(q.Order)
	p.Search, p.Prune = cpar.SearchDepthFirst, true
	if _, q, err = b.Builder.RequestVector(b.Requests[0], p); err != nil {
		return r, err
	}
	pruning, err := q.MarshalBinary()
	r.Planes = len(pruning) - r.Bytes
	return r, err
}

// vectorOperations returns the operations of inner-product encryption on
// arbitrary vectors of `dim` elements.
func vectorOperations(dim int) (record, request, score func(int) error, err error) {
	secret := [32]byte{'c', 'o', 's', 't'}
	p := ive.Params{Dim: dim, RecordShift: ive.DistanceShift, RequestShift: ive.DistanceShift}
	k, err := ive.NewKey(secret, p)
	noise := ive.NewNoise(secret)
	plain, c, t := make([]int64, dim), make([]uint64, dim), make([]uint64, dim)
	for i := range plain {
		plain[i] = int64(i%199 - 99)
	}
	return func(int) error { return k.EncryptRecord(c, plain, noise) },
		func(int) error { return k.EncryptRequest(t, plain, noise) },
		func(int) error { p.Score(c, t); return nil }, err
}

func primitiveCost(ctx context.Context, fields int) (t PrimitiveCost, err error) {
	const times = 15
	boxes := scorevector.Paper()
	t.VectorDim, t.BoxedDim = boxes.JL+boxes.KL+3, 2*boxes.JL+2
	for _, part := range []struct {
		to  *float64
		dim int
	}{{&t.Vector, t.VectorDim}, {&t.Plane, fields + 1}, {&t.BoxedPlane, t.BoxedDim}} {
		record, _, _, err := vectorOperations(part.dim)
		if err != nil {
			return t, err
		}
		if *part.to, err = measure.MedianMS(ctx, times, record); err != nil {
			return t, err
		}
	}
	key, err := ope.NewKey([32]byte{'c', 'o', 's', 't'}, vector.Beta)
	if err != nil {
		return t, err
	}
	t.OPE, err = measure.MedianMS(ctx, times, func(i int) error {
		for field := range fields {
			if _, err := key.Encrypt(field, (field*37+i)%(vector.Beta+1)); err != nil {
				return err
			}
		}
		return nil
	})
	return t, err
}

func (c *Cost) Tables() []measure.Table {
	t := measure.Table{Name: "cost", Title: fmt.Sprintf("Cloud time a request, n = %d (%s), median of %d requests, one core", c.Records, c.Kind, c.Requests),
		Columns: []string{"search", "AP", "ms", "MB read", "visits", "of stream speed", "speedup", "visits allow", "memory leaves"}}
	for _, r := range c.Rows {
		t.Rows = append(t.Rows, []string{r.Name, measure.FormatNonZero(r.Approx, 1), measure.FormatDecimal(float64(r.NS)/1e6, 3), measure.FormatDecimal(float64(r.Bytes)/1e6, 2), measure.FormatDecimal(r.Visits, 0),
			measure.FormatDecimal(r.StreamRatio, 3), measure.FormatDecimal(r.Speedup, 2), measure.FormatDecimal(r.Bound, 1), measure.FormatNonZero(r.MemoryBound, 2)})
	}
	owner := quantityTable("cost-owner", "The owner's side: building on all cores, the rest on one", []quantity{
		{"PCA", c.Build.PCA, "s"}, {"vectors", c.Build.Vectors, "s"}, {"projection", c.Build.Project, "s"},
		{"lists", c.Build.Lists, "s"}, {"forest", c.Build.Forest, "s"}, {"encrypted index", c.Build.Encrypt, "s"},
		{"all of it", c.Build.Whole, "s"}, {"all but PCA", c.Build.Whole - c.Build.PCA, "s"}, {"peak memory", c.Build.PeakMB, "MB"},
		{"of it raw features", c.Build.RawMB, "MB"}, {"index", float64(c.Build.IndexBytes) / 1e6, "MB"},
		{"split fields", float64(c.Build.Fields), ""}, {"planes", float64(c.Build.Planes), ""},
		{"features of a photo", c.Request.Features, "ms"}, {"request, encrypted", c.Request.Encrypt, "ms"},
		{"request", float64(c.Request.Bytes), "B"}, {"reply", float64(c.Request.Reply), "B"},
		{"selection of keywords", c.Request.Rank, "ms"}, {"encryption of a vector", c.Primitives.Vector, "ms"},
		{"encryption of a plane", c.Primitives.Plane, "ms"}, {"encryption of a boxed plane", c.Primitives.BoxedPlane, "ms"},
		{"order-preserving encryption of a request", c.Primitives.OPE, "ms"},
	})
	tables := []measure.Table{t, owner}
	if len(c.Sealed) > 0 {
		batches := measure.Table{Name: "cost-sealed", Title: "One request of scheme sealed and a batch of 16, from requests to replies, one core", Columns: []string{"kernels", "n", "numbers", "one ms", "batch of 16 ms", "plain read ms", "batch over one", "one over a read"}}
		for _, r := range c.Sealed {
			one, all, read := float64(r.One)/1e6, float64(r.Batch)/1e6, float64(r.Read)/1e6
			batches.Rows = append(batches.Rows, []string{r.Kernels, measure.FormatInt(int(r.Records)), measure.FormatInt(int(r.Dim)), measure.FormatDecimal(one, 3), measure.FormatDecimal(all, 3), measure.FormatDecimal(read, 3), measure.FormatDecimal(all/one, 2), measure.FormatDecimal(one/read, 2)})
		}
		tables = append(tables, batches)
	}
	if c.Roofline != nil {
		tables = append(tables, c.Roofline.table(c.Records))
	}
	return tables
}

type quantity struct {
	what  string
	value float64
	unit  string
}

func quantityTable(name, title string, list []quantity) measure.Table {
	t := measure.Table{Name: name, Title: title, Columns: []string{"what", "value", "unit"}}
	for _, q := range list {
		t.Rows = append(t.Rows, []string{q.what, measure.FormatDecimal(q.value, 3), q.unit})
	}
	return t
}

func (c *Cost) Figures() []plot.Figure {
	if c.Roofline == nil {
		return nil
	}
	return []plot.Figure{c.Roofline.figure(c.Records)}
}
