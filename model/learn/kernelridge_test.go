package learn

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cpar"
	"cpar/model/rank"
)

// fewTagged returns n rows of two blocks whose first two values give the word.
func fewTagged(n int, seed uint64) (rows [][]float32, keywords [][]string) {
	rng := rand.New(rand.NewPCG(seed, 1))
	for i := range n {
		row := make([]float32, 9)
		for j := range row {
			row[j] = float32(rng.NormFloat64())
		}
		row[i%2] += 4
		rows, keywords = append(rows, row), append(keywords, []string{fmt.Sprint("word", i%2), "all"})
	}
	keywords[n-1] = nil
	return rows, keywords
}

var ridgeBlocks = []RidgeBlock{{6, 1}, {3, 0.2}}

func likesFoxes(word string) float64 {
	if word == "word1" {
		return 0.4
	}
	return 0
}

// The estimate of a photo by the others equals the estimate of a regression
// with the same centre that was fitted without it.
func TestKernelRidgeLeavesOneOut(t *testing.T) {
	rows, keywords := fewTagged(21, 1)
	priors := make([]Prior, len(rows))
	priors[4] = likesFoxes
	_, guesses := fitKernelRidge(t, rows, keywords, priors)
	for _, out := range []int{0, 4, 20} {
		some := slices.Clone(keywords)
		some[out] = nil
		without, _ := fitKernelRidge(t, rows, some, priors)
		want, err := without.Guess(rows[out], priors[out])
		if err != nil {
			t.Fatal(err)
		}
		for word, w := range want.Words {
			got := guesses[out].Share[guesses[out].Words[word]]
			if math.Abs(float64(got-want.Share[w])) > 2e-3 {
				t.Errorf("photo %d, %s: %g, without the photo %g", out, word, got, want.Share[w])
			}
		}
	}
}

func TestKernelRidgeFindsWords(t *testing.T) {
	rows, keywords := fewTagged(40, 2)
	k, _ := fitKernelRidge(t, rows, keywords, nil)
	fresh, _ := fewTagged(40, 3)
	right := 0
	for i, row := range fresh {
		g, err := k.Guess(row, nil)
		if err != nil {
			t.Fatal(err)
		}
		if g.Share[g.Words[fmt.Sprint("word", i%2)]] > g.Share[g.Words[fmt.Sprint("word", 1-i%2)]] {
			right++
		}
		sure, err := k.Guess(row, likesFoxes)
		if err != nil {
			t.Fatal(err)
		}
		if more := sure.Share[sure.Words["word1"]] - g.Share[g.Words["word1"]]; math.Abs(float64(more)-0.4) > 1e-6 {
			t.Fatalf("the prior adds %g", more)
		}
	}
	if right < 36 {
		t.Errorf("%d of 40 are right", right)
	}
}

func TestKernelRidgeEncoding(t *testing.T) {
	rows, keywords := fewTagged(12, 4)
	k, _ := fitKernelRidge(t, rows, keywords, nil)
	data, _ := k.MarshalBinary()
	var back KernelRidge
	if err := back.UnmarshalBinary(data); err != nil {
		t.Fatal(err)
	}
	want, _ := k.Guess(rows[0], nil)
	got, _ := back.Guess(rows[0], nil)
	if again, _ := back.MarshalBinary(); !bytes.Equal(again, data) || !slices.Equal(got.Share, want.Share) {
		t.Error("decoding gave another regression")
	}
	few := slices.Clone(keywords)
	few[3] = nil
	other, _ := fitKernelRidge(t, rows, few, nil)
	if b, _ := other.MarshalBinary(); len(b) != len(data) {
		t.Errorf("the length reveals a photo without keywords: %d, %d bytes", len(b), len(data))
	}
	for n := 0; n < len(data); n += 1 + n/50 {
		if err := new(KernelRidge).UnmarshalBinary(data[:n]); !errors.Is(err, cpar.ErrCorrupt) && !errors.Is(err, cpar.ErrVersion) {
			t.Fatalf("%d of %d bytes: %v", n, len(data), err)
		}
	}
	for name, at := range map[string]int{"version": 8, "blocks": 12, "photos": 16, "length": 20, "weight": 24} {
		bad := bytes.Clone(data)
		copy(bad[at:], []byte{0xff, 0xff, 0xff, 0xff})
		if err := new(KernelRidge).UnmarshalBinary(bad); !errors.Is(err, cpar.ErrCorrupt) && !errors.Is(err, cpar.ErrVersion) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := new(KernelRidge).UnmarshalBinary(append(data, 0)); !errors.Is(err, cpar.ErrCorrupt) {
		t.Errorf("a byte too many: %v", err)
	}
}

func TestKernelRidgeRejectsBadInput(t *testing.T) {
	rows, keywords := fewTagged(12, 5)
	bad := slices.Clone(rows)
	bad[2] = slices.Clone(rows[2])
	bad[2][0] = float32(math.NaN())
	for name, err := range map[string]error{
		"no photo":      third(FitKernelRidge(t.Context(), nil, nil, nil, ridgeBlocks)),
		"no keyword":    third(FitKernelRidge(t.Context(), rows, make([][]string, 12), nil, ridgeBlocks)),
		"few lists":     third(FitKernelRidge(t.Context(), rows, keywords[1:], nil, ridgeBlocks)),
		"few priors":    third(FitKernelRidge(t.Context(), rows, keywords, make([]Prior, 3), ridgeBlocks)),
		"another block": third(FitKernelRidge(t.Context(), rows, keywords, nil, ridgeBlocks[:1])),
		"not a number":  third(FitKernelRidge(t.Context(), bad, keywords, nil, ridgeBlocks)),
	} {
		if !errors.Is(err, cpar.ErrInput) {
			t.Errorf("%s: %v", name, err)
		}
	}
	k, _ := fitKernelRidge(t, rows, keywords, nil)
	for _, row := range [][]float32{nil, bad[2]} {
		if _, err := k.Guess(row, nil); !errors.Is(err, cpar.ErrInput) {
			t.Errorf("a row %v: %v", row, err)
		}
	}
}

func fitKernelRidge(t *testing.T, rows [][]float32, keywords [][]string, priors []Prior) (*KernelRidge, []*rank.Guess) {
	t.Helper()
	k, guesses, err := FitKernelRidge(t.Context(), rows, keywords, priors, ridgeBlocks)
	if err != nil {
		t.Fatal(err)
	}
	return k, guesses
}

func third[A, B any](_ A, _ B, err error) error { return err }
