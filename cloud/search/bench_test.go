package search

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"cpar"
	"cpar/cloud/score"
	"cpar/internal/indexdir"
	"cpar/internal/modq"
)

// BenchmarkAnnotate measures requests to n records of profile paper. It reports
// the ratio to a plain read of the same bytes on one core. A ratio of 1 is the
// memory limit of one core, which two cores and batches can beat.
func BenchmarkAnnotate(b *testing.B) {
	for _, n := range []int{4500, 20000} {
		x := fakeIndex(b, n, 1347, 300)
		words := make([]uint64, n*1347)
		for i := range words {
			words[i] = uint64(i)
		}
		for _, c := range []struct {
			name string
			p    cpar.Params
		}{
			{"capia", params(cpar.SchemeCAPIA, 1000)},
			{"depth@100", params(cpar.SchemeCPAR, 1000)},
			{"depth@10", params(cpar.SchemeCPAR, 100)},
			{"depth@2.5", params(cpar.SchemeCPAR, 25)},
			{"rank@10", by(cpar.SearchByRank, 100)},
			{"rank@2.5", by(cpar.SearchByRank, 25)},
			{"bestbin@10", by(cpar.SearchBestBin, 100)},
			{"bestbin@2.5", by(cpar.SearchBestBin, 25)},
			{"ivf@100", by(cpar.SearchIVF, 1000)},
			{"ivf@10", by(cpar.SearchIVF, 100)},
			{"ivf@2.5", by(cpar.SearchIVF, 25)},
		} {
			// A single request would keep its records in the cache.
			requests := make([]*cpar.Request, 64)
			for i := range requests {
				requests[i] = request(x, c.p, uint64(i))
			}
			for _, workers := range []int{1, 2} {
				for _, batch := range []int{1, 4, 16} {
					b.Run(fmt.Sprintf("n=%d/%s/workers=%d/batch=%d", n, c.name, workers, batch), func(b *testing.B) {
						o := Options{Workers: workers}
						var touched uint64
						sum := streaming(words)
						b.ReportAllocs()
						for i := 0; b.Loop(); i++ {
							if batch == 1 {
								a, err := o.Annotate(b.Context(), x, requests[i%len(requests)])
								if err != nil {
									b.Fatal(err)
								}
								touched += a.Touched
								continue
							}
							at := i * batch % len(requests)
							all, err := o.AnnotateBatch(b.Context(), x, requests[at:at+batch])
							if err != nil {
								b.Fatal(err)
							}
							for _, a := range all {
								touched += a.Touched
							}
						}
						sum = min(sum, streaming(words))
						ns := float64(b.Elapsed().Nanoseconds())
						b.ReportMetric(ns/float64(b.N*batch)/1e6, "ms/request")
						b.ReportMetric(float64(touched)/ns*1e3, "MB/s")
						b.ReportMetric(ns/float64(touched)/sum, "×Sum")
					})
				}
			}
		}
	}
}

func by(s cpar.Search, approx uint16) cpar.Params {
	return cpar.Params{Scheme: cpar.SchemeCPAR, Search: s, L: 10, Approx: approx}
}

func BenchmarkMemory(b *testing.B) {
	folder := b.TempDir()
	m, segments := parts(b, cpar.PlaceNode, 20000, 1347, 300)
	w, err := indexdir.Create(folder, indexdir.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	listed := m.Segments
	m.Segments = nil
	for i, segment := range listed {
		most := len(segments[i])
		if segment.Kind == cpar.SegmentVectors {
			most = 64 << 20 / (8 * 1347) * (8 * 1347)
		}
		for part := range slices.Chunk(segments[i], most) {
			out, err := w.AddSegment(segment.Kind)
			if err != nil {
				b.Fatal(err)
			}
			for some := range slices.Chunk(part, 64<<10) {
				if _, err := out.Write(some); err != nil {
					b.Fatal(err)
				}
			}
			s, err := out.Close()
			if err != nil {
				b.Fatal(err)
			}
			m.Segments = append(m.Segments, s)
		}
	}
	if err := w.Activate(m); err != nil {
		b.Fatal(err)
	}
	memories := []indexdir.Memory{indexdir.MemoryMap, indexdir.MemoryHuge}
	for _, c := range []struct {
		name string
		p    cpar.Params
	}{{"capia", params(cpar.SchemeCAPIA, 1000)}, {"depth@10", params(cpar.SchemeCPAR, 100)}, {"ivf@10", by(cpar.SearchIVF, 100)}} {
		for range 3 { // interleaved, because machines have slow phases
			for _, memory := range memories {
				b.Run(fmt.Sprintf("%s/%v", c.name, memory), func(b *testing.B) {
					files, err := memory.Open(folder)
					if err != nil {
						b.Fatal(err)
					}
					defer files.Release()
					x, err := score.Load(files.Manifest(), files.Segments())
					if err != nil {
						b.Fatal(err)
					}
					requests := make([]*cpar.Request, 64)
					for i := range requests {
						requests[i] = request(x, c.p, uint64(i))
					}
					for i := 0; b.Loop(); i++ {
						if _, err := Annotate(x, requests[i%len(requests)]); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
}

// streaming returns the nanoseconds per byte of a plain read, the best of
// several runs in two orders of reading.
func streaming(words []uint64) float64 {
	best := time.Duration(1 << 62)
	for range 3 {
		for _, read := range []func([]uint64) uint64{modq.Sum, modq.SumFour} {
			begun := time.Now()
			sink += read(words)
			best = min(best, time.Since(begun))
		}
	}
	return float64(best.Nanoseconds()) / float64(8*len(words))
}

var sink uint64
