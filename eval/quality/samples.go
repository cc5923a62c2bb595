package quality

import (
	"context"
	"slices"
	"strings"

	"cpar"
	"cpar/eval/measure"
	"cpar/user"
	"cpar/user/device"
)

const sampleCount = 8

// A SampleKeyword is a keyword found for an image. Right is set if a person
// also gave the image this keyword.
type SampleKeyword struct {
	Keyword string `json:"word"`
	Right   bool   `json:"right"`
}

type Sample struct {
	Name  string          `json:"name"`
	CPAR  []SampleKeyword `json:"cpar"`
	CAPIA []SampleKeyword `json:"capia"`
	Human []string        `json:"human"`
}

// Samples holds test images with all keywords of their neighbours, as in the
// paper's table of samples. The images are evenly spaced in the collection, to
// avoid bias.
type Samples struct {
	Rows []Sample `json:"rows"`
}

// MeasureSamples annotates a few test images with scheme cpar at AP-10 (10
// percent of the records visited) and with capia (a scan).
func MeasureSamples(ctx context.Context, s *measure.Session, c *measure.Corpus, _ user.Progress) (*Samples, error) {
	out := new(Samples)
	x := s.DeviceIndex()
	n := min(sampleCount, len(c.Test))
	for k := range n {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		i := measure.SampleAt(k, n, len(c.Test))
		sample := Sample{Name: c.TestName(i), Human: c.Test[i].Keywords}
		for _, part := range []struct {
			to *[]SampleKeyword
			p  cpar.Params
		}{{&sample.CPAR, s.Builder.DefaultParams()}, {&sample.CAPIA, cpar.Params{Scheme: cpar.SchemeCAPIA, L: 10, Approx: 1000}}} {
			a, err := measure.AnnotatePhoto(ctx, x, device.Extracted(sample.Name, c.Test[i].Vectors), part.p, measure.AllKeywords)
			if err != nil {
				return nil, err
			}
			for _, w := range measure.KeywordStrings(a.Keywords) {
				*part.to = append(*part.to, SampleKeyword{w, slices.Contains(sample.Human, w)})
			}
		}
		out.Rows = append(out.Rows, sample)
	}
	return out, nil
}

// Tables writes correct keywords in capitals.
func (s *Samples) Tables() []measure.Table {
	t := measure.Table{Name: "samples", Title: "Sample annotations, all words of the neighbours, the heaviest first; a person also gave the words IN CAPITALS", Columns: []string{"image", "cpar AP-10", "capia", "human"}}
	for _, r := range s.Rows {
		t.Rows = append(t.Rows, []string{r.Name, capitals(r.CPAR), capitals(r.CAPIA), strings.Join(r.Human, ", ")})
	}
	return []measure.Table{t}
}

func capitals(words []SampleKeyword) string {
	var out []string
	for _, w := range words {
		if w.Right {
			w.Keyword = strings.ToUpper(w.Keyword)
		}
		out = append(out, w.Keyword)
	}
	return strings.Join(out, ", ")
}
