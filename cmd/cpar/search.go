package main

import (
	"cmp"
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"cpar"
)

// usualApprox is the default approximation power AP-X of Section IV-A: the
// share of records to visit, in percent.
const usualApprox = 10

// searchFlags are the flags that set cpar.Params.
type searchFlags struct {
	scheme     string
	search     string
	neighbours int
	approx     float64
	prune      bool
	// asked holds the parameters that flags set, after parse. The index
	// provides the others.
	asked cpar.Params
}

func (f *searchFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.scheme, "scheme", "", "cpar or ivf (some of the photos), capia (scan of all), sealed (scan that the cloud cannot read) or local (scan on this device); default: the scheme of the index")
	c.Flags().IntVar(&f.neighbours, "neighbours", 0, "number of nearest photos whose keywords count (default: as the index's ranker needs, 10 for the paper's)")
	c.Flags().Float64Var(&f.approx, "approx", usualApprox, "approximation power AP-X: percent of the photos that a search may visit, 0.1 to 100")
	c.Flags().StringVar(&f.search, "search", "", "how to search an index of scheme cpar: depth (the paper's Algorithm 1, the default), rank (finds more), bestbin, or ivf if it also holds an inverted file")
	c.Flags().BoolVar(&f.prune, "prune", false, "search depth first and skip subtrees by plane distance; shows the cloud more (SECURITY.md)")
}

// parse refuses parameters that no index supports.
func (f *searchFlags) parse() (err error) {
	if f.scheme != "" {
		if f.asked.Scheme, err = cpar.ParseScheme(f.scheme); err != nil {
			return err
		}
	}
	if f.search != "" {
		if f.asked.Search, err = cpar.ParseSearch(f.search); err != nil {
			return err
		}
	}
	if f.neighbours < 0 || f.neighbours > cpar.MaxNeighbours {
		return fmt.Errorf("%w: --neighbours %d; 1 to %d are possible", cpar.ErrInput, f.neighbours, cpar.MaxNeighbours)
	}
	tenths := math.Round(f.approx * 10)
	if math.Abs(tenths-f.approx*10) > 1e-6 || tenths < 1 || tenths > 1000 {
		return fmt.Errorf("%w: --approx %g; it is a percentage from 0.1 to 100 in steps of 0.1", cpar.ErrInput, f.approx)
	}
	f.asked.L, f.asked.Approx, f.asked.Prune = uint16(f.neighbours), uint16(tenths), f.prune
	return nil
}

// params returns the search parameters for an index whose ranker needs the
// given number of neighbours.
func (f *searchFlags) params(m *cpar.Manifest, neighbours int) (cpar.Params, error) {
	p := f.asked
	p.Scheme, p.L = cmp.Or(p.Scheme, m.Scheme), cmp.Or(p.L, uint16(neighbours))
	switch {
	case f.search != "":
	case p.Scheme == m.Scheme:
		p.Search = m.DefaultParams().Search
	default:
		p.Search = p.Scheme.Searches()[0]
	}
	return p, p.Validate()
}

// note returns a note on which structure is searched if the index holds two and
// the user chose neither.
func (f *searchFlags) note(m *cpar.Manifest) string {
	if m.Trees == 0 || m.Lists == 0 || f.search != "" || f.scheme != "" {
		return ""
	}
	return fmt.Sprintf("note: this index holds a forest and an inverted file; its forest is searched (%v). --search ivf searches the other", m.DefaultParams().Search)
}
