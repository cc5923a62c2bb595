package cost

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"cpar"
	"cpar/cloud/search"
	"cpar/eval/measure"
	"cpar/eval/plot"
	"cpar/internal/modq"
)

// A Roofline compares the speed of scans on one core with two limits: memory
// and multiplication.
type Roofline struct {
	// Kernels names the kernels in use: avx512, avx2 or plain.
	Kernels string `json:"kernels"`
	// BandwidthGBs is the rate of a plain read of the index.
	BandwidthGBs float64 `json:"bandwidth_gb_s"`
	// MultipliesGs is the rate of the kernel for many requests on cached rows,
	// in 10⁹ multiplications per second. A multiplication takes a 64-bit word
	// of a record and of a request.
	MultipliesGs float64         `json:"multiplies_g_s"`
	Points       []RooflinePoint `json:"points"`
}

type RooflinePoint struct {
	Batch int   `json:"batch"`
	NS    int64 `json:"ns"`
	// Intensity is the number of multiplications per byte read. Rate is in 10⁹
	// multiplications per second.
	Intensity float64 `json:"multiplies_a_byte"`
	Rate      float64 `json:"multiplies_g_s"`
	// OfRoof is Rate divided by the maximum rate that the two limits allow.
	OfRoof float64 `json:"of_roof"`
}

// BatchSizes lists the numbers of requests per scan. Cost also has a row for
// costBatch.
var BatchSizes = []int{1, 2, 4, 8, 16, 32, 64}

const costBatch = 16

func measureRoofline(s *measure.Session, list []measure.PreparedRequest) (*Roofline, error) {
	m := s.Cloud.Manifest
	bytes := 8 * uint64(m.Dim) * uint64(m.Records)
	r := &Roofline{Kernels: modq.Kernels(), MultipliesGs: measure.RoundTo(multiplies(int(m.Dim)), 2)}
	r.BandwidthGBs = measure.RoundTo(float64(bytes)/float64(s.StreamTime(bytes)), 2)
	for _, n := range BatchSizes {
		requests := make([]*cpar.Request, n)
		var ns []int64
		if err := measure.WithoutGC(func() error {
			for round := range 8 { // the first round warms up
				for i := range requests {
					requests[i] = list[(round*n+i)%len(list)].Request
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
		p := RooflinePoint{Batch: n, NS: measure.Median(ns), Intensity: float64(n) / 8}
		p.Rate = float64(bytes) * p.Intensity / float64(p.NS)
		p.OfRoof = measure.RoundTo(p.Rate/min(r.BandwidthGBs*p.Intensity, r.MultipliesGs), 3)
		p.Rate = measure.RoundTo(p.Rate, 3)
		r.Points = append(r.Points, p)
	}
	return r, nil
}

// multiplies returns the rate of multiplications on cached data and one core,
// in 10⁹ per second.
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
	return float64(rows*requests*dim) / float64(measure.Median(ns))
}

func (r *Roofline) row(bytes, base int64, records uint32) CostRow {
	p := r.Points[slices.Index(BatchSizes, costBatch)]
	stream := float64(bytes) / r.BandwidthGBs
	return CostRow{Name: fmt.Sprintf("batch%d", costBatch), NS: p.NS, Bytes: bytes, Visits: float64(records),
		StreamRatio: measure.RoundTo(stream/float64(p.NS), 3), Speedup: measure.RoundTo(costBatch*float64(base)/float64(p.NS), 3), Bound: costBatch}
}

func (r *Roofline) table(records int) measure.Table {
	t := measure.Table{Name: "roofline", Title: fmt.Sprintf("Scans of %d records by the batch, one core (%s): memory gives %s GB/s, the multiplier %s·10⁹ a second",
		records, r.Kernels, measure.FormatDecimal(r.BandwidthGBs, 1), measure.FormatDecimal(r.MultipliesGs, 1)),
		Columns: []string{"requests in one pass", "ms", "ms a request", "multiplications a byte", "10⁹ a second", "of the roof"}}
	for _, p := range r.Points {
		t.Rows = append(t.Rows, []string{measure.FormatInt(p.Batch), measure.FormatDecimal(float64(p.NS)/1e6, 2), measure.FormatDecimal(float64(p.NS)/1e6/float64(p.Batch), 2),
			measure.FormatDecimal(p.Intensity, 3), measure.FormatDecimal(p.Rate, 2), measure.FormatDecimal(p.OfRoof, 2)})
	}
	return t
}

func (r *Roofline) figure(records int) plot.Figure {
	f := plot.Figure{Name: "roofline", Title: fmt.Sprintf("Scans by the batch, n = %s, one core", measure.FormatThousands(records)),
		X: plot.Axis{Label: "multiplications for a byte read", Log: true, Ticks: []float64{0.125, 0.25, 0.5, 1, 2, 4, 8}},
		Y: plot.Axis{Label: "multiplications a nanosecond", Log: true, Ticks: []float64{1, 2, 5, 10, 20}}}
	points := plot.Series{Name: "batches of 1 to 64 scans", Colour: plot.Blue,
		Points: measure.Map(r.Points, func(p RooflinePoint) plot.Point { return plot.Point{X: p.Intensity, Y: p.Rate} })}
	left, right := r.Points[0].Intensity, r.Points[len(r.Points)-1].Intensity
	ridge := min(max(left, r.MultipliesGs/r.BandwidthGBs), right)
	f.Series = []plot.Series{points,
		{Name: "memory", Colour: plot.Grey, Style: plot.Dashed, Points: []plot.Point{{X: left, Y: left * r.BandwidthGBs}, {X: ridge, Y: ridge * r.BandwidthGBs}}},
		{Name: "multiplier", Colour: plot.Purple, Style: plot.Dashed, Points: []plot.Point{{X: ridge, Y: r.MultipliesGs}, {X: right, Y: r.MultipliesGs}}}}
	return f
}
