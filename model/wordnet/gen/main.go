// Command gen writes the table that package wordnet embeds.
//
//	go run ./gen DICT nouns.txt
//
// DICT is the folder of WordNet 3.0's database, which Debian's package
// wordnet-base installs. gen finds the 1,000 classes of ImageNet by the labels
// of the network in package bundled and follows WordNet's hypernyms upwards.
// For every node (a set of synsets with the same classes below), it writes the
// classes and the words that mean the node.
package main

import (
	"bufio"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"cpar/encoder/bundled"
	"cpar/encoder/onnx"
)

const (
	// broadest is the maximum number of classes below a node. Broader nodes,
	// such as "artifact", say too little about a photo.
	broadest = 600
	// senses is the maximum number of a word's senses that are used. WordNet
	// sorts them by frequency.
	senses = 3
	// frequent is the minimum frequency of a later sense, relative to the first.
	frequent = 0.15
	// A word counts as an everyday word if it occurs at least `everyday` times
	// in the corpus SemCor and has at most `vague` classes below it.
	everyday, vague = 4, 250
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: gen DICT nouns.txt")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(dict, out string) error {
	labels, err := classLabels()
	if err != nil {
		return err
	}
	nouns, err := readNouns(dict)
	if err != nil {
		return err
	}
	under, err := nouns.classesUnder(labels)
	if err != nil {
		return err
	}
	words, err := wordsOf(dict, under)
	if err != nil {
		return err
	}
	plurals, err := irregular(dict, words)
	if err != nil {
		return err
	}
	return os.WriteFile(out, []byte(table(under, words)+"\n"+plurals), 0o644)
}

func classLabels() ([]string, error) {
	data, err := bundled.Model()
	if err != nil {
		return nil, err
	}
	m, err := onnx.Read(data, onnx.Limits{}.OrDefault(), nil)
	if err != nil {
		return nil, err
	}
	all := strings.Split(strings.TrimSpace(m.Metadata["labels"]), "\n")
	if len(all) != 1001 || all[0] != "background" {
		return nil, fmt.Errorf("%d labels, the first is %q", len(all), all[0])
	}
	return all[1:], nil
}

type nouns struct {
	byLabel map[string][]int // ascending offsets of the synsets with these lemmas
	above   map[int][]int    // hypernyms of a synset
}

func readNouns(dict string) (*nouns, error) {
	n := &nouns{byLabel: map[string][]int{}, above: map[int][]int{}}
	return n, eachLine(filepath.Join(dict, "data.noun"), func(f []string) error {
		offset, err := strconv.Atoi(f[0])
		if err != nil {
			return err
		}
		count, err := strconv.ParseInt(f[3], 16, 32)
		if err != nil {
			return err
		}
		var lemmas []string
		for i := range int(count) {
			lemmas = append(lemmas, f[4+2*i])
		}
		label := strings.ReplaceAll(strings.Join(lemmas, ", "), "_", " ")
		n.byLabel[label] = append(n.byLabel[label], offset)
		for at := 4 + 2*int(count) + 1; at+3 < len(f) && f[at] != "|"; at += 4 {
			if f[at] == "@" || f[at] == "@i" {
				to, err := strconv.Atoi(f[at+1])
				if err != nil {
					return err
				}
				n.above[offset] = append(n.above[offset], to)
			}
		}
		return nil
	})
}

// classesUnder maps each synset (a concept of WordNet) to the classes below it,
// if there are at most `broadest`. ImageNet's classes are sorted by the offset
// of their synset. If a label fits several synsets, this order decides.
func (n *nouns) classesUnder(labels []string) (map[int][]int, error) {
	under := map[int][]int{}
	last := 0
	for class, label := range labels {
		at := slices.IndexFunc(n.byLabel[label], func(offset int) bool { return offset > last })
		if at < 0 {
			return nil, fmt.Errorf("class %d, %q, is not in WordNet after synset %d", class, label, last)
		}
		last = n.byLabel[label][at]
		above := map[int]bool{}
		for todo := []int{last}; len(todo) > 0; todo = todo[1:] {
			if !above[todo[0]] {
				above[todo[0]] = true
				todo = append(todo, n.above[todo[0]]...)
			}
		}
		for synset := range above {
			under[synset] = append(under[synset], class)
		}
	}
	maps.DeleteFunc(under, func(_ int, classes []int) bool { return len(classes) > broadest })
	return under, nil
}

// wordsOf returns the words that mean each synset in `under`. An asterisk marks
// everyday words.
func wordsOf(dict string, under map[int][]int) (map[int][]string, error) {
	counts, err := frequencies(dict)
	if err != nil {
		return nil, err
	}
	words := map[int][]string{}
	return words, eachLine(filepath.Join(dict, "index.noun"), func(f []string) error {
		n, err := strconv.Atoi(f[2])
		if err != nil {
			return err
		}
		for i, text := range f[len(f)-n:][:min(n, senses)] {
			offset, err := strconv.Atoi(text)
			if err != nil {
				return err
			}
			count := counts[sense{f[0], i + 1}]
			if under[offset] == nil || i > 0 && float64(count) < frequent*float64(counts[sense{f[0], 1}]) {
				continue
			}
			word := strings.ReplaceAll(f[0], "_", " ")
			if i == 0 && count >= everyday && len(under[offset]) <= vague && !strings.Contains(word, " ") {
				word = "*" + word
			}
			words[offset] = append(words[offset], word)
		}
		return nil
	})
}

type sense struct {
	lemma  string
	number int
}

func frequencies(dict string) (map[sense]int, error) {
	out := map[sense]int{}
	return out, eachLine(filepath.Join(dict, "cntlist.rev"), func(f []string) error {
		lemma, rest, _ := strings.Cut(f[0], "%")
		if !strings.HasPrefix(rest, "1:") { // not a noun
			return nil
		}
		number, err := strconv.Atoi(f[1])
		if err != nil {
			return err
		}
		out[sense{lemma, number}], err = strconv.Atoi(f[2])
		return err
	})
}

// irregular returns the irregular plurals of the words, one per line.
func irregular(dict string, words map[int][]string) (string, error) {
	known := map[string]bool{}
	for _, list := range words {
		for _, w := range list {
			known[strings.TrimPrefix(w, "*")] = true
		}
	}
	var out strings.Builder
	err := eachLine(filepath.Join(dict, "noun.exc"), func(f []string) error {
		if plural, base := strings.ReplaceAll(f[0], "_", " "), strings.ReplaceAll(f[1], "_", " "); known[base] && plural != base {
			fmt.Fprintf(&out, "%s\t%s\n", plural, base)
		}
		return nil
	})
	return out.String(), err
}

// table writes a line for every distinct set of classes.
func table(under map[int][]int, words map[int][]string) string {
	lines := map[string][]string{}
	first := map[string][]int{}
	for synset, classes := range under {
		set := ranges(classes)
		lines[set], first[set] = append(lines[set], words[synset]...), classes
	}
	var out strings.Builder
	for _, set := range slices.SortedFunc(maps.Keys(lines), func(a, b string) int {
		return slices.Compare(first[a], first[b])
	}) {
		fmt.Fprintf(&out, "%s\t%s\n", set, strings.Join(slices.Compact(slices.Sorted(slices.Values(lines[set]))), ";"))
	}
	return out.String()
}

// ranges formats ascending numbers, for example as 1-3,7.
func ranges(x []int) string {
	var out []string
	for i := 0; i < len(x); {
		j := i
		for j+1 < len(x) && x[j+1] == x[j]+1 {
			j++
		}
		if i == j {
			out = append(out, strconv.Itoa(x[i]))
		} else {
			out = append(out, fmt.Sprintf("%d-%d", x[i], x[j]))
		}
		i = j + 1
	}
	return strings.Join(out, ",")
}

func eachLine(path string, use func(fields []string) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		if strings.HasPrefix(lines.Text(), " ") { // a line of the licence
			continue
		}
		if err := use(strings.Fields(lines.Text())); err != nil {
			return fmt.Errorf("%s:%d: %w", path, n, err)
		}
	}
	return lines.Err()
}
