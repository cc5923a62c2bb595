package quality

import (
	"context"
	"fmt"

	"cpar/eval/measure"
	"cpar/internal/lattice"
	"cpar/user"
)

// Cells is the quality of search in cells (hidden clusters of records) of equal
// size. Some records are in several cells, and a request is compared with the
// records of one cell. All searches run in plaintext, on the integers that
// scheme sealed would encrypt.
type Cells struct {
	Records  int    `json:"records"`
	Requests int    `json:"requests"`
	Profile  string `json:"profile"`
	// Full is the mean number of human keywords per photo that a search of all
	// records finds.
	Full float64           `json:"words_per_photo"`
	Rows []measure.CellRow `json:"rows"`
	// Asked has the recall of words and photos by the number of cells asked.
	Asked []measure.AskedRow `json:"asked"`
}

func MeasureCells(ctx context.Context, c *measure.Corpus, progress user.Progress) (*Cells, error) {
	m, err := measure.NewCellRun(ctx, c, progress)
	if err != nil {
		return nil, err
	}
	out := &Cells{Records: len(c.Train), Requests: len(c.Test), Profile: m.Owner.Profile().Kind().String(), Full: measure.RoundTo(m.All.Keywords, 3)}
	for _, clusters := range []int{4, 8, 16} {
		for _, copies := range []float64{1.25, 1.5, 1.7, 2} {
			if clusters > len(c.Train)/2 {
				continue
			}
			row, err := m.Row(ctx, clusters, copies)
			if err != nil {
				return nil, err
			}
			out.Rows = append(out.Rows, row)
			progress.Report("clusters", len(out.Rows), 12)
		}
	}
	for _, clusters := range []int{1 << lattice.WideSlots, user.MaxCells} {
		asked, err := m.Asked(ctx, min(clusters, len(c.Train)/2))
		if err != nil {
			return nil, err
		}
		out.Asked = append(out.Asked, asked...)
	}
	return out, nil
}

func (c *Cells) Tables() []measure.Table {
	t := measure.Table{Name: "clusters", Title: fmt.Sprintf("Search in one hidden cluster, profile %s, %d records, %d requests; a full scan finds %.2f words a photo", c.Profile, c.Records, c.Requests, c.Full),
		Columns: []string{"clusters", "places a record", "recall@10", "the least", "words of the full scan's %"}}
	for _, r := range c.Rows {
		t.Rows = append(t.Rows, []string{measure.FormatInt(r.Cells), measure.FormatDecimal(r.Copies, 2), measure.FormatDecimal(r.Recall, 3), measure.FormatDecimal(r.MinRecall, 3), measure.FormatDecimal(100*r.KeywordShare, 1)})
	}
	asked := measure.Table{Name: "clusters-asked", Title: fmt.Sprintf("Recall of the nearest hidden clusters, of the size that sealed gives them, profile %s, %d records: the hundred nearest records of a word and of a photo", c.Profile, c.Records),
		Columns: []string{"clusters", "asked", "words recall@100", "the least", "photos recall@100"}}
	for _, r := range c.Asked {
		asked.Rows = append(asked.Rows, []string{measure.FormatInt(r.Cells), measure.FormatInt(r.Asked), measure.FormatDecimal(r.Words, 3), measure.FormatDecimal(r.MinWords, 3), measure.FormatDecimal(r.Photos, 3)})
	}
	return []measure.Table{t, asked}
}
