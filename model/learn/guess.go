package learn

import (
	"encoding/binary"

	"gonum.org/v1/gonum/blas/blas64"

	"cpar/model/rank"
)

// A guesser is a ridge regression that estimates keywords from the projection's
// centred input (q values). It always has maxWords rows, with zeros for missing
// keywords, because the length of a projection must not reveal their number.
type guesser struct {
	words map[string]int // row of each keyword
	mean  []float32      // maxWords, each keyword's share of the photos
	rows  matrix16       // maxWords × q
}

// newGuesser makes a guesser of the regression w, v × q.
func newGuesser(y labels, m *moments, w blas64.General) guesser {
	g := guesser{words: y.column, mean: make([]float32, maxWords)}
	t := matrix(maxWords, w.Cols)
	for j := range y.words {
		g.mean[j] = float32(m.sy[j] / m.n)
	}
	copy(t.Data, w.Data)
	g.rows = round16(t)
	return g
}

// guess estimates the keywords of a photo from its centred input x.
func (g guesser) guess(x []float64) *rank.Guess {
	out := &rank.Guess{Words: g.words, Share: make([]float32, len(g.words))}
	for i, v := range g.rows.first(len(g.words)).times(x) {
		out.Share[i] = float32(v) + g.mean[i]
	}
	return out
}

// The keyword count and names are padded to a multiple of paddedNames bytes.
const paddedNames = 1 << 16

func namePadding(size int) int { return (paddedNames - size%paddedNames) % paddedNames }

func (g guesser) append(data []byte) []byte {
	start, names := len(data), make([]string, len(g.words))
	for w, row := range g.words {
		names[row] = w
	}
	data = binary.LittleEndian.AppendUint32(data, uint32(len(names)))
	for _, w := range names {
		data = append(binary.LittleEndian.AppendUint32(data, uint32(len(w))), w...)
	}
	data = append(data, make([]byte, namePadding(len(data)-start))...)
	return g.rows.append(appendFloats(data, g.mean))
}

func (r reader) guesser(q int) (g guesser) {
	n, size := r.U32("words"), 4
	if n > maxWords {
		r.Fail("regression of %d words, want at most %d", n, maxWords)
	}
	g.words = make(map[string]int, min(n, maxWords))
	for i := 0; i < int(n) && r.Err() == nil; i++ {
		w := string(r.Bytes(r.Count(1, "bytes of a word"), "word"))
		if _, again := g.words[w]; again {
			r.Fail("duplicate word")
		}
		g.words[w], size = i, size+4+len(w)
	}
	r.Zeros(namePadding(size), "padding after the names")
	g.mean, g.rows = r.floats(maxWords), r.matrix(maxWords, q)
	return g
}
