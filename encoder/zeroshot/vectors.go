package zeroshot

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"sync"

	"cpar/internal/parallel"
	"cpar/internal/progress"
	"cpar/model/feature"
)

// templates turn a keyword into prompts, because CLIP learned from captions and
// the mean of several is more stable (section 3.1.4 of its paper). The second
// suits plurals and mass nouns.
var templates = []string{"a photo of a {}.", "a photo of {}."}

// A TextEncoder computes the embedding of a text.
type TextEncoder interface {
	// Digest identifies everything that determines the results of Text.
	Digest() [sha256.Size]byte
	// Text must be safe for concurrent use.
	Text(text string) ([]float32, error)
}

// Vectors returns the keywords' vectors, each the mean of its prompts'
// embeddings, from the cache where possible. ctx is checked between prompts.
func Vectors(ctx context.Context, words []string, t TextEncoder, cache *feature.Cache, report progress.Func) ([][]float32, error) {
	out := make([][]float32, len(words))
	var mu sync.Mutex // guards done, first and calls of report
	done, first := 0, error(nil)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	err := parallel.Until(ctx, len(words), func() func(int) {
		return func(i int) {
			v, err := cache.Text(cacheKey(words[i], t), func() ([]float32, error) { return vector(ctx, words[i], t) })
			mu.Lock()
			defer mu.Unlock()
			if err != nil && first == nil {
				first = err
				cancel()
			}
			out[i] = v
			done++
			report.Report("words", done, len(words))
		}
	})
	if first != nil {
		err = first
	}
	if err != nil {
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
