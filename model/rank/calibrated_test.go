package rank

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat"

	"cpar"
	"cpar/internal/parallel/interrupt"
)

func synthetic(n int, seed uint64) (samples []Sample, collection [][]string) {
	rng := rand.New(rand.NewPCG(seed, 1))
	kind := func() int { return int(20 * math.Pow(rng.Float64(), 2)) }
	words := func(k int) []string {
		var out []string
		for j := range 4 {
			if rng.Float64() < 0.8 {
				out = append(out, fmt.Sprint("k", k, "w", j))
			}
		}
		if k < 5 && rng.Float64() < 0.6 {
			out = append(out, "common")
		}
		return out
	}
	for range n {
		k, clear := kind(), rng.Float64()
		s := Sample{Truth: words(k)}
		for i := range 50 {
			dis := 0.5 + float64(i)/25 + 0.01*rng.Float64()
			of := kind()
			if rng.Float64() < clear*math.Exp(-float64(i)/30) {
				of = k
			}
			s.Near = append(s.Near, Neighbour{Dis: dis, Keywords: words(of)})
		}
		samples, collection = append(samples, s), append(collection, s.Truth)
	}
	return samples, collection
}

func calibrated(t testing.TB, samples []Sample, collection [][]string) (*Calibrated, Quality) {
	t.Helper()
	c, q, err := Calibrate(t.Context(), samples, collection, 5, 0)
	if err != nil {
		t.Fatal(err)
	}
	return c, q
}

// Probabilities match frequencies on photos outside the calibration set.
func TestProbabilitiesMatchFrequencies(t *testing.T) {
	samples, collection := synthetic(3000, 1)
	c, q := calibrated(t, samples[:1500], collection)
	var p, raw []float64
	var right []bool
	for _, s := range samples[1500:] {
		for _, k := range c.Rank(s.Near, s.Guess, 1000, true) {
			p, right = append(p, k.Probability), append(right, slices.Contains(s.Truth, k.Word))
			raw = append(raw, min(1, k.Weight*math.Pow(c.loudness(k.Word), c.loudnessExponent)))
		}
	}
	bins, ece, err := Reliability(p, right, 10)
	if err != nil || ece > 0.015 {
		t.Errorf("calibration error %g, %v: %v", ece, err, bins)
	}
	if math.Abs(ece-q.ECE) > 0.01 {
		t.Errorf("calibration error %g, of the samples %g", ece, q.ECE)
	}
	for _, b := range bins {
		if b.Count > 500 && math.Abs(b.Predicted-b.Observed) > 0.1 {
			t.Errorf("said %g, found %g of %d", b.Predicted, b.Observed, b.Count)
		}
	}
	if _, votes, _ := Reliability(raw, right, 10); votes < 2*ece {
		t.Errorf("votes alone are calibrated to %g", votes)
	}
}

func quality(c *Calibrated, samples []Sample, keep int) Quality {
	var mean Quality
	for fold := range 2 {
		part := slices.DeleteFunc(slices.Clone(samples), func(s Sample) bool { return s.Fold != fold })
		others := slices.DeleteFunc(slices.Clone(samples), func(s Sample) bool { return s.Fold == fold })
		q := qualityOfFold(heard(c, others), part, keep)
		mean = Quality{P: mean.P + q.P/2, R: mean.R + q.R/2, Nplus: mean.Nplus + q.Nplus/2, Words: mean.Words + q.Words/2}
	}
	return mean
}

func heard(c *Calibrated, samples []Sample) *Calibrated {
	plain := *c
	plain.loudnessExponent = 0
	fourths := map[string]float64{}
	for _, s := range samples {
		for _, k := range plain.Rank(s.Near, s.Guess, 1000, true) {
			fourths[k.Word] += math.Pow(k.Weight, 4)
		}
	}
	var x, y []float64
	for w, sum := range fourths {
		x, y = append(x, math.Log(c.share(w))), append(y, math.Log(sum/float64(len(samples)))/4)
	}
	out := *c
	out.trend[0], out.trend[1] = stat.LinearRegression(x, y, nil, false)
	out.words = map[string]wordStats{}
	for w, known := range c.words {
		known.loudnessRatio = 1
		if fourths[w] > 0 {
			known.loudnessRatio = float32(math.Pow(fourths[w]/float64(len(samples)), 0.25) / math.Exp(out.trend[0]+out.trend[1]*math.Log(c.share(w))))
		}
		out.words[w] = known
	}
	return &out
}

func qualityOfFold(c *Calibrated, samples []Sample, keep int) Quality {
	said := make([][]string, len(samples))
	vocabulary := map[string]bool{}
	for i, s := range samples {
		for _, k := range c.Rank(s.Near, s.Guess, keep, true) {
			said[i] = append(said[i], k.Word)
		}
		for _, w := range s.Truth {
			vocabulary[w] = true
		}
	}
	var q Quality
	for w := range vocabulary {
		hit, all, real := 0.0, 0.0, 0.0
		for i, s := range samples {
			a, b := slices.Contains(said[i], w), slices.Contains(s.Truth, w)
			if a {
				all++
			}
			if b {
				real++
			}
			if a && b {
				hit++
			}
		}
		q.R += hit / real
		q.P += hit / max(1, all)
		if hit > 0 {
			q.Nplus++
		}
	}
	q.Words = float64(len(vocabulary))
	q.P /= q.Words
	q.R /= q.Words
	return q
}

func TestCalibrateMeasuresItsKeywords(t *testing.T) {
	samples, collection := synthetic(300, 2)
	for i := range samples[:100] {
		samples[i].Fold = 1
	}
	c, q := calibrated(t, samples, collection)
	want := quality(c, samples, 5)
	if math.Abs(q.P-want.P) > 1e-9 || math.Abs(q.R-want.R) > 1e-9 || q.Nplus != want.Nplus || q.Words != want.Words {
		t.Errorf("%+v, want %+v", q, want)
	}
	for _, other := range []Calibrated{{neighbours: 5}, {neighbours: 80}, {neighbours: 10, decay: 4, loudnessExponent: 0.5}} {
		other.photos, other.words = c.photos, c.words
		if o := quality(&other, samples, 5); nearlyBest*o.Merit() > q.Merit()+1e-12 {
			t.Errorf("%+v is better than the choice", o)
		}
	}
	fixed, _, err := Calibrate(t.Context(), samples, collection, 5, 7)
	if err != nil || fixed.Neighbours() != 7 {
		t.Errorf("asked for 7 neighbours: %d, %v", fixed.Neighbours(), err)
	}
}

func TestMeritByHand(t *testing.T) {
	for _, c := range []struct{ p, r, want float64 }{{0, 0, 0}, {0, 1, 0}, {0.3, 0.3, 0.3}, {0.2, 0.4, 0.16 / 0.6}} {
		if got := (Quality{P: c.p, R: c.r}).Merit(); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("P %g, R %g: %g, want %g", c.p, c.r, got, c.want)
		}
	}
}

func TestCalibratedByHand(t *testing.T) {
	c := &Calibrated{neighbours: 2, decay: 1, loudnessExponent: 0.5, photos: 100, words: map[string]wordStats{"sky": {25, 1}, "fox": {1, 1}},
		trend: [2]float64{0, 1}, // λ is π
		curve: [curveTerms]float64{0.5, 1, 0, 0, 0.25, 0}}
	near := []Neighbour{{Dis: 2, Keywords: []string{"sky"}}, {Dis: 1, Keywords: []string{"fox", "sky", "fox"}}, {Dis: 3, Keywords: []string{"tree"}}, {Dis: math.NaN(), Keywords: []string{"sun"}}}
	got := c.Rank(near, nil, 9, true)
	nearer := 1 / (1 + math.Exp(-0.5)) // exp(−½) and exp(−1)
	if len(got) != 2 || got[0].Word != "fox" || math.Abs(got[0].Weight-nearer*10) > 1e-12 || math.Abs(got[1].Weight-2) > 1e-12 {
		t.Fatalf("%+v", got)
	}
	odds := math.Log(nearer) + 0.5 + 0.25*math.Log(0.01)
	if want := 1 / (1 + math.Exp(-odds)); math.Abs(got[0].Probability-want) > 1e-12 {
		t.Errorf("probability %g, want %g", got[0].Probability, want)
	}
	if len(c.Rank(near, nil, -1, true)) != 0 || len(c.Rank(near, nil, 1, true)) != 1 || len(c.Rank(nil, nil, 5, true)) != 0 {
		t.Error("other numbers of keywords")
	}
	far := []Neighbour{{Dis: 2e9, Keywords: []string{"sky"}}, {Dis: 1e9, Keywords: []string{"fox", "sky"}}}
	if again := c.Rank(far, nil, 9, true); math.Abs(again[0].Weight-got[0].Weight) > 1e-9 {
		t.Errorf("in another unit: %+v", again)
	}
	for _, k := range c.Rank([]Neighbour{{Dis: -1, Keywords: []string{"a"}}, {Dis: 0, Keywords: []string{"b"}}}, nil, 9, true) {
		if math.Abs(k.Weight-5) > 1e-12 || !(k.Probability > 0 && k.Probability < 1) {
			t.Errorf("at distance 0: %+v", k)
		}
	}
}

func TestRareWordsArePreferred(t *testing.T) {
	near := []Neighbour{{Dis: 1, Keywords: []string{"common"}}, {Dis: 1, Keywords: []string{"common"}}, {Dis: 1, Keywords: []string{"rare"}}}
	c := &Calibrated{neighbours: 3, photos: 1000, words: map[string]wordStats{"common": {500, 1}, "rare": {5, 1}}, trend: [2]float64{0, 1}}
	if got := c.Rank(near, nil, 1, true); got[0].Word != "common" {
		t.Errorf("without: %v", got)
	}
	c.loudnessExponent = 0.3
	if got := c.Rank(near, nil, 1, true); got[0].Word != "rare" {
		t.Errorf("with: %v", got)
	}
	c.words["rare"] = wordStats{500, 1e-2}
	if got := c.Rank(near, nil, 1, true); got[0].Word != "rare" {
		t.Errorf("lonely: %v", got)
	}
	c.curve = [curveTerms]float64{0, 1}
	if got := c.Rank(near, nil, 1, false); got[0].Word != "common" {
		t.Errorf("by probability: %v", got)
	}
}

func TestLogisticFindsTheCurve(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	want := [curveTerms]float64{-0.5, 0.8, 1.2, 0, 0.3, 0.1}
	var seen predictions
	for range 60000 {
		v, share := rng.Float64(), math.Exp(-5*rng.Float64())
		right := 0.0
		if rng.Float64() < sigmoid(dot(want, terms(v, share))) {
			right = 1
		}
		seen.add(v, share, right, 1)
	}
	got, err := logistic(t.Context(), &seen)
	if err != nil {
		t.Fatal(err)
	}
	// The terms are similar, so coefficients may differ where curves agree.
	for _, v := range []float64{0.05, 0.3, 0.6, 0.95} {
		for _, share := range []float64{0.01, 0.1, 0.8} {
			if a, b := sigmoid(dot(got, terms(v, share))), sigmoid(dot(want, terms(v, share))); math.Abs(a-b) > 0.02 {
				t.Errorf("vote %g, share %g: %g, want %g", v, share, a, b)
			}
		}
	}
	// At the optimum the mean probability equals the share of right answers.
	sum, right := 0.0, 0.0
	for i := range seen.x {
		sum += sigmoid(dot(got, seen.x[i]))
		right += seen.right[i]
	}
	if math.Abs(sum-right) > 0.1 {
		t.Errorf("%g said, %g found", sum, right)
	}
	for _, first := range []float64{1, 0} {
		var two predictions
		two.add(0.1, 0.5, first, 1)
		two.add(0.9, 0.5, 1, 1)
		got, err := logistic(t.Context(), &two)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range got {
			if v-v != 0 {
				t.Error("coefficient", v)
			}
		}
	}
}

func TestIsotonicFitsAStep(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	var p []float64
	var right []bool
	for range 20000 {
		said := rng.Float64()
		p = append(p, said)
		right = append(right, rng.Float64() < 0.1 && said < 0.5 || rng.Float64() < 0.6 && said >= 0.5)
	}
	line := fitIsotonic(p, right)
	for _, c := range [][2]float64{{0.3, 0.1}, {0.2, 0.1}, {0.6, 0.6}, {0.9, 0.6}} {
		if got := applyIsotonic(c[0], line); math.Abs(got-c[1]) > 0.06 {
			t.Errorf("at %g: %g, want %g", c[0], got, c[1])
		}
	}
	if len(line) > maxKnots {
		t.Errorf("%d knots", len(line))
	}
	for x, before := 0.0, 0.0; x <= 1; x += 1e-3 {
		now := applyIsotonic(x, line)
		if now < before || now <= 0 || now >= 1 {
			t.Fatalf("at %g: %g after %g", x, now, before)
		}
		before = now
	}
	for _, y := range []bool{false, true} { // only one kind of answer
		if got := applyIsotonic(0.5, fitIsotonic([]float64{0.5, 0.5}, []bool{y, y})); !(got > 0 && got < 1) {
			t.Errorf("%v gives %g", y, got)
		}
	}
}

func TestReliability(t *testing.T) {
	bins, ece, err := Reliability([]float64{0, 0.1, 0.9, 1}, []bool{false, true, true, true}, 2)
	if err != nil || math.Abs(ece-(0.9+0.1)/4) > 1e-12 || bins[0] != (Bin{0.05, 0.5, 2}) || bins[1] != (Bin{0.95, 1, 2}) {
		t.Errorf("%v, %g, %v", bins, ece, err)
	}
	for _, p := range []float64{math.NaN(), -0.1, 1.1} {
		if _, _, err := Reliability([]float64{p}, []bool{true}, 2); !errors.Is(err, cpar.ErrInput) {
			t.Errorf("%v: %v", p, err)
		}
	}
	if _, _, err := Reliability(nil, []bool{true}, 2); !errors.Is(err, cpar.ErrInput) {
		t.Error(err)
	}
}

func TestCalibrateRefuses(t *testing.T) {
	samples, collection := synthetic(5, 3)
	for name, err := range map[string]error{
		"no samples":      second(Calibrate(t.Context(), nil, collection, 5, 0)),
		"no collection":   second(Calibrate(t.Context(), samples, nil, 5, 0)),
		"no keywords":     second(Calibrate(t.Context(), samples, collection, 0, 0)),
		"a fold":          second(Calibrate(t.Context(), []Sample{{Fold: -1}}, collection, 5, 0)),
		"many neighbours": second(Calibrate(t.Context(), samples, collection, 5, 81)),
	} {
		if !errors.Is(err, cpar.ErrInput) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, q, err := Calibrate(t.Context(), []Sample{{}}, collection, 5, 0); err != nil || q.Merit() != 0 {
		t.Errorf("a sample of nothing: %+v, %v", q, err)
	}
}

func second(_ *Calibrated, _ Quality, err error) error { return err }

const calHeader = 24 + 8*parameters + 4

func TestCalibratedEncoding(t *testing.T) {
	samples, collection := synthetic(300, 4)
	c, _ := calibrated(t, samples, collection)
	data, _ := c.MarshalBinary()
	var back Calibrated
	if err := back.UnmarshalBinary(data); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(back.Rank(samples[0].Near, nil, 9, true), c.Rank(samples[0].Near, nil, 9, true)) {
		t.Error("decoding gave another ranker")
	}
	first := calHeader + 16*len(c.isotonic) + 4 + 8*(levels-1) // of the words
	if len(c.isotonic) < 2 {
		t.Fatal("a line of", len(c.isotonic))
	}
	changed := func(offset int, word uint32) []byte {
		d := bytes.Clone(data)
		binary.LittleEndian.PutUint32(d[offset:], word)
		return d
	}
	for name, bad := range map[string]struct {
		data []byte
		want error
	}{
		"nothing": {nil, cpar.ErrCorrupt}, "a byte over": {append(bytes.Clone(data), 0), cpar.ErrCorrupt},
		"version": {changed(8, 9), cpar.ErrVersion}, "neighbours": {changed(12, 0), cpar.ErrCorrupt},
		"photos": {changed(16, 0), cpar.ErrCorrupt}, "few photos": {changed(16, 1), cpar.ErrCorrupt},
		"words": {changed(20, math.MaxUint32), cpar.ErrCorrupt}, "rarity": {changed(36, 0x40100000), cpar.ErrCorrupt}, "decay": {changed(28, 0x7ff80000), cpar.ErrCorrupt},
		"a count of 0": {changed(first, 0), cpar.ErrCorrupt}, "a long word": {changed(first+8, math.MaxUint32), cpar.ErrCorrupt},
		"as loud as nothing": {changed(first+4, 0), cpar.ErrCorrupt},
		"knots":              {changed(calHeader-4, 25), cpar.ErrCorrupt}, "a falling line": {changed(calHeader+16+4, 0), cpar.ErrCorrupt},
		"levels": {changed(first-8, 1<<30), cpar.ErrCorrupt},
		"order":  {changed(first+12, 0x7a7a7a7a), cpar.ErrCorrupt},
	} {
		d := Calibrated{photos: 77}
		if err := d.UnmarshalBinary(bad.data); !errors.Is(err, bad.want) || d.photos != 77 {
			t.Errorf("%s: %v, want %v", name, err, bad.want)
		}
	}
	for n := range data {
		if new(Calibrated).UnmarshalBinary(data[:n]) == nil {
			t.Fatalf("%d of %d bytes were taken", n, len(data))
		}
	}
}

// A ranker of version 3 ranks by probability and knows no other candidates than
// the neighbours' words.
func TestCalibratedOfVersion3(t *testing.T) {
	samples, collection := synthetic(200, 6)
	samples = guessing(samples, collection)
	c, _ := calibrated(t, samples, collection)
	c.rareBonus, c.onlyNeighbours = 0.1, true
	data, _ := c.MarshalBinary()
	var old Calibrated
	if err := old.UnmarshalBinary(data); err != nil || data[8] != oldVersion {
		t.Fatalf("version %d: %v", data[8], err)
	}
	if again, _ := old.MarshalBinary(); !bytes.Equal(again, data) {
		t.Error("encoding again gives other bytes")
	}
	for _, s := range samples {
		var last float64 = 1
		for _, k := range old.Rank(s.Near, s.Guess, 1000, false) {
			near := slices.ContainsFunc(s.Near, func(n Neighbour) bool { return slices.Contains(n.Keywords, k.Word) })
			if k.Probability > last || !near {
				t.Fatalf("%+v after %g, of a neighbour: %v", k, last, near)
			}
			last = k.Probability
		}
	}
}

func FuzzCalibrated(f *testing.F) {
	samples, collection := synthetic(20, 4)
	c, _ := calibrated(f, samples, collection)
	data, _ := c.MarshalBinary()
	f.Add(data)
	f.Add(data[:calHeader])
	f.Fuzz(func(t *testing.T, data []byte) {
		var c Calibrated
		if c.UnmarshalBinary(data) != nil {
			return
		}
		if again, _ := c.MarshalBinary(); !bytes.Equal(again, data) {
			t.Error("encoding again gives other bytes")
		}
		for _, k := range c.Rank(samples[0].Near, nil, 9, true) {
			if !(k.Probability > 0 && k.Probability < 1) || k.Weight-k.Weight != 0 {
				t.Errorf("%+v", k)
			}
		}
	})
}

func BenchmarkCalibrated(b *testing.B) {
	samples, collection := synthetic(100, 5)
	c, _ := calibrated(b, samples, collection)
	for b.Loop() {
		c.Rank(samples[0].Near, nil, 5, true)
	}
}

func TestInterrupted(t *testing.T) {
	var samples []Sample
	var collection [][]string
	for i := range 60 {
		words := []string{fmt.Sprint("word ", i%5), fmt.Sprint("word ", i%7)}
		collection = append(collection, words)
		s := Sample{Truth: words, Fold: i % 3}
		for j := range 20 {
			s.Near = append(s.Near, Neighbour{Dis: float64(j), Keywords: []string{fmt.Sprint("word ", (i+j)%5)}})
		}
		samples = append(samples, s)
	}
	choices := int64(len(neighbourChoices) * len(decayChoices) * len(exponentChoices))
	interrupt.Everywhere(t, choices, func(ctx context.Context) error {
		_, _, err := Calibrate(ctx, samples, collection, 3, 0)
		return err
	})
	interrupt.Everywhere(t, 3*choices, func(ctx context.Context) error {
		_, err := CrossValidate(ctx, samples, collection, KindCalibrated, 3)
		return err
	})
}
