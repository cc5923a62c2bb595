package learn

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"cpar"
)

func TestGuessIsRidgeRegression(t *testing.T) {
	rows, keywords := collection(60, 1, 4)
	for _, landmarks := range []int{0, 12} {
		opt := Options{Dim: 3, Ridge: 0.2, Blocks: both, Landmarks: landmarks}
		p := mustFit(t, rows, keywords, opt)
		var back Projection
		if err := back.UnmarshalBinary(encoded(t, p)); err != nil {
			t.Fatal(err)
		}
		f := prepare(t, rows, keywords, opt)
		n, q, v := f.x.Rows, f.x.Cols, f.y.words
		x, y := mat.NewDense(n, q, slices.Clone(f.x.Data)), mat.NewDense(n, v, nil)
		for i, words := range f.y.byPhoto {
			for _, w := range words {
				y.Set(i, w, 1)
			}
		}
		mean := make([]float64, v)
		for _, m := range []*mat.Dense{x, y} {
			_, cols := m.Dims()
			for j := range cols {
				s := mat.Sum(m.ColView(j)) / float64(n)
				if m == y {
					mean[j] = s
				}
				for i := range n {
					m.Set(i, j, m.At(i, j)-s)
				}
			}
		}
		var a, b, w, want mat.Dense
		a.Mul(x.T(), x)
		ridge := opt.Ridge * mat.Trace(&a) / float64(q)
		for i := range q {
			a.Set(i, i, a.At(i, i)+ridge)
		}
		b.Mul(x.T(), y)
		if err := w.Solve(&a, &b); err != nil {
			t.Fatal(err)
		}
		want.Mul(x, &w)
		for i, row := range rows {
			vector, guess, err := p.ApplyWithGuess(row)
			if err != nil {
				t.Fatal(err)
			}
			alone, _ := p.Apply(row)
			same, again, err := back.ApplyWithGuess(row)
			if err != nil || !slices.Equal(vector, alone) || !slices.Equal(vector, same) || !slices.Equal(guess.Share, again.Share) {
				t.Fatalf("photo %d: another vector or guess: %v", i, err)
			}
			for name, j := range f.y.column {
				if got := float64(guess.Share[guess.Words[name]]); math.Abs(got-want.At(i, j)-mean[j]) > 2e-3 {
					t.Fatalf("%d landmarks, photo %d, word %s: %g, want %g", landmarks, i, name, got, want.At(i, j)+mean[j])
				}
			}
		}
	}
}

func TestGuessesAreFromOtherFolds(t *testing.T) {
	rows, keywords := collection(50, 1, 6)
	for i := range keywords {
		keywords[i] = append(keywords[i], fmt.Sprint("own", i))
	}
	f := prepare(t, rows, keywords, Options{Dim: 2, Ridge: 1, Blocks: both})
	v := must(f.validation(t.Context(), keywords, 5, 0))
	samples, _ := samplesOf(t, v, Options{Ridge: 1, Dim: 3}, nil)
	for _, s := range samples {
		own := s.Truth[len(s.Truth)-1]
		if got := s.Guess.Share[s.Guess.Words[own]]; got != 0 {
			t.Fatalf("a photo's own word is guessed at %g", got)
		}
	}
}

func TestEncodingHidesWords(t *testing.T) {
	rows, keywords := collection(40, 1, 5)
	more := make([][]string, len(keywords))
	for i, words := range keywords {
		more[i] = append(slices.Clone(words), fmt.Sprint("another word ", i%20))
	}
	opt := Options{Dim: 3, Ridge: 1, Blocks: both}
	a, b := encoded(t, mustFit(t, rows, keywords, opt)), encoded(t, mustFit(t, rows, more, opt))
	if len(a) != len(b) {
		t.Errorf("%d bytes with few words, %d with more", len(a), len(b))
	}
}

func TestGuesserRefuses(t *testing.T) {
	linear, _ := examples(t)
	rest := size16(maxWords, len(must(decode(linear)).mean)) + 4*maxWords
	at := len(linear) - rest - paddedNames
	for name, change := range map[string]func(b []byte){
		"many words":   func(b []byte) { binary.LittleEndian.PutUint32(b[at:], maxWords+1) },
		"fewer words":  func(b []byte) { b[at]-- },
		"a long word":  func(b []byte) { binary.LittleEndian.PutUint32(b[at+4:], math.MaxUint32) },
		"a word twice": func(b []byte) { b[at+8], b[at+13] = '1', '1' },
		"not zeros":    func(b []byte) { b[at+paddedNames-1] = 1 },
		"a mean": func(b []byte) {
			binary.LittleEndian.PutUint32(b[at+paddedNames:], math.Float32bits(float32(math.NaN())))
		},
	} {
		b := bytes.Clone(linear)
		change(b)
		if err := new(Projection).UnmarshalBinary(b); !errors.Is(err, cpar.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
