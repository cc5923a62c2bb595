package quality

import (
	"cmp"
	"flag"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cpar/encoder"
	"cpar/encoder/zeroshot"
	"cpar/model/profile"
	"cpar/photo/dataset"
	"cpar/user"
)

var (
	pairCollection = flag.String("collection", "", "for TestTextPriorOfAPair: folder of photos with keywords")
	pairImage      = flag.String("model", "", "for TestTextPriorOfAPair: image half, an ONNX file")
	pairText       = flag.String("text-model", "", "for TestTextPriorOfAPair: text half, an ONNX file")
)

// TestTextPriorOfAPair prints how many human keywords are among the five most
// probable, with and without the text half of a CLIP-like network.
func TestTextPriorOfAPair(t *testing.T) {
	if *pairCollection == "" || *pairImage == "" || *pairText == "" {
		t.Skip("needs -collection, -model and -text-model with the halves of a CLIP-like network, which the project does not include")
	}
	const draws, asked = 20, 500
	network, err1 := encoder.Open(*pairImage, encoder.OpenOptions{})
	half, err2 := zeroshot.Open(*pairText, "")
	c, err3 := dataset.Open(t.Context(), *pairCollection, dataset.Options{})
	if err := cmp.Or(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	photos, _, err := user.ReadPhotos(t.Context(), c.Photos, user.ReadOptions{Network: network})
	if err != nil {
		t.Fatal(err)
	}
	known := map[string][]float32{}
	text := func(words []string) (out [][]float32, err error) {
		for _, word := range words {
			if known[word] == nil {
				v, err := zeroshot.Vectors(t.Context(), []string{word}, half, nil, nil)
				if err != nil {
					return nil, err
				}
				known[word] = v[0]
			}
			out = append(out, known[word])
		}
		return out, nil
	}
	for _, n := range smallSizes {
		if n+asked > len(photos) {
			t.Logf("%d tagged photos: the collection has only %d", n, len(photos))
			break
		}
		var gains []float64
		var sum [2]float64
		for draw := range uint64(draws) {
			var found [2]float64
			order := slices.Clone(photos)
			rand.New(rand.NewPCG(draw, 5)).Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
			for i, half := range []profile.TextVectors{nil, text} {
				fit, err := profile.Fit(t.Context(), profile.Network, user.Features(order[:n]), user.Keywords(order[:n]), profile.Options{Text: half})
				if err != nil {
					t.Fatal(err)
				}
				found[i] = guessedOfFive(t, fit.Profile, order[n:n+asked])
				sum[i] += found[i] / draws
			}
			gains = append(gains, found[1]-found[0])
		}
		variance := 0.0
		for _, g := range gains {
			variance += (g - sum[1] + sum[0]) * (g - sum[1] + sum[0]) / (draws - 1)
		}
		t.Logf("%d tagged photos, %d draws: found %.2f without and %.2f with the text half, standard error of the gain %.3f",
			n, draws, sum[0], sum[1], math.Sqrt(variance/draws))
	}
}

func guessedOfFive(t *testing.T, p profile.Profile, photos []user.Photo) (found float64) {
	t.Helper()
	for _, photo := range photos {
		v, err := p.Vector(photo.Vectors)
		if err != nil {
			t.Fatal(err)
		}
		g := v.Guess
		words := slices.SortedFunc(maps.Keys(g.Words), func(a, b string) int {
			return cmp.Or(cmp.Compare(g.Share[g.Words[b]], g.Share[g.Words[a]]), cmp.Compare(a, b))
		})
		for _, word := range words[:min(5, len(words))] {
			if slices.Contains(photo.Keywords, word) {
				found += 1 / float64(len(photos))
			}
		}
	}
	return found
}
