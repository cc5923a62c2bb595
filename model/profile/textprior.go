package profile

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/wire"
	"cpar/model/learn"
)

// TextVectors returns a vector for each word, in the space of the embeddings,
// from the text half of a CLIP-like network. Vectors may have any norm.
type TextVectors func(words []string) ([][]float32, error)

// A TextPrior estimates the probabilities of keywords by the text half of a
// network. Let t_w be the text vector of word w and x the embedding of a photo,
// both of length 1. Let m be the mean of x over the tagged photos, and τ a
// fitted factor. The estimate for w is its share in the softmax of τ·t_w·(x −
// m) over all words, times the mean number of keywords per photo. Subtracting m
// removes the part common to all images, because images and texts fill
// different parts of the space (Liang et al., "Mind the gap", NeurIPS 2022). A
// TextPrior is immutable.
type TextPrior struct {
	words       []string  // sorted
	mean        []int16   // m in units of 1/32,767
	vectors     [][]int16 // t_w of each word in the same units
	temperature float32   // τ
	perPhoto    float32   // mean number of keywords of a tagged photo
}

// These constants bound the size of a TextPrior. Package learn estimates at
// most maxTextWords words.
const (
	maxTextWords, maxTextWordBytes = 512, 128
	textNames                      = maxTextWords * (maxTextWordBytes + 1)
	maxTemperature                 = 1000
)

// FitTextPrior fits τ to the photos that have keywords. It maximises the mean
// logarithm of their keywords' shares, a concave function of τ. It returns nil
// if the best τ is below 1, because the two halves then probably belong to
// different networks.
func FitTextPrior(embeddings [][]float32, keywords [][]string, text TextVectors) (*TextPrior, error) {
	p := &TextPrior{words: commonWords(keywords)}
	vectors, err := text(p.words)
	if err != nil || len(p.words) == 0 {
		return nil, err
	}
	dim := len(embeddings[0])
	for _, v := range vectors {
		if len(v) != dim {
			return nil, hint.Add(fmt.Errorf("%w: the image network gives %d values and the text half %d", cpar.ErrInput, dim, len(v)),
				"pass the text half that came with --model, or leave --text-model out")
		}
		p.vectors = append(p.vectors, rounded(unit(v)))
	}
	mean, tagged := make([]float64, dim), 0.0
	for i, list := range keywords {
		if len(list) > 0 {
			floats.Add(mean, unit(embeddings[i]))
			tagged++
			p.perPhoto += float32(len(list))
		}
	}
	floats.Scale(1/tagged, mean)
	p.mean, p.perPhoto = rounded(mean), p.perPhoto/float32(tagged)
	var cosines [][]float64
	own := 0.0 // sum over the photos of the mean cosine with their words
	for i, list := range keywords {
		if len(list) == 0 {
			continue
		}
		z := p.cosines(embeddings[i])
		cosines = append(cosines, z)
		for _, word := range list {
			if w, ok := slices.BinarySearch(p.words, word); ok {
				own += z[w] / float64(len(list))
			}
		}
	}
	low, high := 0.0, float64(maxTemperature)
	for range 40 { // bisect to find the zero of the derivative
		middle, slope := (low+high)/2, own
		for _, z := range cosines {
			slope -= floats.Dot(softmax(z, middle), z)
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

// commonWords returns the maxTextWords most frequent words, sorted
// alphabetically.
func commonWords(keywords [][]string) []string {
	count := map[string]int{}
	for _, word := range slices.Concat(keywords...) {
		if len(word) <= maxTextWordBytes {
			count[word]++
		}
	}
	words := slices.SortedFunc(maps.Keys(count), func(a, b string) int { return cmp.Or(count[b]-count[a], cmp.Compare(a, b)) })
	words = words[:min(len(words), maxTextWords)]
	slices.Sort(words)
	return words
}

func unit(v []float32) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = float64(x)
	}
	if norm := floats.Norm(out, 2); norm > 0 {
		floats.Scale(1/norm, out)
	}
	return out
}

func rounded(v []float64) []int16 {
	out := make([]int16, len(v))
	for i, x := range v {
		out[i] = int16(math.RoundToEven(x * math.MaxInt16))
	}
	return out
}

// cosines returns t_w·(x − m) for every word.
func (p *TextPrior) cosines(embedding []float32) []float64 {
	x := unit(embedding)
	for k, m := range p.mean {
		x[k] -= float64(m) / math.MaxInt16
	}
	out := make([]float64, len(p.words))
	for w, vector := range p.vectors {
		for k, t := range vector {
			out[w] += float64(t) / math.MaxInt16 * x[k]
		}
	}
	return out
}

func softmax(z []float64, temperature float64) []float64 {
	out := floats.ScaleTo(make([]float64, len(z)), temperature, z)
	sum := floats.LogSumExp(out)
	for i, x := range out {
		out[i] = math.Exp(x - sum)
	}
	return out
}

// Prior returns the estimates for a photo, 0 for unknown words.
func (p *TextPrior) Prior(embedding []float32) learn.Prior {
	shares := softmax(p.cosines(embedding), float64(p.temperature))
	return func(word string) float64 {
		if w, ok := slices.BinarySearch(p.words, word); ok {
			return min(1, shares[w]*float64(p.perPhoto))
		}
		return 0
	}
}

// MarshalBinary encodes p. The length depends only on the length of an
// embedding, so it does not reveal the number of words.
func (p *TextPrior) MarshalBinary() ([]byte, error) {
	le, names := binary.LittleEndian, strings.Join(p.words, "\n")
	b := le.AppendUint16(nil, uint16(len(p.mean)))
	b = le.AppendUint32(b, math.Float32bits(p.temperature))
	b = le.AppendUint32(b, math.Float32bits(p.perPhoto))
	b = le.AppendUint32(b, uint32(len(names)))
	b = append(append(b, names...), make([]byte, textNames-len(names))...)
	for _, row := range append([][]int16{p.mean}, p.vectors...) {
		for _, x := range row {
			b = le.AppendUint16(b, uint16(x))
		}
	}
	return append(b, make([]byte, 2*len(p.mean)*(maxTextWords-len(p.words)))...), nil
}

// UnmarshalBinary decodes p. Errors wrap cpar.ErrCorrupt.
func (p *TextPrior) UnmarshalBinary(b []byte) error {
	r := wire.NewReader(b, cpar.ErrCorrupt)
	dim := int(r.U16("values of an embedding"))
	p.temperature, p.perPhoto = math.Float32frombits(r.U32("temperature")), math.Float32frombits(r.U32("keywords of a photo"))
	n := int(r.U32("length of the words"))
	if n > textNames {
		r.Fail("%d bytes of words", n)
		return r.Err()
	}
	p.words = strings.Split(string(r.Bytes(n, "words")), "\n")
	r.Zeros(textNames-n, "padding of the words")
	sorted := slices.IsSortedFunc(p.words, func(a, b string) int { return cmp.Or(cmp.Compare(a, b), -1) })
	if !(p.temperature >= 1 && p.temperature <= maxTemperature && p.perPhoto >= 0 && p.perPhoto <= 1<<16) || len(p.words) > maxTextWords || !sorted {
		r.Fail("temperature %g, %g keywords a photo, or %d words", p.temperature, p.perPhoto, len(p.words))
	}
	p.vectors = nil
	for i := 0; i <= len(p.words) && r.Err() == nil; i++ {
		row := make([]int16, dim)
		for k := range row {
			row[k] = int16(r.U16("vector"))
		}
		p.vectors = append(p.vectors, row)
	}
	if r.Err() == nil {
		p.mean, p.vectors = p.vectors[0], p.vectors[1:]
	}
	r.Zeros(2*dim*(maxTextWords-len(p.words)), "padding of the vectors")
	return r.Close()
}
