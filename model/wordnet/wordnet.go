// Package wordnet relates the 1,000 classes of ImageNet to nouns.
//
//	probabilities of the classes ─▶ Nodes: probabilities of their hypernyms
//	                             ─▶ Probability: probability of a word
//
// Every class is a noun of WordNet 3.0 (Miller, "WordNet: a lexical database
// for English", CACM 1995). Its hypernyms are broader concepts: a beagle is a
// dog, a mammal, an animal. The probability of a hypernym is the sum over the
// classes below it. A node of the table is a class or a hypernym. Package gen
// writes the table. licences/wordnet.txt holds WordNet's licence.
package wordnet

import (
	"crypto/sha256"
	_ "embed"
	"fmt"
	"strings"
	"sync"
)

// Needs Debian's package wordnet-base.
//go:generate go run ./gen /usr/share/wordnet nouns.txt

//go:embed nouns.txt
var nouns string

const digest = "68e5804187c7f05f6f53f371ddb21869a5e47c995c0a818a57c0b0e47a452719" // SHA-256 of nouns.txt

// Check returns an error if the embedded table is damaged. The other functions
// assume an intact table.
var Check = sync.OnceValue(check)

func check() error {
	if fmt.Sprintf("%x", sha256.Sum256([]byte(nouns))) != digest {
		return fmt.Errorf("the table of nouns inside this program (nouns.txt) is damaged; install the program again")
	}
	return nil
}

// Classes is the number of classes of ImageNet, in the order of their WordNet
// identifiers.
const Classes = 1000

// span is a run of classes from first to last−1.
type span struct{ first, last int }

type table struct {
	nodes   [][]span          // classes below each node
	words   map[string][]int  // nodes that each word means
	plurals map[string]string // base form of each irregular plural
}

var parsed = sync.OnceValue(func() *table {
	t := &table{words: map[string][]int{}, plurals: map[string]string{}}
	nodes, plurals, _ := strings.Cut(nouns, "\n\n")
	for line := range strings.Lines(nodes) {
		classes, words, _ := strings.Cut(strings.TrimSpace(line), "\t")
		var spans []span
		for text := range strings.SplitSeq(classes, ",") {
			var s span
			if n, _ := fmt.Sscanf(text, "%d-%d", &s.first, &s.last); n == 1 {
				s.last = s.first
			}
			s.last++
			spans = append(spans, s)
		}
		for word := range strings.SplitSeq(words, ";") {
			if word = strings.TrimPrefix(word, "*"); word != "" { // everyday words are marked
				t.words[word] = append(t.words[word], len(t.nodes))
			}
		}
		t.nodes = append(t.nodes, spans)
	}
	for line := range strings.Lines(plurals) {
		plural, word, _ := strings.Cut(strings.TrimSpace(line), "\t")
		t.plurals[plural] = word
	}
	return t
})

// Nodes returns every node's probability, given the classes' probabilities.
func Nodes(classes []float32) []float32 {
	until := make([]float64, Classes+1)
	for i, p := range classes[:Classes] {
		until[i+1] = until[i] + float64(p)
	}
	t := parsed()
	out := make([]float32, len(t.nodes))
	for i, spans := range t.nodes {
		for _, s := range spans {
			out[i] += float32(until[s.last] - until[s.first])
		}
	}
	return out
}

func NumNodes() int { return len(parsed().nodes) }

// Probability returns the sum of the probabilities of the classes that are
// instances of `word`, or 0 if there are none.
func Probability(word string, classes []float32) float32 {
	t := parsed()
	var in [Classes]bool
	for _, node := range meanings(word) {
		for _, s := range t.nodes[node] {
			for class := s.first; class < s.last; class++ {
				in[class] = true
			}
		}
	}
	sum := float32(0)
	for class, below := range in {
		if below {
			sum += classes[class]
		}
	}
	return sum
}

// singulars pairs the endings of regular plurals with the endings of their
// singulars, in WordNet's order.
var singulars = [][2]string{{"s", ""}, {"ses", "s"}, {"xes", "x"}, {"zes", "z"}, {"ches", "ch"}, {"shes", "sh"}, {"men", "man"}, {"ies", "y"}}

func meanings(word string) []int {
	t := parsed()
	word = strings.ToLower(word)
	if nodes, ok := t.words[word]; ok {
		return nodes
	}
	if base, ok := t.plurals[word]; ok {
		return t.words[base]
	}
	for _, s := range singulars {
		if stem, ok := strings.CutSuffix(word, s[0]); ok {
			if nodes, ok := t.words[stem+s[1]]; ok {
				return nodes
			}
		}
	}
	return nil
}
