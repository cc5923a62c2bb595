package zeroshot

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/sanitize"
)

// These constants limit tokenizer files and texts. CLIP's largest file has 3 MB
// and 49,408 tokens. SigLIP's has 2.5 MB and 32,000 tokens.
const (
	maxFileBytes  = 32 << 20
	maxTokens     = 1 << 19
	maxTokenBytes = 1 << 10
	maxTextBytes  = 1 << 10 // per text
	maxLength     = 1 << 10 // tokens per text
)

// A Tokenizer converts text to the token numbers of a text half. It is safe for
// concurrent use.
type Tokenizer struct {
	segmenter     segmenter
	before, after []int64 // special tokens around each text
	pad           int64   // token that pads a text
	length        int     // tokens per text, 0 if the files do not state it
	defaultLength int     // tokens per text if `length` is 0
	digest        [sha256.Size]byte
}

// A segmenter splits a text into tokens, without the special tokens.
type segmenter interface{ encode(text string) []int64 }

// Encode returns exactly `length` tokens: the text between its special tokens,
// and then padding. Result `used` is the number of tokens before the padding.
// Encode refuses texts that do not fit.
func (t *Tokenizer) Encode(text string, length int) (out []int64, used int, err error) {
	if len(text) > maxTextBytes {
		return nil, 0, fmt.Errorf("%w: a text of %d bytes; %d are accepted", cpar.ErrInput, len(text), maxTextBytes)
	}
	ids := t.segmenter.encode(text)
	if used = len(t.before) + len(ids) + len(t.after); used > length {
		return nil, 0, fmt.Errorf("%w: a text of %d tokens; the text half takes %d", cpar.ErrInput, used, length)
	}
	return slices.Concat(t.before, ids, t.after, slices.Repeat([]int64{t.pad}, length-used)), used, nil
}

func (t *Tokenizer) Digest() [sha256.Size]byte { return t.digest }

// Length returns the number of tokens per text if the text half leaves it open.
func (t *Tokenizer) Length() int {
	if t.length > 0 {
		return t.length
	}
	return t.defaultLength
}

// These are the names of tokenizer files that come with models.
const (
	tokenizerJSON   = "tokenizer.json"
	vocabJSON       = "vocab.json"
	mergesText      = "merges.txt"
	openAIMerges    = "bpe_simple_vocab_16e6.txt.gz" // also without .gz
	tokenizerConfig = "tokenizer_config.json"
)

// FindTokenizer opens the tokenizer of a text half. It looks beside the text
// half and then in the parent folder, where the exporter optimum leaves
// tokenizers.
func FindTokenizer(model string) (*Tokenizer, error) {
	folder := filepath.Dir(model)
	above := filepath.Join(folder, "..")
	for _, dir := range []string{folder, above} {
		t, err := OpenTokenizer(dir)
		if !errors.Is(err, errNoTokenizer) {
			return t, err
		}
	}
	return nil, hint.Add(fmt.Errorf("looking for the tokenizer of %s: %w", sanitize.Text(model), errNoTokenizer),
		"put the model's %s beside it, or its %s and %s, or OpenAI's %s; or name one with --tokenizer", tokenizerJSON, vocabJSON, mergesText, openAIMerges)
}

var errNoTokenizer = fmt.Errorf("%w: there is none", cpar.ErrInput)

// OpenTokenizer opens a tokenizer from the path of one of its files or of their
// folder. Errors wrap cpar.ErrInput.
func OpenTokenizer(path string) (*Tokenizer, error) {
	t, err := openTokenizer(path)
	if err != nil && !errors.Is(err, errNoTokenizer) {
		err = fmt.Errorf("reading the tokenizer %s: %w", sanitize.Text(path), err)
	}
	return t, err
}

func openTokenizer(path string) (*Tokenizer, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, unreadable(err)
	}
	dir := path
	var names []string
	if info.IsDir() {
		names = []string{tokenizerJSON, vocabJSON, openAIMerges, strings.TrimSuffix(openAIMerges, ".gz")}
	} else {
		dir, names = filepath.Dir(path), []string{filepath.Base(path)}
	}
	for _, name := range names {
		data, err := readSmall(filepath.Join(dir, name))
		if info.IsDir() && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		return tokenizerOf(dir, name, data)
	}
	return nil, errNoTokenizer
}

func tokenizerOf(dir, name string, data []byte) (t *Tokenizer, err error) {
	digest := sha256.New()
	digest.Write(data)
	switch {
	case name == vocabJSON || name == mergesText:
		files := [2][]byte{}
		for i, other := range []string{vocabJSON, mergesText} {
			if files[i] = data; other != name {
				if files[i], err = readSmall(filepath.Join(dir, other)); err != nil {
					return nil, err
				}
				digest.Write(files[i])
			}
		}
		t, err = readVocabulary(files[0], files[1])
	case strings.HasSuffix(name, ".json"):
		t, err = readTokenizerJSON(data)
	case strings.HasSuffix(name, ".txt") || strings.HasSuffix(name, ".gz"):
		t, err = readOpenAI(data)
	default:
		err = fmt.Errorf("%w: it is none of %s, %s, %s and %s", cpar.ErrInput, tokenizerJSON, vocabJSON, mergesText, openAIMerges)
	}
	if err != nil {
		return nil, err
	}
	// The optional file tokenizer_config.json holds the padding and the length.
	rest, err := readSmall(filepath.Join(dir, tokenizerConfig))
	if err == nil {
		digest.Write(rest)
		err = t.configure(rest)
	} else if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	digest.Sum(t.digest[:0])
	return t, err
}

func readSmall(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, unreadable(err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%w: %s is not a file", cpar.ErrInput, filepath.Base(path))
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, unreadable(err)
	}
	defer f.Close()
	data, err := readLimited(f)
	if err == nil && bytes.HasPrefix(data, []byte("\x1f\x8b")) {
		data, err = unpack(data)
	}
	return data, err
}

func unpack(data []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", cpar.ErrInput, err)
	}
	return readLimited(z)
}

func readLimited(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxFileBytes+1))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", cpar.ErrInput, err)
	}
	if len(data) > maxFileBytes {
		return nil, fmt.Errorf("%w: more than %d MB", cpar.ErrInput, maxFileBytes>>20)
	}
	return data, nil
}

func unreadable(err error) error {
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
		return fmt.Errorf("%w: %s: %w", cpar.ErrInput, sanitize.Text(filepath.Base(pe.Path)), pe.Err)
	}
	return fmt.Errorf("%w: %w", cpar.ErrInput, err)
}
