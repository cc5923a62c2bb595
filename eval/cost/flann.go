package cost

import (
	"context"
	"fmt"
	"slices"

	"cpar"
	"cpar/eval/measure"
	"cpar/kdforest"
	"cpar/model/pca"
	"cpar/model/vector"
	"cpar/user"
)

const (
	flannNeighbours = 10 // neighbours requested
	flannTrees      = 10
	// flannBuilds is the number of forests over which results are averaged.
	// FLANN's forests differ in every run, and recall varies by about 0.01.
	flannBuilds = 3
	pcaDims     = 64
)

// flannVisitShares lists maximum numbers of visits, in tenths of a percent of
// the records.
var flannVisitShares = []int{5, 10, 15, 25, 50, 75, 100, 150, 200, 300, 400, 600}

var flannRecalls = []float64{0.8, 0.9}

const (
	LibraryFLANN     = "flann"
	LibraryLeaf      = "cpar-plain-leaf"     // records in leaves only, as in FLANN
	LibraryNode      = "cpar-plain-node"     // a record at every node, as in the paper
	LibraryEncrypted = "cpar-encrypted-node" // the server's encrypted forest
)

// FLANN compares the forest of package kdforest with FLANN's randomized
// kd-forest. It relates recall (the share found of the ten nearest records) to
// visits and time, for the same vectors, number of trees and distance.
//
// There are two spaces, both with squared L2 distance. jl1296 holds the
// integers of the Johnson-Lindenstrauss projection of a photo's 864 levels
// (quantised features). pca64 holds the first 64 principal components of the
// features before quantisation.
//
// Everything runs on one core, one request at a time. FLANN is C++, compiled
// with -O3 from its headers. Our forest is plain Go. Both use float32. The
// encrypted forest works on 64-bit integers, splits levels, and adds the
// divergence of lab histograms to the distance. Its recall is relative to its
// own scan. Its visits are therefore comparable with the plain forest's visits
// over levels, but not with FLANN's. Its time shows the price of privacy.
type FLANN struct {
	Records    int `json:"records"`
	Requests   int `json:"requests"`
	Neighbours int `json:"neighbours"`
	Trees      int `json:"trees"`
	// Builds is the number of forests over which each value is averaged.
	// Encrypted forests are not averaged.
	Builds int          `json:"builds"`
	Points []FLANNRow   `json:"rows"`
	Equal  []FLANNEqual `json:"equal_recall"`
	Price  []FLANNPrice `json:"price_of_privacy"`
}

type FLANNRow struct {
	FLANNCurve
	// Visits is the maximum number of distinct records visited (called checks
	// in FLANN). Approx is this number in percent of the records.
	Visits int     `json:"visits"`
	Approx float64 `json:"approx"`
	// Visited is the mean number of visits. It is below Visits if searches ran
	// out of reachable records.
	Visited float64 `json:"visited"`
	Recall  float64 `json:"recall_at_10"`
	Micros  float64 `json:"us_per_request"`
}

type FLANNCurve struct {
	Space   string `json:"space"`
	Library string `json:"library"`
	// Search is "best-bin", "by-rank", "depth-first" or "scan".
	Search string `json:"search"`
	// Splits names the values that planes split: "vectors" (the compared
	// vectors themselves) or "levels" (the 864 quantised features).
	Splits string `json:"splits"`
}

// A FLANNEqual is a point of a curve at a given recall, by linear
// interpolation. It is compared with FLANN's point in the same space.
type FLANNEqual struct {
	FLANNCurve
	Recall          float64 `json:"recall_at_10"`
	Visited         float64 `json:"visited"`
	Micros          float64 `json:"us_per_request"`
	VisitsOverFLANN float64 `json:"visits_over_flann"`
	TimeOverFLANN   float64 `json:"time_over_flann"`
}

// A FLANNPrice is the time of an encrypted search, divided by FLANN's time at
// equal recall or by the time of the same plaintext search at equal visits.
type FLANNPrice struct {
	At        string     `json:"at"`
	Encrypted FLANNCurve `json:"encrypted"`
	Against   FLANNCurve `json:"against"`
	Factor    float64    `json:"factor"`
}

// MeasureFLANNOfCorpus builds an index and measures it. The encrypted forest
// follows the paper: it splits levels and has a record at every node.
func MeasureFLANNOfCorpus(ctx context.Context, c *measure.Corpus, progress user.Progress) (*FLANN, error) {
	s, err := measure.NewSession(ctx, c, user.Options{Split: user.SplitOriginal, Place: cpar.PlaceNode, Progress: progress})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return MeasureFLANN(ctx, s, progress)
}

// MeasureFLANN compiles FLANN's driver and runs it and our forests over the
// vectors of session s. It then runs the encrypted forest of s.
func MeasureFLANN(ctx context.Context, s *measure.Session, progress user.Progress) (*FLANN, error) {
	if s.Twin == nil {
		return nil, fmt.Errorf("comparing with FLANN: %w: the session has no plaintext of its records", cpar.ErrInput)
	}
	peer, err := compileDriver(ctx, flannLibrary)
	if err != nil {
		return nil, err
	}
	defer peer.close()
	records := len(s.Corpus.Train)
	f := &FLANN{Records: records, Requests: len(s.Requests), Neighbours: min(flannNeighbours, records), Trees: flannTrees, Builds: flannBuilds}
	m := &flannRun{FLANN: f, peer: peer, progress: progress}

	jl, err := jlTable(s)
	if err != nil {
		return nil, err
	}
	if err := m.space(ctx, jl); err != nil {
		return nil, err
	}
	if err := m.levels(ctx, jl, s); err != nil {
		return nil, err
	}
	if err := m.encrypted(ctx, jl.name, s); err != nil {
		return nil, err
	}
	reduced, err := pcaTable(s)
	if err != nil {
		return nil, err
	}
	if err := m.space(ctx, reduced); err != nil {
		return nil, err
	}
	f.compare()
	return f, nil
}

type vectorTable struct {
	name              string
	d                 int
	records, requests [][]float32
	truth             [][]uint32 // nearest records of every request (setTruth)
}

func jlTable(s *measure.Session) (*vectorTable, error) {
	d := s.Builder.Profile().Layout().JL
	t := &vectorTable{name: fmt.Sprintf("jl%d", d), d: d}
	for _, part := range []struct {
		vectors []*vector.Vector
		to      *[][]float32
	}{{s.Builder.Vectors(), &t.records}, {s.Requests, &t.requests}} {
		z, err := s.Builder.Projector().ProjectAll(part.vectors)
		if err != nil {
			return nil, fmt.Errorf("comparing with FLANN: %w", err)
		}
		*part.to = measure.Map(z, toFloat32s[int16])
	}
	return t, nil
}

func pcaTable(s *measure.Session) (*vectorTable, error) {
	var records, requests [][]float32
	for _, part := range []struct {
		images []user.Photo
		to     *[][]float32
	}{{s.Records(), &records}, {s.Corpus.Test, &requests}} {
		list, err := s.Unrounded(part.images)
		if err != nil {
			return nil, fmt.Errorf("comparing with FLANN: %w", err)
		}
		*part.to = measure.Map(list, func(v measure.Unquantized) []float32 { return toFloat32s(v.L1) })
	}
	basis, err := pca.Fit(context.Background(), records, pcaDims, 1)
	if err != nil {
		return nil, fmt.Errorf("comparing with FLANN: %w", err)
	}
	project := func(x []float32) []float32 { return toFloat32s(basis.Project(x)) }
	return &vectorTable{name: fmt.Sprintf("pca%d", pcaDims), d: pcaDims, records: measure.Map(records, project), requests: measure.Map(requests, project)}, nil
}

func toFloat32s[T int16 | float64](x []T) []float32 {
	return measure.Map(x, func(v T) float32 { return float32(v) })
}

// visits converts flannVisitShares to numbers of visits. It merges equal
// numbers, which occur in small collections.
func (f *FLANN) visits() ([]int, error) {
	var list []int
	for _, tenths := range flannVisitShares {
		v, err := kdforest.Visits(tenths, f.Records, f.Neighbours)
		if err != nil {
			return nil, fmt.Errorf("comparing with FLANN: %w: %w", cpar.ErrInput, err)
		}
		list = append(list, v)
	}
	return slices.Compact(list), nil
}

func (f *FLANN) row(c FLANNCurve, visits int, visited, recall, seconds float64) {
	f.Points = append(f.Points, FLANNRow{
		FLANNCurve: c, Visits: visits, Approx: measure.RoundTo(100*float64(visits)/float64(f.Records), 2),
		Visited: measure.RoundTo(visited, 1), Recall: measure.RoundTo(recall, 4), Micros: measure.RoundTo(1e6*seconds, 2),
	})
}

// at interpolates curve c at the point where it first reaches a recall. Result
// ok is false if the curve begins above the recall or never reaches it.
func (f *FLANN) at(c FLANNCurve, recall float64) (visited, micros float64, ok bool) {
	var last FLANNRow
	for _, r := range f.Points { // the points of each curve are in ascending order of visits
		if r.FLANNCurve != c {
			continue
		}
		if r.Recall >= recall {
			if last.Visits == 0 {
				return 0, 0, false
			}
			share := (recall - last.Recall) / (r.Recall - last.Recall)
			return last.Visited + share*(r.Visited-last.Visited), last.Micros + share*(r.Micros-last.Micros), true
		}
		last = r
	}
	return 0, 0, false
}

func (f *FLANN) compare() {
	var curves []FLANNCurve
	for _, r := range f.Points {
		if r.Search != searchScan && !slices.Contains(curves, r.FLANNCurve) {
			curves = append(curves, r.FLANNCurve)
		}
	}
	for _, recall := range flannRecalls {
		found := map[FLANNCurve]FLANNEqual{}
		for _, c := range curves {
			e := FLANNEqual{FLANNCurve: c, Recall: recall}
			var ok bool
			if e.Visited, e.Micros, ok = f.at(c, recall); !ok {
				continue
			}
			if v, t, ok := f.at(flannCurve(c.Space), recall); ok {
				e.VisitsOverFLANN, e.TimeOverFLANN = measure.RoundTo(e.Visited/v, 3), measure.RoundTo(e.Micros/t, 3)
			}
			e.Visited, e.Micros = measure.RoundTo(e.Visited, 1), measure.RoundTo(e.Micros, 2)
			f.Equal = append(f.Equal, e)
			found[c] = e
		}
		var best *FLANNEqual // fastest encrypted search
		for _, c := range curves {
			if e, ok := found[c]; ok && c.Library == LibraryEncrypted && (best == nil || e.Micros < best.Micros) {
				best = &e
			}
		}
		for _, c := range curves {
			if e, ok := found[c]; ok && best != nil && c.Library == LibraryFLANN {
				at := fmt.Sprintf("recall %.2f", recall)
				f.Price = append(f.Price, FLANNPrice{At: at, Encrypted: best.FLANNCurve, Against: c, Factor: measure.RoundTo(best.Micros/e.Micros, 2)})
			}
		}
	}
	for _, e := range f.Points {
		for _, p := range f.Points {
			if e.Library == LibraryEncrypted && p.Library == LibraryNode && e.Search == p.Search && e.Splits == p.Splits &&
				e.Visits == p.Visits && e.Visits == (f.Records+9)/10 {
				f.Price = append(f.Price, FLANNPrice{At: "AP-10", Encrypted: e.FLANNCurve, Against: p.FLANNCurve, Factor: measure.RoundTo(e.Micros/p.Micros, 2)})
			}
		}
	}
}
