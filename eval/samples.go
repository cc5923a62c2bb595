package eval

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"cpar"
	"cpar/user"
	"cpar/user/device"
)

// sampleCount is the number of images shown.
const sampleCount = 8

// A Word is a keyword in a sample; Right if a person gave it too.
type SampleKeyword struct {
	Keyword  string `json:"word"`
	Right bool   `json:"right"`
}

// A Sample is one annotated test image.
type Sample struct {
	// Name is the image's name within the collection.
	Name  string   `json:"name"`
	CPAR  []SampleKeyword   `json:"cpar"`
	CAPIA []SampleKeyword   `json:"capia"`
	Human []string `json:"human"`
}

// Samples are evenly spaced test images, so that nobody chose them, with all words of
// their neighbours, as in the paper's table of samples.
type Samples struct {
	Rows []Sample `json:"rows"`
}

// MeasureSamples annotates a few test images by cpar at AP-10 and by capia.
func MeasureSamples(ctx context.Context, s *Session, c *Corpus, _ user.Progress) (*Samples, error) {
	out := new(Samples)
	x := s.deviceIndex()
	n := min(sampleCount, len(c.Test))
	for k := range n {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		i := sampleAt(k, n, len(c.Test))
		sample := Sample{Name: c.testName(i), Human: c.Test[i].Keywords}
		for _, part := range []struct {
			to *[]SampleKeyword
			p  cpar.Params
		}{{&sample.CPAR, s.Builder.DefaultParams()}, {&sample.CAPIA, cpar.Params{Scheme: cpar.SchemeCAPIA, L: 10, Approx: 1000}}} {
			a, err := annotatePhoto(ctx, x, device.Extracted(sample.Name, c.Test[i].Vectors), part.p, allKeywords)
			if err != nil {
				return nil, err
			}
			for _, w := range keywordStrings(a.Keywords) {
				*part.to = append(*part.to, SampleKeyword{w, slices.Contains(sample.Human, w)})
			}
		}
		out.Rows = append(out.Rows, sample)
	}
	return out, nil
}

// sampleAt returns the index of sample k of n among all.
func sampleAt(k, n, all int) int { return (2*k + 1) * all / (2 * n) }

// testName returns the name of a test image within the collection.
func (c *Corpus) testName(i int) string {
	if i < len(c.TestItems) {
		return c.TestItems[i].Name
	}
	return fmt.Sprintf("test image %d", i)
}

// Tables implements Result; correct words are in capitals.
func (s *Samples) Tables() []Table {
	t := Table{Name: "samples", Title: "Sample annotations, all words of the neighbours, the heaviest first; IN CAPITALS what a person said too", Columns: []string{"image", "cpar AP-10", "capia", "human"}}
	for _, r := range s.Rows {
		t.Rows = append(t.Rows, []string{r.Name, capitals(r.CPAR), capitals(r.CAPIA), strings.Join(r.Human, ", ")})
	}
	return []Table{t}
}

// capitals lists words, the correct ones in capitals.
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
