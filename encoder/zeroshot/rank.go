package zeroshot

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/progress"
	"cpar/model/feature"
	"cpar/photo/metadata"
)

// A Score is a keyword and its share, 0 to 1, of the softmax over all keywords.
type Score struct {
	Word  string  `json:"word"`
	Score float64 `json:"score"`
}

// temperature is the factor of cosines in the softmax. Training ends at a
// factor of 100 for CLIP and of about 115 for SigLIP. The factor is a constant
// here, because the files of text halves do not state it.
const temperature = 100

// A Ranker ranks keywords by an embedding. It is safe for concurrent use.
type Ranker struct {
	words   []string
	offered int         // number of leading words that Rank may return
	vectors [][]float32 // one unit vector for each word
}

// NewRanker returns a Ranker for words with one vector each. `offered` is the
// number of leading words that Rank may return. The others only compete.
func NewRanker(words []string, vectors [][]float32, offered int) (*Ranker, error) {
	if len(words) == 0 || len(words) != len(vectors) || offered < 1 || offered > len(words) {
		return nil, fmt.Errorf("ranking words: %w: %d words, %d vectors, %d of them offered", cpar.ErrInput, len(words), len(vectors), offered)
	}
	r := &Ranker{words: words, offered: offered}
	for i, v := range vectors {
		unit, err := normalised(v)
		if err == nil && len(v) != len(vectors[0]) {
			err = fmt.Errorf("%w: vectors of %d and of %d values", cpar.ErrInput, len(vectors[0]), len(v))
		}
		if err != nil {
			return nil, fmt.Errorf("ranking words: word %d: %w", i+1, err)
		}
		r.vectors = append(r.vectors, unit)
	}
	return r, nil
}

// Rank returns the keywords nearest to a photo's embedding, the best first,
// except those in `known`. It returns at most `limit` keywords, all with scores
// of at least `minScore`.
func (r *Ranker) Rank(embedding []float32, limit int, minScore float64, known []string) ([]Score, error) {
	photo, err := normalised(embedding)
	if dim := len(r.vectors[0]); err == nil && len(photo) != dim {
		err = dimMismatch(len(photo), dim)
	}
	if err != nil {
		return nil, fmt.Errorf("ranking words: %w", err)
	}
	return best(r.words[:r.offered], softmax(photo, r.vectors), limit, minScore, known), nil
}

// best returns the words with the largest shares, within the limits of Rank.
func best(words []string, shares []float64, limit int, minScore float64, known []string) []Score {
	leave := map[string]bool{}
	for _, word := range known {
		leave[metadata.Fold(word)] = true
	}
	var out []Score
	for i, word := range words {
		if shares[i] >= minScore && !leave[metadata.Fold(word)] {
			out = append(out, Score{word, shares[i]})
		}
	}
	// A stable sort keeps the result deterministic.
	slices.SortStableFunc(out, func(a, b Score) int { return cmp.Compare(b.Score, a.Score) })
	return out[:min(len(out), limit)]
}

func dimMismatch(photo, text int) error {
	return hint.Add(fmt.Errorf("%w: the image network gives %d values and the text half %d: they are not the two halves of one CLIP-like model", cpar.ErrInput, photo, text),
		"pass the text half that came with --model; the image half of a CLIP must give its projected embedding (image_embeds), which cpar model check shows")
}

func softmax(photo []float32, vectors [][]float32) []float64 {
	shares := make([]float64, len(vectors))
	greatest := math.Inf(-1)
	for i, v := range vectors {
		shares[i] = temperature * dot(photo, v)
		greatest = max(greatest, shares[i])
	}
	sum := 0.0
	for i := range shares {
		shares[i] = math.Exp(shares[i] - greatest)
		sum += shares[i]
	}
	for i := range shares {
		shares[i] /= sum
	}
	return shares
}

func dot(a, b []float32) (sum float64) {
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

func normalised(v []float32) ([]float32, error) {
	sum := dot(v, v)
	if !(sum > 0) || math.IsInf(sum, 0) {
		return nil, fmt.Errorf("%w: an embedding without a direction", cpar.ErrInput)
	}
	unit := make([]float32, len(v))
	for i, x := range v {
		unit[i] = float32(float64(x) / math.Sqrt(sum))
	}
	return unit, nil
}

// templates turn a keyword into prompts, because CLIP was trained on captions,
// and the mean over several prompts is more stable (section 3.1.4 of the CLIP
// paper cited in doc.go). The second template suits plurals and mass nouns.
var templates = []string{"a photo of a {}.", "a photo of {}."}

type TextEncoder interface {
	// Digest identifies everything that determines the results of Text.
	Digest() [sha256.Size]byte
	// Text computes an embedding. It must be safe for concurrent use.
	Text(text string) ([]float32, error)
}

// Vectors returns one vector per keyword, in the direction of the mean of its
// prompts' embeddings. It uses the cache where possible, and checks ctx between
// prompts.
func Vectors(ctx context.Context, words []string, t TextEncoder, cache *feature.Cache, report progress.Func) ([][]float32, error) {
	out := make([][]float32, len(words))
	var mu sync.Mutex // guards done and calls of report
	done := 0
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, word := range words {
		group.Go(func() (err error) {
			out[i], err = cache.Text(cacheKey(word, t), func() ([]float32, error) { return vector(ctx, word, t) })
			mu.Lock()
			defer mu.Unlock()
			done++
			report.Report("words", done, len(words))
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, fmt.Errorf("reading words: %w", err)
	}
	return out, nil
}

func cacheKey(word string, t TextEncoder) (name [sha256.Size]byte) {
	h := sha256.New()
	fmt.Fprintf(h, "cpar/v1/word %x %q %q", t.Digest(), templates, word)
	h.Sum(name[:0])
	return name
}

func vector(ctx context.Context, word string, t TextEncoder) ([]float32, error) {
	var sum []float32
	for _, template := range templates {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		v, err := t.Text(strings.ReplaceAll(template, "{}", word))
		if err == nil {
			v, err = normalised(v)
		}
		if err != nil {
			return nil, err
		}
		if sum == nil {
			sum = v
			continue
		}
		for k := range sum {
			sum[k] += v[k]
		}
	}
	return sum, nil
}
