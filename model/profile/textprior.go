package profile

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/wire"
	"cpar/model/learn"
)

// TextVectors returns a vector for each word in the space of the embeddings, from
// the text half of a CLIP-like network. Lengths do not matter.
type TextVectors func(words []string) ([][]float32, error)

// A TextPrior estimates keywords by the text half of a network. With t_w and x of
// length 1 and the mean m of x over the tagged photos, the estimate of word w is
// its share of the softmax of τ·t_w·(x − m), times the number of keywords of a
// photo. Subtracting m removes what all photos have in common, as the two halves
// fill different parts of the space (Liang et al., "Mind the gap", NeurIPS 2022).
// It is immutable.
type TextPrior struct {
	words       []string // sorted
	vectors     []int16  // t_w, in units of 1/32,767
	mean        []float32
	temperature float32 // τ
	perPhoto    float32
}

// Bounds of a TextPrior. Package learn estimates no more words.
const (
	maxTextWords, maxTextWordBytes = 512, 128
	maxTemperature                 = 1000
)

// FitTextPrior fits τ to the photos that have keywords: it maximises the mean
// logarithm of their words' shares, which is concave in τ. It returns nil if no
// positive τ is better than equal shares, as with halves of different networks.
func FitTextPrior(embeddings [][]float32, keywords [][]string, text TextVectors) (*TextPrior, error) {
	p := &TextPrior{words: commonWords(keywords)}
	vectors, err := text(p.words)
	if err != nil || len(p.words) == 0 {
		return nil, err
	}
	for _, v := range vectors {
		if len(v) != len(embeddings[0]) {
			return nil, hint.Add(fmt.Errorf("%w: the image network gives %d values and the text half %d", cpar.ErrInput, len(embeddings[0]), len(v)),
				"pass the text half that came with --model, or leave --text-model out")
		}
		for _, x := range unit(v) {
			p.vectors = append(p.vectors, int16(math.RoundToEven(float64(x)*math.MaxInt16)))
		}
	}
	p.mean = make([]float32, len(embeddings[0]))
	var tagged []int
	for i, list := range keywords {
		if len(list) > 0 {
			tagged = append(tagged, i)
		}
	}
	for _, i := range tagged {
		for k, x := range unit(embeddings[i]) {
			p.mean[k] += x / float32(len(tagged))
		}
		p.perPhoto += float32(len(keywords[i])) / float32(len(tagged))
	}
	cosines, mine := make([][]float64, len(tagged)), make([]float64, len(tagged)) // mine is the mean of a photo's own words
	for t, i := range tagged {
		cosines[t] = p.cosines(embeddings[i])
		for _, word := range keywords[i] {
			if w, ok := slices.BinarySearch(p.words, word); ok {
				mine[t] += cosines[t][w] / float64(len(keywords[i]))
			}
		}
	}
	low, high := 0.0, float64(maxTemperature)
	for range 40 { // τ where the derivative is 0
		middle, slope := (low+high)/2, 0.0
		for t, z := range cosines {
			slope += mine[t]
			for w, share := range softmax(z, middle) {
				slope -= share * z[w]
			}
		}
		if slope > 0 {
			low = middle
		} else {
			high = middle
		}
	}
	if p.temperature = float32(low); low < 1 {
		return nil, nil
	}
	return p, nil
}

// commonWords returns the most frequent words, sorted.
func commonWords(keywords [][]string) []string {
	count := map[string]int{}
	for _, list := range keywords {
		for _, word := range list {
			if len(word) <= maxTextWordBytes {
				count[word]++
			}
		}
	}
	words := slices.SortedFunc(maps.Keys(count), func(a, b string) int { return cmp.Or(count[b]-count[a], cmp.Compare(a, b)) })
	words = words[:min(len(words), maxTextWords)]
	slices.Sort(words)
	return words
}

func unit(v []float32) []float32 {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	out := make([]float32, len(v))
	for i, x := range v {
		out[i] = float32(float64(x) / math.Sqrt(max(sum, math.SmallestNonzeroFloat64)))
	}
	return out
}

// cosines returns t_w·(x − m) for every word.
func (p *TextPrior) cosines(embedding []float32) []float64 {
	x := unit(embedding)
	out := make([]float64, len(p.words))
	for w := range out {
		for k, t := range p.vectors[w*len(x):][:len(x)] {
			out[w] += float64(t) / math.MaxInt16 * float64(x[k]-p.mean[k])
		}
	}
	return out
}

func softmax(z []float64, temperature float64) []float64 {
	out, sum, largest := make([]float64, len(z)), 0.0, slices.Max(z)
	for i, x := range z {
		out[i] = math.Exp(temperature * (x - largest))
		sum += out[i]
	}
	for i := range out {
		out[i] /= sum
	}
	return out
}

// Prior returns the estimates for a photo. Words that the prior lacks have 0.
func (p *TextPrior) Prior(embedding []float32) learn.Prior {
	shares := softmax(p.cosines(embedding), float64(p.temperature))
	return func(word string) float64 {
		w, ok := slices.BinarySearch(p.words, word)
		if !ok {
			return 0
		}
		return min(1, shares[w]*float64(p.perPhoto))
	}
}

// MarshalBinary encodes p. The length depends on the embedding alone, so that it
// does not reveal the number of words.
func (p *TextPrior) MarshalBinary() ([]byte, error) {
	le, dim := binary.LittleEndian, len(p.mean)
	b := le.AppendUint16(nil, uint16(dim))
	b = le.AppendUint16(b, uint16(len(p.words)))
	for _, x := range append([]float32{p.temperature, p.perPhoto}, p.mean...) {
		b = le.AppendUint32(b, math.Float32bits(x))
	}
	for w, word := range p.words {
		b = append(append(b, byte(len(word))), word...)
		b = append(b, make([]byte, maxTextWordBytes-len(word))...)
		for _, t := range p.vectors[w*dim:][:dim] {
			b = le.AppendUint16(b, uint16(t))
		}
	}
	return append(b, make([]byte, (maxTextWords-len(p.words))*(1+maxTextWordBytes+2*dim))...), nil
}

// UnmarshalBinary decodes p. Errors wrap cpar.ErrCorrupt.
func (p *TextPrior) UnmarshalBinary(b []byte) error {
	r := wire.NewReader(b, cpar.ErrCorrupt)
	dim, words := int(r.U16("values of an embedding")), int(r.U16("words"))
	float := func(what string, least, most float64) float32 {
		x := math.Float32frombits(r.U32(what))
		if r.Err() == nil && !(float64(x) >= least && float64(x) <= most) {
			r.Fail("%s %g", what, x)
		}
		return x
	}
	*p = TextPrior{temperature: float("temperature", 1, maxTemperature), perPhoto: float("keywords of a photo", 0, 1<<16)}
	if words < 1 || words > maxTextWords {
		r.Fail("%d words", words)
	}
	for i := 0; i < dim && r.Err() == nil; i++ {
		p.mean = append(p.mean, float("mean", -1, 1))
	}
	for w := 0; w < words && r.Err() == nil; w++ {
		n := int(r.U8("length of a word"))
		word := string(r.Bytes(min(n, maxTextWordBytes), "word"))
		r.Zeros(maxTextWordBytes-len(word), "padding of a word")
		if n > maxTextWordBytes || w > 0 && word <= p.words[w-1] {
			r.Fail("word %d", w)
		}
		p.words = append(p.words, word)
		for range dim {
			p.vectors = append(p.vectors, int16(r.U16("vector")))
		}
	}
	r.Zeros((maxTextWords-words)*(1+maxTextWordBytes+2*dim), "padding of the words")
	return r.Close()
}
