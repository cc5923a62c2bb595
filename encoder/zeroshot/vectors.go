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

// templates make prompts of a word: CLIP has learnt from captions, not from single words, and
// the mean over several is steadier than each (section 3.1.4 of its paper). The second is for
// what has no plural or is one.
var templates = []string{"a photo of a {}.", "a photo of {}."}

// A Texter makes the embedding of a text.
type TextEncoder interface {
	// Digest identifies everything that determines the results of Text.
	Digest() [sha256.Size]byte
	// Text may be called by several goroutines at once.
	Text(text string) ([]float32, error)
}

// Vectors returns the vectors of words: the mean of their prompts' embeddings. What the
// cache has is not computed again. ctx ends it between two prompts.
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

// cacheKey names a word's vector in the cache: another text half, tokenizer or list of
// templates makes another.
func cacheKey(word string, t TextEncoder) (name [sha256.Size]byte) {
	h := sha256.New()
	fmt.Fprintf(h, "cpar/v1/word %x %q %q", t.Digest(), templates, word)
	h.Sum(name[:0])
	return name
}

// vector is the mean of the prompts' directions.
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
