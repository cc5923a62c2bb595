package eval

import (
	"fmt"
	"math/rand/v2"
	"time"

	"cpar"
	"cpar/cloud/search"
	"cpar/internal/modq"
)

// A Roofline compares the speed of scans on one core with its two limits: the speed at
// which memory delivers words, and that of multiplying them.
type Roofline struct {
	// Kernels are the kernels in use: avx512, avx2 or plain.
	Kernels string `json:"kernels"`
	// BandwidthGBs is measured by a plain read of the index, as fast as it can be read. MultipliesGs is
	// the rate of the kernel for many requests on rows in the cache, in 10⁹ per second;
	// one multiplication is a word of a record times a word of a request.
	BandwidthGBs float64         `json:"bandwidth_gb_s"`
	MultipliesGs float64         `json:"multiplies_g_s"`
	Points       []RooflinePoint `json:"points"`
}

// A RooflinePoint is a batch of scans in one pass over memory.
type RooflinePoint struct {
	Batch int   `json:"batch"`
	NS    int64 `json:"ns"`
	// Intensity is multiplications per byte read, Rate 10⁹ of them per second.
	Intensity float64 `json:"multiplies_a_byte"`
	Rate      float64 `json:"multiplies_g_s"`
	// OfRoof is Rate relative to what the two limits allow.
	OfRoof float64 `json:"of_roof"`
}

// batches are the numbers of requests for the roofline's points; batchRow is also a row of Cost.
var batchSizes = []int{1, 2, 4, 8, 16, 32, 64}

const costBatch = 16

// measureRoofline answers capia requests in batches, on one core.
func (s *Session) measureRoofline(list []preparedRequest) (*Roofline, error) {
	m := s.Cloud.Manifest
	bytes := 8 * uint64(m.Dim) * uint64(m.Records)
	r := &Roofline{Kernels: modq.Kernels(), MultipliesGs: RoundTo(multiplies(int(m.Dim)), 2)}
	r.BandwidthGBs = RoundTo(float64(bytes)/float64(s.streamTime(bytes)), 2)
	for _, n := range batchSizes {
		requests := make([]*cpar.Request, n)
		var ns []int64
		if err := withoutGC(func() error {
			for round := range 8 { // the first warms up
				for i := range requests {
					requests[i] = list[(round*n+i)%len(list)].request
				}
				begun := time.Now()
				replies, err := search.AnnotateBatch(s.Cloud, requests)
				took := time.Since(begun).Nanoseconds()
				if err != nil {
					return fmt.Errorf("a batch of %d: %w", n, err)
				}
				if len(replies) != n {
					return fmt.Errorf("a batch of %d has %d replies", n, len(replies))
				}
				if round > 0 {
					ns = append(ns, took)
				}
			}
			return nil
		}); err != nil {
			return nil, err
		}
		p := RooflinePoint{Batch: n, NS: median(ns), Intensity: float64(n) / 8}
		p.Rate = float64(bytes) * p.Intensity / float64(p.NS)
		p.OfRoof = RoundTo(p.Rate/min(r.BandwidthGBs*p.Intensity, r.MultipliesGs), 3)
		p.Rate = RoundTo(p.Rate, 3)
		r.Points = append(r.Points, p)
	}
	return r, nil
}

// multiplies returns the number of multiplications that a core does per nanosecond when
// all data are in the cache.
func multiplies(dim int) float64 {
	const rows, requests = 16, 16
	rng := rand.New(rand.NewPCG(1, 1))
	matrix, x := make([]uint64, rows*dim), make([][]uint64, requests)
	for i := range matrix {
		matrix[i] = rng.Uint64()
	}
	for i := range x {
		x[i] = matrix[i*dim : (i+1)*dim]
	}
	packed, dst := modq.Pack(x), make([]uint64, rows*requests)
	ns := make([]int64, 101)
	for i := range ns {
		begun := time.Now()
		modq.RowsMany(dst, matrix, packed, requests)
		ns[i] = time.Since(begun).Nanoseconds()
	}
	return float64(rows*requests*dim) / float64(median(ns))
}

// row returns the roofline's batch of 16 as a row of Cost.
func (r *Roofline) row(bytes, base int64, records uint32) (CostRow, bool) {
	for _, p := range r.Points {
		if p.Batch == costBatch {
			stream := float64(bytes) / r.BandwidthGBs
			return CostRow{Name: fmt.Sprintf("batch%d", costBatch), NS: p.NS, Bytes: bytes, Visits: float64(records),
				StreamRatio: RoundTo(stream/float64(p.NS), 3), Speedup: RoundTo(costBatch*float64(base)/float64(p.NS), 3), Bound: costBatch}, true
		}
	}
	return CostRow{}, false
}

// table returns the roofline as a table.
func (r *Roofline) table(records int) Table {
	t := Table{Name: "roofline", Title: fmt.Sprintf("Scans of %d records by the batch, one core (%s): memory gives %s GB/s, the multiplier %s·10⁹ a second",
		records, r.Kernels, FormatDecimal(r.BandwidthGBs, 1), FormatDecimal(r.MultipliesGs, 1)),
		Columns: []string{"requests in one pass", "ms", "ms a request", "multiplications a byte", "10⁹ a second", "of the roof"}}
	for _, p := range r.Points {
		t.Rows = append(t.Rows, []string{FormatInt(p.Batch), FormatDecimal(float64(p.NS)/1e6, 2), FormatDecimal(float64(p.NS)/1e6/float64(p.Batch), 2),
			FormatDecimal(p.Intensity, 3), FormatDecimal(p.Rate, 2), FormatDecimal(p.OfRoof, 2)})
	}
	return t
}
