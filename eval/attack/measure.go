package attack

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"image"
	"image/draw"
	"image/jpeg"
	"os"

	"cpar"
	"cpar/eval/measure"
	"cpar/model/feature"
	"cpar/model/profile"
	"cpar/photo/dataset"
	"cpar/user"
)

// Attacks holds what an actively curious server learned.
type Attacks struct {
	Records  int   `json:"records"`
	Requests int   `json:"requests"`
	Rows     []Row `json:"rows"`
}

// MeasureAttacks attacks an index of the real images with requests for the test
// images. It includes profile network if all images have embeddings.
func MeasureAttacks(ctx context.Context, c *measure.Corpus, progress user.Progress) (*Attacks, error) {
	collection := &Collection{Train: c.Train, Test: c.Test}
	if len(c.TestItems) == len(c.Test) {
		collection.Changed = func(i int) (*feature.Vectors, error) { return changedCopy(c.TestItems[i]) }
	}
	rows, err := Run(ctx, collection, Options{Progress: progress})
	if err != nil {
		return nil, err
	}
	return &Attacks{Records: len(c.Train), Requests: len(c.Test), Rows: rows}, nil
}

// changedCopy crops a fiftieth of each edge and recompresses at quality 75.
func changedCopy(it dataset.Photo) (*feature.Vectors, error) {
	data, err := os.ReadFile(it.Path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", cpar.ErrInput, err)
	}
	img, _, err := image.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", it.Name, cpar.ErrInput, err)
	}
	b := img.Bounds()
	dx, dy := b.Dx()/50, b.Dy()/50
	out := image.NewRGBA(image.Rect(0, 0, b.Dx()-2*dx, b.Dy()-2*dy))
	draw.Draw(out, out.Bounds(), img, b.Min.Add(image.Pt(dx, dy)), draw.Src)
	var buf bytes.Buffer
	if err := jpeg.Encode(&buf, out, &jpeg.Options{Quality: 75}); err != nil {
		return nil, fmt.Errorf("%s: %w", it.Name, err)
	}
	return feature.NewExtractor().Photo(buf.Bytes(), feature.Options{})
}

func (a *Attacks) Tables() []measure.Table {
	t := measure.Table{Name: "attacks", Title: fmt.Sprintf("What a cloud learns that tries, %d records, %d requests: success and its 95 %% interval, in percent", a.Records, a.Requests),
		Columns: []string{"attack", "scheme", "profile", "known", "success %", "from", "to", "guessing %", "trials", "refused as"}}
	estimates := measure.Table{Name: "attacks-lattice", Title: "Lattice attacks on the key, estimated and not run",
		Columns: []string{"attack", "scheme", "profile", "known", "records", "dimension", "block size", "root Hermite factor", "core-SVP bits"}}
	for _, r := range a.Rows {
		profile := cmp.Or(r.Profile, profile.Paper.String())
		if e := r.Estimate; e != nil {
			estimates.Rows = append(estimates.Rows, []string{r.Attack, r.Scheme, profile, measure.FormatInt(r.Known), measure.FormatInt(e.Samples), measure.FormatInt(e.Dimension), measure.FormatInt(e.BlockSize), measure.FormatDecimal(e.Delta, 5), measure.FormatDecimal(e.Bits, 0)})
			continue
		}
		t.Rows = append(t.Rows, []string{r.Attack, r.Scheme, profile, measure.FormatInt(r.Known), measure.FormatDecimal(100*r.Success, 1), measure.FormatDecimal(100*r.Low, 1), measure.FormatDecimal(100*r.High, 1), measure.FormatDecimal(100*r.Baseline, 2), measure.FormatInt(r.Trials), r.Refused})
	}
	return []measure.Table{t, estimates}
}
