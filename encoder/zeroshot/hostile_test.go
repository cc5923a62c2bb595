package zeroshot

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cpar"
)

func TestHostileTokenizers(t *testing.T) {
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	for range 40 {
		z.Write(make([]byte, 1<<20))
	}
	z.Close()
	deep := strings.Repeat(`{"model":`, 20000)
	for name, c := range map[string]struct{ file, text, want string }{
		"no JSON":               {tokenizerJSON, "{", "unexpected end"},
		"nested":                {tokenizerJSON, deep, "exceeded max depth"},
		"another kind":          {tokenizerJSON, `{"model":{"type":"WordPiece"}}`, `kind "WordPiece"`},
		"another BPE":           {tokenizerJSON, `{"model":{"type":"BPE","vocab":{},"merges":[]}}`, `kind "BPE"`},
		"an empty vocabulary":   {tokenizerJSON, `{"model":{"type":"BPE","end_of_word_suffix":"</w>","vocab":{},"merges":[]}}`, "lacks"},
		"a huge number":         {vocabJSON, `{"a": 99999999999}`, "has number 99999999999"},
		"a negative number":     {vocabJSON, `{"a": -1}`, "has number -1"},
		"no unknown":            {tokenizerJSON, `{"model":{"type":"Unigram","vocab":[["</s>",0]]}}`, "no token for unknown text"},
		"unknown out of range":  {tokenizerJSON, `{"model":{"type":"Unigram","unk_id":7,"vocab":[["</s>",0]]}}`, "no token for unknown text"},
		"padding out of range":  {tokenizerJSON, `{"padding":{"pad_id":-5},"model":{"type":"Unigram","unk_id":0,"vocab":[["</s>",0]]}}`, "padding"},
		"no end":                {tokenizerJSON, `{"model":{"type":"Unigram","unk_id":0,"vocab":[["a",0]]}}`, `no token "</s>"`},
		"no text in a template": {tokenizerJSON, `{"post_processor":{"type":"TemplateProcessing","single":[]},"model":{"type":"Unigram","unk_id":0,"vocab":[["</s>",0]]}}`, "do not end in one special token"},
		"a long template": {tokenizerJSON, `{"post_processor":{"type":"TemplateProcessing","single":[` + strings.Repeat(`{"SpecialToken":{"id":"z"}},`, 200_000) +
			`{}]},"model":{"type":"Unigram","unk_id":0,"vocab":[["z",0]` + strings.Repeat(`,["a",0]`, 200_000) + `]}}`, "its template has 200001 parts"},
		"a bomb":              {openAIMerges, bomb.String(), "more than 32 MB"},
		"cut short":           {openAIMerges, bomb.String()[:bomb.Len()/8], "EOF"},
		"merges of one token": {"x.txt", "abc\n", "merge 1"},
		"another file":        {"x.bin", "abc\n", "it is none of"},
	} {
		dir := t.TempDir()
		write(t, dir, c.file, []byte(c.text))
		if c.file == vocabJSON {
			write(t, dir, mergesText, nil)
		}
		_, err := OpenTokenizer(filepath.Join(dir, c.file))
		if !errors.Is(err, cpar.ErrInput) || !strings.Contains(fmt.Sprint(err), c.want) {
			t.Errorf("%s: %v; want %q", name, err, c.want)
		}
	}
	if _, err := OpenTokenizer(filepath.Join(t.TempDir(), "none")); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("no file: %v", err)
	}
}

func FuzzTokenizer(f *testing.F) {
	vocab, err := os.ReadFile(testVocabulary + "/vocab.json")
	if err != nil {
		f.Fatal(err)
	}
	merges, err := os.ReadFile(testVocabulary + "/merges.txt")
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(unigramJSON), []byte(`{"model_max_length": 64, "pad_token": "</s>"}`), "a photo of a cat")
	f.Add(merges, []byte{}, "it's 2 cats\xff")
	f.Add(vocab, merges, "Hello World!")
	f.Add([]byte(`{"model":{"type":"Unigram","unk_id":0,"vocab":[["x",-1],["</s>",0]]}}`), []byte(`{"pad_token":null}`), "\xffx\xe7")
	f.Fuzz(func(t *testing.T, one, two []byte, text string) {
		var all []*Tokenizer
		if tok, err := readTokenizerJSON(one); err == nil && tok.configure(two) == nil {
			all = append(all, tok)
		}
		if tok, err := readVocabulary(one, two); err == nil {
			all = append(all, tok)
		}
		if tok, err := readOpenAI(one); err == nil {
			all = append(all, tok)
		}
		for _, tok := range all {
			n := min(tok.Length(), 80)
			ids, _, err := tok.Encode(text, n)
			if err != nil {
				if !errors.Is(err, cpar.ErrInput) {
					t.Error(err)
				}
				continue
			}
			if len(ids) != n || slices.Min(ids) < 0 || slices.Max(ids) >= maxTokens {
				t.Errorf("%q is %v", text, ids)
			}
		}
	})
}
