package wordvector

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"cpar"
	"cpar/internal/wire"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]Query{
		"dog":                          {{"dog", 1, nil}},
		"  red   car ":                 {{"red", 1, nil}, {"car", 1, nil}},
		`"old town"^2 -party beach^.5`: {{"old town", 2, nil}, {"party", -1, nil}, {"beach", 0.5, nil}},
		"cat -dog^3":                   {{"cat", 1, nil}, {"dog", -3, nil}},
		"été-2024":                     {{"été-2024", 1, nil}},
		"old town":                     {{"old town", 1, nil}}, // a keyword
		"-old town^2 sea":              {{"old", -1, nil}, {"town", 2, nil}, {"sea", 1, nil}},
		"sea, -old town^2":             {{"sea", 1, nil}, {"old town", -2, nil}},
	} {
		q, err := Parse(strings.Split(text, ", ")...)
		if err != nil {
			t.Fatal(text, err)
		}
		if got, err := q.Resolve(func(word string) bool { return word == "old town" }); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	q, err := Parse("-old town")
	if err != nil {
		t.Fatal(err)
	}
	if q, err := q.Resolve(func(string) bool { return true }); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("a query that only subtracts a keyword: %v, %v", q, err)
	}
	for _, text := range []string{"", "  ", "-dog", `"old`, `""`, "-", "a^", "a^x", "a^0", "a^-1", "a^1e9", "a^NaN", "^2", "\xff"} {
		if q, err := Parse(text); !errors.Is(err, cpar.ErrInput) {
			t.Errorf("%q: %v, %v", text, q, err)
		}
	}
}

func TestNearestNamesSimilarWords(t *testing.T) {
	known := []string{"beach", "Beaches", "peach", "bench", "tiger"}
	if got := Nearest("beech", known, 3); !slices.Equal(got, []string{"beach", "bench", "peach"}) && !slices.Equal(got, []string{"beach", "peach", "bench"}) {
		t.Errorf("%q", got)
	}
	known = append(known, "Beech in spring")
	if got := Nearest("beech", known, 2); !slices.Equal(got, []string{"Beech in spring", "beach"}) && !slices.Equal(got, []string{"Beech in spring", "bench"}) && !slices.Equal(got, []string{"Beech in spring", "peach"}) {
		t.Errorf("%q", got)
	}
	if got := Nearest("xylophone", known, 3); len(got) > 0 {
		t.Errorf("%q", got)
	}
}

func TestCombineRefusesWordsThatCancel(t *testing.T) {
	a, b := []float64{1, 0}, []float64{0, 1}
	if got, err := Combine([][]float64{a, b}, []float64{2, -2}); err != nil || math.Abs(float64(got[0])-math.Sqrt(0.5)) > 1e-6 || got[0] != -got[1] {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := Combine([][]float64{a, a}, []float64{1, -1}); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("the same word twice: %v", err)
	}
}

// made returns rows of length 125 and keywords: photos of a word lie around its
// own direction.
func made(n, dim, words int, seed uint64) (rows [][]int16, keywords [][]string) {
	r := rand.New(rand.NewPCG(seed, 1))
	centres := make([][]float64, words)
	for w := range centres {
		for range dim {
			centres[w] = append(centres[w], r.NormFloat64())
		}
	}
	for range n {
		w := r.IntN(words)
		row, square := make([]float64, dim), 0.0
		for k := range row {
			row[k] = centres[w][k] + 1.5*r.NormFloat64()
			square += row[k] * row[k]
		}
		short := make([]int16, dim)
		for k := range row {
			short[k] = int16(math.Round(row[k] * 125 / math.Sqrt(square)))
		}
		rows, keywords = append(rows, short), append(keywords, []string{fmt.Sprint("word ", w)})
	}
	return rows, keywords
}

// TestCurveIsCalibrated checks on unseen photos that the share of right hits
// agrees with their probabilities.
func TestCurveIsCalibrated(t *testing.T) {
	rows, keywords := made(2000, 24, 20, 3)
	v, err := Fit(context.Background(), 24, rows[:1000], keywords[:1000])
	if err != nil {
		t.Fatal(err)
	}
	var said, right [10]float64
	for _, word := range v.Sums.Words() {
		query, _ := v.Sums.Vector(word)
		for i, row := range rows[1000:] {
			inner, square := 0.0, 0.0
			for k, x := range row {
				inner, square = inner+float64(x)*query[k], square+float64(x)*float64(x)
			}
			p := v.Curve.Probability(inner/math.Sqrt(square), 0.05)
			said[int(p*10)] += p
			if keywords[1000+i][0] == word {
				right[int(p*10)]++
			}
		}
	}
	for b := range said {
		if expected := said[b]; math.Abs(right[b]-expected) > 4*math.Sqrt(expected)+0.1*expected {
			t.Errorf("probabilities from 0.%d: %.0f right ones expected, %.0f found", b, expected, right[b])
		}
	}
}

// TestFewPhotosKeepTheUsualCurve checks that a curve is finite and rises even
// if there is almost nothing to fit it to.
func TestFewPhotosKeepTheUsualCurve(t *testing.T) {
	for n := range 6 {
		rows, keywords := made(n, 8, 2, 1)
		v, err := Fit(context.Background(), 8, rows, keywords)
		if err != nil {
			t.Fatal(err)
		}
		if low, high := v.Curve.Probability(0, 0.1), v.Curve.Probability(0.9, 0.1); !(low < 0.2 && high > 0.5 && high < 1) {
			t.Errorf("%d photos: %v", n, v.Curve)
		}
	}
}

func TestEncodingIsCanonical(t *testing.T) {
	rows, keywords := made(50, 8, 5, 2)
	v, err := Fit(context.Background(), 8, rows, keywords)
	if err != nil {
		t.Fatal(err)
	}
	v.Sums.Remove(rows[0], []string{"only removed"}) // as in the sums of a ledger
	b, err := v.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	back, err := ReadVectors(wire.NewReader(b, cpar.ErrCorrupt))
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := back.AppendBinary(nil); !bytes.Equal(again, b) {
		t.Error("written differently")
	}
	for cut := range b {
		r := wire.NewReader(b[:cut], cpar.ErrCorrupt)
		if v, err := ReadVectors(r); err == nil && (v != nil || r.Close() == nil) {
			t.Errorf("cut to %d of %d bytes: no error", cut, len(b))
		}
	}
	at := 2 + 4 + 2 + len("only removed")
	long := slices.Concat(b[:at], []byte{b[at] | 0x80, 0}, b[at+1:]) // a number in more bytes than it needs
	if _, err := ReadVectors(wire.NewReader(long, cpar.ErrCorrupt)); !errors.Is(err, cpar.ErrCorrupt) {
		t.Errorf("a long number: %v", err)
	}
	if none, err := ReadVectors(wire.NewReader([]byte{0, 0}, cpar.ErrCorrupt)); none != nil || err != nil {
		t.Errorf("no vectors: %v, %v", none, err)
	}
}

// TestManyPhotosOfOneWord checks sums beyond 32 bits, and a curve of sums whose
// squares exceed 64 bits.
func TestManyPhotosOfOneWord(t *testing.T) {
	row := []int16{700, -700, 200, -100}
	s := NewSums(len(row))
	s.Add(row, []string{"sea"})
	want, _ := s.Vector("sea")
	for range 26 {
		s = s.Plus(s)
	}
	got, ok := s.Vector("sea")
	if !ok || s.words["sea"].photos != 1<<26 {
		t.Fatalf("%d photos", s.words["sea"].photos)
	}
	for k := range want {
		if math.Abs(got[k]-want[k]) > 1e-12 {
			t.Errorf("the direction is %v, want %v", got, want)
		}
	}
	if o, ok := s.observe("sea", row, true, 1<<26); !ok || math.Abs(o.terms[1]-1) > 1e-9 {
		t.Errorf("the similarity of a photo like all others is %v", o.terms[1])
	}
	b, err := s.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	if back, err := ReadSums(wire.NewReader(b, cpar.ErrCorrupt)); err != nil || !reflect.DeepEqual(back, s) {
		t.Errorf("read back: %v, %v", back, err)
	}
}
