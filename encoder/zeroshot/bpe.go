package zeroshot

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"cpar"
	"cpar/internal/sanitize"
)

// bpe is CLIP's byte-level byte-pair encoding (Sennrich et al., "Neural Machine
// Translation of Rare Words with Subword Units", 2016, as in OpenAI's
// clip/simple_tokenizer.py):
//
//	text ─lower case, NFC─▶ words ─UTF-8─▶ bytes, last of a word marked ─merges─▶ tokens
//
// It omits OpenAI's repair of wrongly decoded text and of HTML entities in
// captions from the web.
type bpe struct {
	bytes  [256]int64 // the token of each byte
	last   [256]int64 // the token of each byte at the end of a word
	merges map[pair]merge
}

type pair [2]int64

type merge struct {
	rank int   // the lowest rank is merged first
	to   int64 // the merged token
}

const (
	wordEnd  = "</w>"
	clipFrom = "<|startoftext|>"
	clipTo   = "<|endoftext|>"
	// clipMerges is the number of lines that CLIP uses of OpenAI's longer file.
	clipMerges = 49152 - 256 - 2
	clipLength = 77 // tokens per text
)

// newBPE returns the encoding for a vocabulary and a list of merges. A merge is
// two tokens separated by a space. The vocabulary must have all 512 tokens of
// bytes.
func newBPE(vocabulary map[string]int64, merges []string) (*bpe, error) {
	b := &bpe{merges: make(map[pair]merge, len(merges))}
	for i, r := range byteRunes() {
		var ok, okLast bool
		b.bytes[i], ok = vocabulary[string(r)]
		b.last[i], okLast = vocabulary[string(r)+wordEnd]
		if !ok || !okLast {
			return nil, fmt.Errorf("%w: its vocabulary lacks byte %#x, so it is not CLIP's", cpar.ErrInput, i)
		}
	}
	for rank, line := range merges {
		left, right, ok := strings.Cut(line, " ")
		from, okLeft := vocabulary[left]
		with, okRight := vocabulary[right]
		to, okBoth := vocabulary[left+right]
		if !ok || !okLeft || !okRight || !okBoth {
			return nil, fmt.Errorf("%w: merge %d, %q, does not join two tokens into one", cpar.ErrInput, rank+1, sanitize.Text(truncate(line)))
		}
		b.merges[pair{from, with}] = merge{rank, to}
	}
	return b, nil
}

// byteRunes returns the character that represents each byte in vocabularies:
// the byte itself if it is printable, otherwise a character from U+0100 on.
func byteRunes() (runes [256]rune) {
	next := rune(0x100)
	for i := range runes {
		switch {
		case i >= '!' && i <= '~', i >= 0xa1 && i <= 0xac, i >= 0xae:
			runes[i] = rune(i)
		default:
			runes[i] = next
			next++
		}
	}
	return runes
}

// clipWords matches words as OpenAI's pattern does, in texts with no other
// white space than single spaces.
var clipWords = regexp.MustCompile(`'s|'t|'re|'ve|'m|'ll|'d|\p{L}+|\p{N}|[^ \p{L}\p{N}]+`)

func (b *bpe) encode(text string) (ids []int64) {
	text = strings.ToLower(norm.NFC.String(text))
	text = strings.Join(strings.Fields(text), " ")
	for _, word := range clipWords.FindAllString(text, -1) {
		ids = append(ids, b.word(word)...)
	}
	return ids
}

// word returns the tokens of a word. It merges the adjacent pair with the
// lowest rank until no merge applies. Scanning all pairs each time is cheap,
// because words are short.
func (b *bpe) word(word string) []int64 {
	ids := make([]int64, len(word))
	for i := range len(word) {
		ids[i] = b.bytes[word[i]]
	}
	ids[len(ids)-1] = b.last[word[len(word)-1]]
	for {
		best, what := merge{rank: -1}, pair{}
		for i := range len(ids) - 1 {
			p := pair{ids[i], ids[i+1]}
			if m, ok := b.merges[p]; ok && (best.rank < 0 || m.rank < best.rank) {
				best, what = m, p
			}
		}
		if best.rank < 0 {
			return ids
		}
		merged := ids[:0]
		for i := 0; i < len(ids); i++ {
			if i+1 < len(ids) && what == (pair{ids[i], ids[i+1]}) {
				merged = append(merged, best.to)
				i++
				continue
			}
			merged = append(merged, ids[i])
		}
		ids = merged
	}
}

func readVocabulary(vocab, merges []byte) (*Tokenizer, error) {
	var vocabulary map[string]int64
	if err := json.Unmarshal(vocab, &vocabulary); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", cpar.ErrInput, vocabJSON, err)
	}
	return newCLIP(vocabulary, mergeLines(merges))
}

// readOpenAI derives the vocabulary from OpenAI's file of merges. The tokens
// are the bytes, the bytes that end a word, the merged tokens, and the special
// tokens, in this order.
func readOpenAI(data []byte) (*Tokenizer, error) {
	merges := mergeLines(data)
	merges = merges[:min(len(merges), clipMerges)]
	vocabulary := make(map[string]int64, 512+len(merges)+2)
	runes := byteRunes()
	slices.Sort(runes[:]) // printable bytes come first
	id := int64(0)
	add := func(token string) {
		vocabulary[token] = id
		id++
	}
	for _, end := range []string{"", wordEnd} {
		for _, r := range runes {
			add(string(r) + end)
		}
	}
	for _, line := range merges {
		left, right, _ := strings.Cut(line, " ")
		add(left + right)
	}
	add(clipFrom)
	add(clipTo)
	return newCLIP(vocabulary, merges)
}

func mergeLines(data []byte) (lines []string) {
	for line := range bytes.Lines(data) {
		if line = bytes.TrimRight(line, "\r\n"); len(line) > 0 {
			lines = append(lines, string(line))
		}
	}
	if len(lines) > 0 && strings.Contains(lines[0], "#version") {
		lines = lines[1:]
	}
	return lines
}

// newCLIP returns a CLIP tokenizer. It pads with zeros, as OpenAI does. CLIP
// ignores padding, because it takes the token with the largest number as the
// end of the text.
func newCLIP(vocabulary map[string]int64, merges []string) (*Tokenizer, error) {
	if err := checkVocabulary(vocabulary); err != nil {
		return nil, err
	}
	from, ok := vocabulary[clipFrom]
	to, okTo := vocabulary[clipTo]
	if !ok || !okTo {
		return nil, fmt.Errorf("%w: its vocabulary lacks %s or %s, so it is not CLIP's", cpar.ErrInput, clipFrom, clipTo)
	}
	b, err := newBPE(vocabulary, merges)
	if err != nil {
		return nil, err
	}
	return &Tokenizer{segmenter: b, before: []int64{from}, after: []int64{to}, defaultLength: clipLength}, nil
}

func checkVocabulary(vocabulary map[string]int64) error {
	if len(vocabulary) > maxTokens {
		return fmt.Errorf("%w: its vocabulary has %d tokens; %d are accepted", cpar.ErrInput, len(vocabulary), maxTokens)
	}
	for token, id := range vocabulary {
		if id < 0 || id >= maxTokens || len(token) > maxTokenBytes {
			return fmt.Errorf("%w: token %q of its vocabulary has number %d", cpar.ErrInput, sanitize.Text(truncate(token)), id)
		}
	}
	return nil
}

func truncate(s string) string { return s[:min(len(s), 40)] }
