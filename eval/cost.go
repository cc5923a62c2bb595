package eval

import (
	"context"
	"fmt"
	"os"
	"time"

	"cpar"
	"cpar/cloud/search"
	"cpar/internal/modq"
	"cpar/model/feature"
	"cpar/model/vector"
	"cpar/user"
	"cpar/user/ive"
	"cpar/user/ope"
	"cpar/user/scorevector"
)

// A CostRow is one search on one core.
type CostRow struct {
	Name string `json:"name"`
	// NS is the median time of a request in the cloud, Bytes the ciphertext read for it.
	NS    int64 `json:"ns"`
	Bytes int64 `json:"bytes"`
	// StreamRatio is the time of a plain read of the same number of bytes,
	// measured in the same run in the faster of two orders, divided by NS.
	StreamRatio float64 `json:"stream_ratio"`

	Search  string  `json:"search,omitempty"`
	Approx  float64 `json:"approx,omitempty"` // AP-X in percent
	Visits  float64 `json:"visits"`
	Speedup float64 `json:"speedup"` // over capia in this run
	// Bound is the speedup that visits alone would allow. MemoryBound is what memory
	// leaves of it: capia's time over that of scoring the same records in the same order.
	Bound       float64 `json:"bound"`
	MemoryBound float64 `json:"memory_bound,omitempty"`
}

// A RequestCost is what the owner computes and sends for a photo; milliseconds are
// medians on one core.
type RequestCost struct {
	Features float64 `json:"features_ms"`
	Encrypt  float64 `json:"encrypt_ms"`
	Bytes    int     `json:"bytes"`
	Reply    int     `json:"reply_bytes"`

	// Vector and Order are parts of Bytes; Planes is what pruning would add.
	Vector int `json:"vector_bytes"`
	Order  int `json:"order_bytes"`
	Planes int `json:"planes_bytes"`
	// Select is for decrypting the reply and ranking its keywords.
	Rank float64 `json:"select_ms"`
}

// A ToolCost is the cost of the paper's single operations here, in milliseconds on one core.
type PrimitiveCost struct {
	// Vector encrypts a record's vector of VectorDim elements.
	Vector    float64 `json:"vector_ms"`
	VectorDim int     `json:"vector_dimension"`
	// Plane encrypts a plane of |SF|+1 elements, BoxedPlane one of 2·m̂+2 as in the paper's box.
	Plane      float64 `json:"plane_ms"`
	BoxedPlane float64 `json:"boxed_plane_ms"`
	BoxedDim   int     `json:"boxed_plane_dimension"`
	// OPE encrypts the |SF| split values of a request with order-preserving encryption.
	OPE float64 `json:"ope_ms"`
}

// A Cost is the cost of one index.
type Cost struct {
	Records  int         `json:"n"`
	Kind     string      `json:"images"`
	Requests int         `json:"requests"`
	Rows     []CostRow   `json:"rows"`
	Roofline *Roofline   `json:"roofline"`
	Build    BuildCost   `json:"build"`
	Request  RequestCost `json:"request"`
	Primitives    PrimitiveCost    `json:"tools"`
}

// costRequests is the number of requests behind a median.
const costRequests = 31

// MeasureCost measures an index of n images: every search in the cloud, the
// build, a request and its reply.
func MeasureCost(ctx context.Context, l *Lab, n int) (*Cost, error) {
	b, err := l.Build(ctx, n)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	c, err := l.Corpus(ctx)
	if err != nil {
		return nil, err
	}
	out := &Cost{Records: n, Kind: c.kind(n), Build: b.Cost}
	if out.Rows, out.Requests, err = b.costRows(ctx, l.Progress); err != nil {
		return nil, err
	}
	scans, err := b.prepare(ctx, searchConfigurations()[0].p, min(batchSizes[len(batchSizes)-1], len(b.Requests)))
	if err != nil {
		return nil, err
	}
	if out.Roofline, err = b.measureRoofline(scans); err != nil {
		return nil, fmt.Errorf("measuring batches: %w", err)
	}
	if row, ok := out.Roofline.row(out.Rows[0].Bytes, out.Rows[0].NS, uint32(n)); ok {
		out.Rows = append(out.Rows, row)
	}
	if out.Request, err = b.requestCost(ctx, c); err != nil {
		return nil, fmt.Errorf("measuring a request: %w", err)
	}
	if out.Primitives, err = primitiveCost(ctx, int(b.Cost.Fields)); err != nil {
		return nil, fmt.Errorf("measuring the paper's operations: %w", err)
	}
	return out, nil
}

func (s *Session) costRows(ctx context.Context, progress user.Progress) ([]CostRow, int, error) {
	configs := searchConfigurations()
	n := min(costRequests, len(s.Requests))
	prepared := make([][]preparedRequest, len(configs))
	for j, conf := range configs {
		var err error
		if prepared[j], err = s.prepare(ctx, conf.p, n); err != nil {
			return nil, 0, fmt.Errorf("%s: %w", conf.name, err)
		}
	}
	tell := func(done, total int) {
		if progress != nil {
			progress("searches", done, total)
		}
	}
	times, err := s.timeSearches(ctx, prepared, tell, nil)
	if err != nil {
		return nil, 0, err
	}
	var rows []CostRow
	base := median(times[0].ns)
	for j, conf := range configs {
		t := times[j]
		row := CostRow{Name: conf.name, NS: median(t.ns), Bytes: int64(mean(t.bytes)), Visits: RoundTo(mean(t.visited), 1)}
		row.StreamRatio = RoundTo(float64(s.streamTime(uint64(row.Bytes)))/float64(row.NS), 3)
		row.Speedup = RoundTo(float64(base)/float64(row.NS), 3)
		row.Bound = RoundTo(float64(s.Cloud.Manifest.Records)/row.Visits, 2)
		if conf.p.Scheme != cpar.SchemeCAPIA {
			row.Search, row.Approx = conf.p.Search.String(), float64(conf.p.Approx)/10
			if row.MemoryBound, err = s.memoryBound(prepared[j], base, n); err != nil {
				return nil, 0, err
			}
		}
		rows = append(rows, row)
	}
	return rows, n, nil
}

// streamTime returns the median time of reading n bytes of the index.
func (s *Session) streamTime(n uint64) int64 {
	t := newStream(s.files)
	t.read(s.Cloud.Manifest.Bytes()/2, modq.Sum)
	var both [2][]int64
	for range 15 {
		t.readTwice(n, &both)
	}
	return min(median(both[0]), median(both[1]))
}

// clockMS returns the median of n calls in milliseconds, after a warm-up call.
func medianMS(ctx context.Context, n int, f func(i int) error) (float64, error) {
	var ns []int64
	for i := range n + 1 {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		begun := time.Now()
		if err := f(i); err != nil {
			return 0, err
		}
		if i > 0 {
			ns = append(ns, time.Since(begun).Nanoseconds())
		}
	}
	return RoundTo(milliseconds(ns), 4), nil
}

func (b *Built) requestCost(ctx context.Context, c *Corpus) (r RequestCost, err error) {
	const times = 25
	// A request to the forest has every part that a request can have.
	p := cpar.Params{Scheme: cpar.SchemeCPAR, Search: cpar.SearchByRank, L: 10, Approx: 100}
	if len(c.TestItems) > 0 {
		data := make([][]byte, min(times+1, len(c.TestItems)))
		for i := range data {
			if data[i], err = os.ReadFile(c.TestItems[i].Path); err != nil {
				return r, fmt.Errorf("%w: %w", cpar.ErrInput, err)
			}
		}
		e := feature.NewExtractor()
		if r.Features, err = medianMS(ctx, times, func(i int) error { _, err := e.Photo(data[i%len(data)], feature.Options{}); return err }); err != nil {
			return r, err
		}
	}
	var list []preparedRequest
	if r.Encrypt, err = medianMS(ctx, times, func(i int) error {
		pending, q, err := b.Builder.RequestVector(b.Requests[i%len(b.Requests)], p)
		list = append(list, preparedRequest{pending, q})
		return err
	}); err != nil {
		return r, err
	}
	replies := make([]*cpar.Reply, len(list))
	for i, a := range list {
		if replies[i], err = search.Annotate(b.Cloud, a.request); err != nil {
			return r, err
		}
	}
	if r.Rank, err = medianMS(ctx, times, func(i int) error {
		_, err := readReply(b.Builder.Owner, list[i%len(list)].pending, replies[i%len(list)])
		return err
	}); err != nil {
		return r, err
	}
	q := list[0].request
	request, err := q.MarshalBinary()
	if err != nil {
		return r, err
	}
	reply, err := replies[0].MarshalBinary()
	if err != nil {
		return r, err
	}
	r.Bytes, r.Reply = len(request), len(reply)
	r.Vector, r.Order = 8*len(q.Vector), int(b.Cloud.Manifest.OrderBytes)*len(q.Order)
	p.Search, p.Prune = cpar.SearchDepthFirst, true
	if _, q, err = b.Builder.RequestVector(b.Requests[0], p); err != nil {
		return r, err
	}
	pruning, err := q.MarshalBinary()
	r.Planes = len(pruning) - len(request)
	return r, err
}

// toolCost times the paper's operations one by one, with random content, on which their
// cost does not depend.
func primitiveCost(ctx context.Context, fields int) (t PrimitiveCost, err error) {
	const times = 15
	secret := [32]byte{'c', 'o', 's', 't'}
	noise := ive.NewNoise(secret)
	vectors := func(dim int) (func(int) error, error) {
		k, err := ive.NewKey(secret, ive.Params{Dim: dim, RecordShift: ive.DistanceShift, RequestShift: ive.DistanceShift})
		v, dst := make([]int64, dim), make([]uint64, dim)
		for i := range v {
			v[i] = int64(i%199 - 99)
		}
		return func(int) error { return k.EncryptRecord(dst, v, noise) }, err
	}
	boxes := scorevector.Paper()
	t.VectorDim, t.BoxedDim = boxes.JL+boxes.KL+3, 2*boxes.JL+2
	for _, part := range []struct {
		to  *float64
		dim int
	}{{&t.Vector, t.VectorDim}, {&t.Plane, fields + 1}, {&t.BoxedPlane, t.BoxedDim}} {
		f, err := vectors(part.dim)
		if err != nil {
			return t, err
		}
		if *part.to, err = medianMS(ctx, times, f); err != nil {
			return t, err
		}
	}
	key, err := ope.NewKey(secret, vector.Beta)
	if err != nil {
		return t, err
	}
	t.OPE, err = medianMS(ctx, times, func(i int) error {
		for field := range fields {
			if _, err := key.Encrypt(field, (field*37+i)%(vector.Beta+1)); err != nil {
				return err
			}
		}
		return nil
	})
	return t, err
}

// Tables implements Result.
func (c *Cost) Tables() []Table {
	t := Table{Name: "cost", Title: fmt.Sprintf("Cloud time a request, n = %d (%s), median of %d requests, one core", c.Records, c.Kind, c.Requests),
		Columns: []string{"search", "AP", "ms", "MB read", "visits", "of stream speed", "speedup", "visits allow", "memory leaves"}}
	for _, r := range c.Rows {
		t.Rows = append(t.Rows, []string{r.Name, FormatNonZero(r.Approx, 1), FormatDecimal(float64(r.NS)/1e6, 3), FormatDecimal(float64(r.Bytes)/1e6, 2), FormatDecimal(r.Visits, 0),
			FormatDecimal(r.StreamRatio, 3), FormatDecimal(r.Speedup, 2), FormatDecimal(r.Bound, 1), FormatNonZero(r.MemoryBound, 2)})
	}
	owner := Table{Name: "cost-owner", Title: "The owner's side: building on all cores, the rest on one", Columns: []string{"what", "value", "unit"}}
	for _, row := range []struct {
		what  string
		value float64
		unit  string
	}{
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
	} {
		owner.Rows = append(owner.Rows, []string{row.what, FormatDecimal(row.value, 3), row.unit})
	}
	tables := []Table{t, owner}
	if c.Roofline != nil {
		tables = append(tables, c.Roofline.table(c.Records))
	}
	return tables
}
