package zeroshot

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cpar"
)

// golden are texts with their CLIP token numbers: the first from OpenAI's
// notebook, the others from public documentation and tests, or made with
// clip/simple_tokenizer.py.
var golden = []struct {
	text string
	ids  []int64
}{
	{"Hello World!", []int64{3306, 1002, 256}},
	{"a photo of a cat", []int64{320, 1125, 539, 320, 2368}},
	{"a photo of a dog", []int64{320, 1125, 539, 320, 1929}},
	{"A Photo of a TREE!", []int64{320, 1125, 539, 320, 2677, 256}},
	{"it's a cat's toy, running   fast", []int64{585, 568, 320, 2368, 568, 5988, 267, 2761, 1953}},
	{"dog on a beach", []int64{1929, 525, 320, 2117}},
	{"a photo of a waterfall", []int64{320, 1125, 539, 320, 16403}},
	{"sunset over mountains", []int64{3424, 962, 5873}},
	{"", nil},
}

// testVocabulary holds an extract of CLIP's vocabulary: the merges that can
// occur in golden, with their original numbers.
const testVocabulary = "testdata/clip"

func clipTokenizer(t testing.TB) *Tokenizer {
	t.Helper()
	tok, err := OpenTokenizer(testVocabulary)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

func TestCLIPTokens(t *testing.T) {
	dir := t.TempDir()
	writeTokenizerJSON(t, dir)
	for name, path := range map[string]string{"vocab.json": testVocabulary, "merges.txt": testVocabulary + "/merges.txt", "tokenizer.json": dir} {
		tok, err := OpenTokenizer(path)
		if err != nil {
			t.Fatal(name, err)
		}
		checkGolden(t, name, tok)
	}
}

func checkGolden(t *testing.T, name string, tok *Tokenizer) {
	t.Helper()
	for _, g := range golden {
		got, used, err := tok.Encode(g.text, clipLength)
		want := slices.Concat([]int64{49406}, g.ids, []int64{49407})
		want = append(want, make([]int64, clipLength-len(want))...)
		if err != nil || used != len(g.ids)+2 || !slices.Equal(got, want) {
			t.Errorf("%s: %q is %v, %d used, %v; want %v", name, g.text, got, used, err, want)
		}
	}
}

// TestWholeVocabulary reads OpenAI's own file if CPAR_CLIP_VOCAB names it.
func TestWholeVocabulary(t *testing.T) {
	path := os.Getenv("CPAR_CLIP_VOCAB")
	if path == "" {
		t.Skip("CPAR_CLIP_VOCAB does not name bpe_simple_vocab_16e6.txt.gz")
	}
	tok, err := OpenTokenizer(path)
	if err != nil {
		t.Fatal(err)
	}
	checkGolden(t, path, tok)
	b := tok.segmenter.(*bpe)
	if len(b.merges) != clipMerges || tok.before[0] != 49406 || tok.after[0] != 49407 {
		t.Errorf("%d merges, begins with %v, ends with %v", len(b.merges), tok.before, tok.after)
	}
	// Beyond golden: the tokens of every listed word spell it.
	spelt := map[int64]string{}
	for i, r := range byteRunes() {
		spelt[b.bytes[i]], spelt[b.last[i]] = string(byte(i)), string(byte(i))+" "
		_ = r
	}
	byRank := make([]pair, len(b.merges))
	for p, m := range b.merges {
		byRank[m.rank] = p
	}
	for _, p := range byRank {
		spelt[b.merges[p].to] = spelt[p[0]] + spelt[p[1]]
	}
	for _, word := range Everyday() {
		var text string
		for _, id := range b.encode(word) {
			text += spelt[id]
		}
		if strings.TrimSpace(text) != strings.ReplaceAll(word, "-", " - ") {
			t.Errorf("%q is spelt %q", word, text)
		}
	}
}

// The extract has gaps, so numbers above the bytes differ from the original,
// but pieces do not.
func TestOpenAIMerges(t *testing.T) {
	merges, err := os.ReadFile(testVocabulary + "/merges.txt")
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write(merges)
	z.Close()
	dir := t.TempDir()
	write(t, dir, openAIMerges, packed.Bytes())
	tok, err := OpenTokenizer(dir)
	if err != nil {
		t.Fatal(err)
	}
	n := int64(len(mergeLines(merges)))
	ids, _, err := tok.Encode("!~a", clipLength)
	// "!" is the first printable byte, and 256 others precede the bytes that
	// end words.
	if err != nil || ids[0] != 512+n || ids[1] != 0 || ids[2] != 256+'~'-'!' || ids[3] != 256+'a'-'!' || ids[4] != 513+n {
		t.Errorf("%v, %v with %d merges", ids[:6], err, n)
	}
	whole := clipTokenizer(t).segmenter.(*bpe)
	for _, g := range golden {
		if got, want := len(tok.segmenter.encode(g.text)), len(whole.encode(g.text)); got != want {
			t.Errorf("%q has %d pieces, want %d", g.text, got, want)
		}
	}
}

// TestMerges uses the example of the paper.
func TestMerges(t *testing.T) {
	vocabulary := map[string]int64{clipFrom: 1000, clipTo: 1001}
	id := int64(0)
	for _, r := range byteRunes() {
		vocabulary[string(r)], vocabulary[string(r)+wordEnd] = id, id+1
		id += 2
	}
	for i, s := range []string{"bc", "ab", "aa", "aaaa</w>", "aa</w>"} {
		vocabulary[s] = int64(2000 + i)
	}
	tok, err := newCLIP(vocabulary, []string{"b c", "a b", "a a", "aa aa</w>", "a a</w>"})
	if err != nil {
		t.Fatal(err)
	}
	a, c := vocabulary["a"], vocabulary["c</w>"]
	for text, want := range map[string][]int64{
		"abcc":    {a, 2000, c},
		"aaaa":    {2002, 2004}, // the first a a leaves a a</w>
		"aba":     {2001, vocabulary["a</w>"]},
		"é":       {vocabulary["Ã"], vocabulary["©"+wordEnd]},
		"e\u0301": {vocabulary["Ã"], vocabulary["©"+wordEnd]}, // the same, composed
	} {
		if got := tok.segmenter.encode(text); !slices.Equal(got, want) && text != "aaaa" {
			t.Errorf("%q is %v, want %v", text, got, want)
		}
	}
	if got, want := tok.segmenter.encode("aaaa"), bruteMerges(vocabulary, []string{"b c", "a b", "a a", "aa aa</w>", "a a</w>"}, "aaaa"); !slices.Equal(got, want) {
		t.Errorf("aaaa is %v, by brute force %v", got, want)
	}
	if _, _, err := tok.Encode(strings.Repeat("abc ", 30), 20); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("a text that does not fit: %v", err)
	}
	if _, _, err := tok.Encode(strings.Repeat("a", 2000), 4000); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("a long text: %v", err)
	}
}

func bruteMerges(vocabulary map[string]int64, merges []string, word string) (ids []int64) {
	var parts []string
	for i := range len(word) {
		parts = append(parts, word[i:i+1])
	}
	parts[len(parts)-1] += wordEnd
again:
	for _, m := range merges {
		left, right, _ := strings.Cut(m, " ")
		var next []string
		for i := 0; i < len(parts); i++ {
			if i+1 < len(parts) && parts[i] == left && parts[i+1] == right {
				next = append(next, left+right)
				i++
				continue
			}
			next = append(next, parts[i])
		}
		if len(next) < len(parts) {
			parts = next
			goto again
		}
	}
	for _, p := range parts {
		ids = append(ids, vocabulary[p])
	}
	return ids
}

func TestUnigram(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, tokenizerJSON, []byte(unigramJSON))
	tok, err := OpenTokenizer(dir)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string][]int64{
		"A photo of a cat.": {3, 4, 5, 3, 6}, // lower case, no full stop
		"cats":              {6, 8},          // the list lacks the whole word
		"photocat":          {4, 9, 10},      // ▁photo c at is likelier than letters
		"a 猫猫 cat":          {3, 7, 2, 6},    // adjacent unknown characters merge
		"ab":                {7, 12},
		"":                  nil,
	} {
		got := tok.segmenter.encode(text)
		if brute := bruteUnigram(tok.segmenter.(*unigram), text); !slices.Equal(got, want) || !slices.Equal(got, brute) {
			t.Errorf("%q is %v, by brute force %v; want %v", text, got, brute, want)
		}
	}
	ids, _, err := tok.Encode("a cat", tok.Length())
	if want := append([]int64{3, 6, 1}, slices.Repeat([]int64{1}, siglipLength-3)...); err != nil || !slices.Equal(ids, want) {
		t.Errorf("%v, %v: the rest is padding, which SigLIP reads", ids, err)
	}
	write(t, dir, tokenizerConfig, []byte(`{"model_max_length": 16, "pad_token": {"content": "<unk>"}}`))
	if tok, err = OpenTokenizer(dir); err != nil || tok.Length() != 16 || tok.pad != 2 {
		t.Errorf("%v; length %d, padding %d", err, tok.Length(), tok.pad)
	}
}

const unigramJSON = `{"post_processor": {"type": "TemplateProcessing", "single": [{"Sequence": {"id": "A"}}, {"SpecialToken": {"id": "</s>"}}]},
"added_tokens": [{"id": 1, "content": "</s>"}],
"model": {"type": "Unigram", "unk_id": 2, "vocab": [["<pad>", 0], ["</s>", 0], ["<unk>", 0], ["▁a", -2], ["▁photo", -5], ["▁of", -3],
["▁cat", -6], ["▁", -3], ["s", -4], ["c", -7], ["at", -5], ["a", -6.5], ["ab", -4], ["t", -6], ["o", -6], ["p", -7], ["h", -7]]}}`

func bruteUnigram(u *unigram, text string) []int64 {
	text = strings.Join(strings.Fields(canonical(text)), space)
	if text == "" {
		return nil
	}
	best, found := -1e9, []int64(nil)
	var walk func(rest string, score float64, ids []int64)
	walk = func(rest string, score float64, ids []int64) {
		if rest == "" && score > best {
			best, found = score, slices.Clone(ids)
		}
		known := false
		for n := 1; n <= len(rest); n++ {
			p, ok := u.pieces[rest[:n]]
			known = known || ok && n == len(string([]rune(rest)[:1]))
			if ok {
				walk(rest[n:], score+p.score, append(ids, p.id))
			}
		}
		if rest != "" && !known {
			next := ids
			if len(ids) == 0 || ids[len(ids)-1] != u.unknown.id {
				next = append(ids, u.unknown.id)
			}
			walk(rest[len(string([]rune(rest)[:1])):], score+u.unknown.score, next)
		}
	}
	walk(space+text, 0, nil)
	return found
}

func TestFindTokenizer(t *testing.T) {
	dir := t.TempDir()
	model := filepath.Join(dir, "onnx", "text_model.onnx")
	if err := os.Mkdir(filepath.Dir(model), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := FindTokenizer(model); !errors.Is(err, errNoTokenizer) || !errors.Is(err, cpar.ErrInput) {
		t.Errorf("no tokenizer: %v", err)
	}
	writeTokenizerJSON(t, dir)
	above, err := FindTokenizer(model)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{vocabJSON, "merges.txt"} {
		b, err := os.ReadFile(filepath.Join(testVocabulary, name))
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Dir(model), name, b)
	}
	beside, err := FindTokenizer(model)
	if err != nil || beside.Digest() == above.Digest() {
		t.Errorf("%v; what lies beside the model was not taken", err)
	}
	write(t, filepath.Dir(model), tokenizerJSON, []byte("{}"))
	if _, err := FindTokenizer(model); err == nil || errors.Is(err, errNoTokenizer) {
		t.Errorf("a tokenizer that cannot be read is passed over: %v", err)
	}
}

func writeTokenizerJSON(t testing.TB, dir string) {
	t.Helper()
	vocab, err := os.ReadFile(testVocabulary + "/vocab.json")
	if err != nil {
		t.Fatal(err)
	}
	lines, err := os.ReadFile(testVocabulary + "/merges.txt")
	if err != nil {
		t.Fatal(err)
	}
	var merges []any
	for i, line := range mergeLines(lines) {
		if merges = append(merges, line); i%2 == 1 { // alternates the two notations
			merges[i] = strings.Fields(line)
		}
	}
	b, err := json.Marshal(map[string]any{"model": map[string]any{"type": "BPE", "end_of_word_suffix": wordEnd, "vocab": json.RawMessage(vocab), "merges": merges}})
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, tokenizerJSON, b)
}

func write(t testing.TB, dir, name string, b []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
		t.Fatal(err)
	}
}
