package kdforest

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

func BenchmarkBuild(b *testing.B) {
	for _, n := range []int{4500, 20000} {
		rows := clustered(testRand(40), n, 864, 100)
		b.Run(fmt.Sprintf("uint16/%dx864", n), func(b *testing.B) {
			for b.Loop() {
				mustBuild(b, rows, BuildOptions{})
			}
		})
	}
	rng := testRand(41)
	rows := make([][]float32, 20000)
	for i := range rows {
		rows[i] = make([]float32, 64)
		for j := range rows[i] {
			rows[i][j] = float32(rng.NormFloat64())
		}
	}
	b.Run("leaves/20000x64", func(b *testing.B) {
		for b.Loop() {
			mustBuild(b, rows, BuildOptions{Place: PlaceLeaf})
		}
	})
	b.Run("float32/20000x64", func(b *testing.B) {
		for b.Loop() {
			mustBuild(b, rows, BuildOptions{})
		}
	})
	same := make([][]uint16, 20000)
	for i := range same {
		same[i] = make([]uint16, 864)
	}
	b.Run("identical/20000x864", func(b *testing.B) {
		for b.Loop() {
			mustBuild(b, same, BuildOptions{})
		}
	})
}

// freeSpace costs nothing, to measure only the search.
type freeSpace struct {
	scores []int64 // by record
	left   []bool  // by plane
	fields []Field
}

func (s *freeSpace) Left(p uint32) bool        { return s.left[p] }
func (s *freeSpace) Beyond(uint32, int64) bool { return false }
func (s *freeSpace) Score(records []uint32, scores []int64) {
	for i, r := range records {
		scores[i] = s.scores[r]
	}
}

func (s *freeSpace) Fields() []Field { return s.fields }

func (s *freeSpace) Distance(p uint32) float64 { return float64(p % 64) }
func (s *freeSpace) Reach(int64) float64       { return 1 << 20 }

func newFree(rng *rand.Rand, f *Forest) *freeSpace {
	s := &freeSpace{}
	for range f.Records {
		s.scores = append(s.scores, rng.Int64())
	}
	const fields = 64
	for i := range uint32(fields) {
		first, last := f.Planes*i/fields, f.Planes*(i+1)/fields
		s.fields = append(s.fields, Field{first, last, (last - first) / 2})
		for p := first; p < last; p++ {
			s.left = append(s.left, p-first >= (last-first)/2)
		}
	}
	return s
}

func BenchmarkSearch(b *testing.B) {
	rows := clustered(testRand(42), 20000, 32, 100)
	f, _ := mustBuild(b, rows, BuildOptions{})
	space := newFree(testRand(43), f)
	for _, tenths := range []int{25, 100, 200, 1000} {
		visits, err := Visits(tenths, len(rows), 10)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("AP-%.1f", float64(tenths)/10), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := f.Search(space, Options{Visits: visits, L: 10}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*visits), "ns/visit")
		})
	}
	ballots := NewBallots(f)
	for _, tenths := range []int{25, 100} {
		b.Run(fmt.Sprintf("AP-%.1f by rank", float64(tenths)/10), func(b *testing.B) {
			visits := len(rows) * tenths / 1000
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := f.Search(space, Options{Visits: visits, L: 10, Order: ByRank, Ballots: ballots}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*visits), "ns/visit")
		})
	}
	for place, name := range []string{"nodes", "leaves"} {
		f, _ := mustBuild(b, rows, BuildOptions{Place: Place(place)})
		space := newFree(testRand(43), f)
		b.Run("AP-10.0 best bin, records at "+name, func(b *testing.B) {
			visits := len(rows) / 10
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := f.Search(space, Options{Visits: visits, L: 10, Order: BestBin}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*visits), "ns/visit")
		})
	}
	b.Run("scan", func(b *testing.B) {
		for b.Loop() {
			if _, err := Scan(space, len(rows), 10); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(rows)), "ns/visit")
	})
}

func BenchmarkValidate(b *testing.B) {
	rows := clustered(testRand(44), 20000, 8, 100)
	f, _ := mustBuild(b, rows, BuildOptions{})
	for b.Loop() {
		if err := f.Validate(); err != nil {
			b.Fatal(err)
		}
	}
}
