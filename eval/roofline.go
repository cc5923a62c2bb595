package eval

import (
	"fmt"
	"math/rand/v2"
	"time"

	"cpar"
	"cpar/cloud/search"
	"cpar/internal/modq"
)

// A Roofline is how fast scans could be and are, on one core: as fast as memory
// gives words, or as fast as words can be multiplied, whichever is less.
type Roofline struct {
	// Kernels are those of the processor: avx512, avx2 or plain.
	Kernels string `json:"kernels"`
	// BandwidthGBs is a plain sequential read of the index, MultipliesGs what
	// the kernel for many requests does on rows that are in the cache, in 10⁹ a
	// second; one multiplication is a word of a record by a word of a request.
	BandwidthGBs float64         `json:"bandwidth_gb_s"`
	MultipliesGs float64         `json:"multiplies_g_s"`
	Points       []RooflinePoint `json:"points"`
}

// A RooflinePoint is so many scans in one pass over memory.
type RooflinePoint struct {
	Batch int   `json:"batch"`
	NS    int64 `json:"ns"`
	// Intensity is multiplications for a byte read, Rate 10⁹ of them a second.
	Intensity float64 `json:"multiplies_a_byte"`
	Rate      float64 `json:"multiplies_g_s"`
	// OfRoof is Rate over what the two limits allow.
	OfRoof float64 `json:"of_roof"`
}

// batches are the numbers of requests of the roofline's points; batch16 is a
// row of Cost as well.
var batches = []int{1, 2, 4, 8, 16, 32, 64}

const batchRow = 16

// measureRoofline answers capia requests by the batch, on one core.
func (s *Session) measureRoofline(list []asked) (*Roofline, error) {
	m := s.Cloud.Manifest
	bytes := 8 * uint64(m.Dim) * uint64(m.Records)
	r := &Roofline{Kernels: modq.Kernels(), MultipliesGs: round(multiplies(int(m.Dim)), 2)}
	r.BandwidthGBs = round(float64(bytes)/float64(s.streamTime(bytes)), 2)
	for _, n := range batches {
		requests := make([]*cpar.Request, n)
		var ns []int64
		if err := quietly(func() error {
			for round := range 8 { // the first warms up
				for i := range requests {
					requests[i] = list[(round*n+i)%len(list)].q
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
		p.OfRoof = round(p.Rate/min(r.BandwidthGBs*p.Intensity, r.MultipliesGs), 3)
		p.Rate = round(p.Rate, 3)
		r.Points = append(r.Points, p)
	}
	return r, nil
}

// multiplies is how many multiplications a core does in a nanosecond when
// nothing has to come from memory.
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

// row is the roofline's batch of 16 as a row of the cost.
func (r *Roofline) row(bytes, base int64, records uint32) (CostRow, bool) {
	for _, p := range r.Points {
		if p.Batch == batchRow {
			stream := float64(bytes) / r.BandwidthGBs
			return CostRow{Name: fmt.Sprintf("batch%d", batchRow), NS: p.NS, Bytes: bytes, Visits: float64(records),
				StreamRatio: round(stream/float64(p.NS), 3), Speedup: round(batchRow*float64(base)/float64(p.NS), 3), Bound: batchRow}, true
		}
	}
	return CostRow{}, false
}

// table lays the roofline out.
func (r *Roofline) table(records int) Table {
	t := Table{Name: "roofline", Title: fmt.Sprintf("Scans of %d records by the batch, one core (%s): memory gives %s GB/s, the multiplier %s·10⁹ a second",
		records, r.Kernels, num(r.BandwidthGBs, 1), num(r.MultipliesGs, 1)),
		Columns: []string{"requests in one pass", "ms", "ms a request", "multiplications a byte", "10⁹ a second", "of the roof"}}
	for _, p := range r.Points {
		t.Rows = append(t.Rows, []string{whole(p.Batch), num(float64(p.NS)/1e6, 2), num(float64(p.NS)/1e6/float64(p.Batch), 2),
			num(p.Intensity, 3), num(p.Rate, 2), num(p.OfRoof, 2)})
	}
	return t
}
