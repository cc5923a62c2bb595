package quality

import (
	"context"
	"fmt"
	"slices"

	"cpar"
	"cpar/eval/measure"
	"cpar/kdforest"
	"cpar/model/kmeans"
	"cpar/user"
	"cpar/user/scorevector"
)

// Structures holds the recall of inverted files and forests. The forests differ
// in the space that they split, the nodes that hold records, and the order of
// search. The defaults of user.Options were chosen by this measurement.
type Structures struct {
	Records  int            `json:"records"`
	Requests int            `json:"requests"`
	Rows     []StructureRow `json:"rows"`
}

type StructureRow struct {
	// Split is the space that a forest splits. Place names the nodes that hold
	// records. Both are empty for an inverted file.
	Split string `json:"split,omitempty"`
	Place string `json:"place,omitempty"`
	// Lists is the number of lists of an inverted file, or 0 for a forest.
	Lists  int    `json:"lists,omitempty"`
	Search string `json:"search"`
	// Recall maps X of AP-X (X percent of the records visited) to the share
	// found of the ten nearest records.
	Recall map[string]float64 `json:"recall_at_10"`
	// Default marks the default structure and search of schemes cpar and ivf.
	Default bool `json:"default,omitempty"`
}

// MeasureStructures builds an index of every structure and searches it in
// plaintext. The encrypted search would visit the same records (see Agreement).
// Recall varies by about 0.01 with the key and projection of an index.
func MeasureStructures(ctx context.Context, c *measure.Corpus, progress user.Progress) (*Structures, error) {
	out := &Structures{Records: len(c.Train), Requests: len(c.Test)}
	var options []user.Options
	for _, split := range []user.Split{user.SplitOriginal, user.SplitPCA} {
		for _, place := range []cpar.Place{cpar.PlaceNode, cpar.PlaceLeaf} {
			options = append(options, user.Options{Scheme: cpar.SchemeCPAR, Split: split, Place: place})
		}
	}
	p := scorevector.Paper()
	usualLists := kmeans.DefaultCells(len(c.Train), p.JL+p.KL)
	lists := []int{64, usualLists, 256}
	slices.Sort(lists)
	for _, lists := range slices.Compact(lists) {
		if lists <= len(c.Train) {
			options = append(options, user.Options{Scheme: cpar.SchemeIVF, Lists: lists})
		}
	}
	for i, opt := range options {
		progress.Report("structures", i, len(options))
		rows, err := measureStructure(ctx, c, opt)
		if err != nil {
			return nil, fmt.Errorf("split %v, place %v, %d lists: %w", opt.Split, opt.Place, opt.Lists, err)
		}
		for _, row := range rows {
			usual := opt.Split == 0 && opt.Place == 0 && (opt.Lists == 0 || opt.Lists == usualLists)
			row.Default = usual && row.Search == opt.Scheme.Searches()[0].String()
			out.Rows = append(out.Rows, row)
		}
	}
	return out, nil
}

func measureStructure(ctx context.Context, c *measure.Corpus, opt user.Options) ([]StructureRow, error) {
	b, err := user.Setup(ctx, user.NewKey(cpar.Schemes()...), c.Train, opt)
	if err != nil {
		return nil, err
	}
	twin, err := b.Twin()
	if err != nil {
		return nil, err
	}
	found := func(p cpar.Params) ([][]uint32, error) {
		records := make([][]uint32, len(c.Test))
		return records, measure.Each(ctx, len(c.Test), func(i int) (err error) {
			if records[i], err = nearestInTwin(b, twin, c.Test[i], p); err != nil {
				return fmt.Errorf("request %d: %w", i, err)
			}
			return nil
		})
	}
	truth, err := found(cpar.Params{Scheme: cpar.SchemeCAPIA, L: 10, Approx: 1000})
	if err != nil {
		return nil, err
	}
	var rows []StructureRow
	for _, order := range measure.Searches {
		p := measure.SearchParams(order, 0, 10)
		if p.Scheme != opt.Scheme {
			continue
		}
		row := StructureRow{Search: order.String(), Lists: opt.Lists, Recall: map[string]float64{}}
		if opt.Lists == 0 {
			row.Split, row.Place = opt.Split.String(), opt.Place.String()
		}
		for _, approx := range recallApprox {
			p.Approx = approx
			records, err := found(p)
			if err != nil {
				return nil, err
			}
			row.Recall[measure.ApproxName(approx)] = measure.RoundTo(measure.RecallAt10(records, truth), 4)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func nearestInTwin(b *user.Builder, twin *user.Twin, image user.Photo, p cpar.Params) ([]uint32, error) {
	v, err := b.Vector(image.Vectors)
	if err != nil {
		return nil, err
	}
	pending, _, err := b.RequestVector(v, p)
	if err != nil {
		return nil, err
	}
	hits, err := twin.Search(pending, nil)
	if err != nil {
		return nil, err
	}
	return measure.Map(hits, func(h kdforest.Hit) uint32 { return h.Record }), nil
}

func (s *Structures) Tables() []measure.Table {
	t := measure.Table{Name: "structures", Title: fmt.Sprintf("Share of the ten nearest found, by structure and search, n = %d, %d requests", s.Records, s.Requests),
		Columns: []string{"structure", "search", ""}}
	for _, approx := range recallApprox {
		t.Columns = append(t.Columns, "AP-"+measure.ApproxName(approx))
	}
	for _, r := range s.Rows {
		name := fmt.Sprintf("forest, split %s, records at %s", r.Split, r.Place)
		if r.Lists > 0 {
			name = fmt.Sprintf("inverted file (ivf), %d lists", r.Lists)
		}
		mark := ""
		if r.Default {
			mark = "default"
		}
		row := []string{name, r.Search, mark}
		for _, approx := range recallApprox {
			row = append(row, measure.FormatDecimal(r.Recall[measure.ApproxName(approx)], 3))
		}
		t.Rows = append(t.Rows, row)
	}
	return []measure.Table{t}
}
