package zeroshot

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"cpar"
	"cpar/internal/sanitize"
)

// A tokenizerFile holds the supported fields of a tokenizer.json (Hugging Face
// tokenizers). Only two kinds of tokenizers are accepted, because an almost
// correct segmentation would produce plausible but wrong keywords.
type tokenizerFile struct {
	Model struct {
		Type    string          `json:"type"`
		Vocab   json.RawMessage `json:"vocab"`
		Merges  []mergeLine     `json:"merges"`
		WordEnd string          `json:"end_of_word_suffix"`
		Unknown *int64          `json:"unk_id"`
	} `json:"model"`
	Post struct {
		Type   string `json:"type"`
		Single []struct {
			Special *struct {
				ID string `json:"id"`
			} `json:"SpecialToken"`
		} `json:"single"`
	} `json:"post_processor"`
	Padding *struct {
		ID int64 `json:"pad_id"`
	} `json:"padding"`
	Added []struct {
		ID      int64  `json:"id"`
		Content string `json:"content"`
	} `json:"added_tokens"`
}

// A mergeLine is two tokens separated by a space, in newer files a list of two.
type mergeLine string

func (m *mergeLine) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, (*string)(m))
	}
	var two [2]string
	err := json.Unmarshal(b, &two)
	*m = mergeLine(two[0] + " " + two[1])
	return err
}

// A scored entry is part of the vocabulary of a Unigram tokenizer (unigram.go).
type scored struct {
	piece string
	score float64 // log probability
}

func (s *scored) UnmarshalJSON(b []byte) error {
	return json.Unmarshal(b, &[]any{&s.piece, &s.score})
}

func readTokenizerJSON(data []byte) (*Tokenizer, error) {
	var f tokenizerFile
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, fmt.Errorf("%w: %w", cpar.ErrInput, err)
	}
	switch {
	case f.Model.Type == "BPE" && f.Model.WordEnd == wordEnd, f.Model.Type == "" && len(f.Model.Merges) > 0 && f.Model.WordEnd == wordEnd:
		return f.clip()
	case f.Model.Type == "Unigram":
		return f.unigram()
	}
	return nil, fmt.Errorf("%w: tokenizers of kind %q are not supported; CLIP's (BPE with words that end in %s) and Unigram are", cpar.ErrInput, sanitize.Text(truncate(f.Model.Type)), wordEnd)
}

func (f *tokenizerFile) clip() (*Tokenizer, error) {
	var vocabulary map[string]int64
	if err := json.Unmarshal(f.Model.Vocab, &vocabulary); err != nil {
		return nil, fmt.Errorf("%w: its vocabulary: %w", cpar.ErrInput, err)
	}
	for _, a := range f.Added {
		if _, ok := vocabulary[a.Content]; !ok && vocabulary != nil {
			vocabulary[a.Content] = a.ID
		}
	}
	merges := make([]string, len(f.Model.Merges))
	for i, m := range f.Model.Merges {
		merges[i] = string(m)
	}
	return newCLIP(vocabulary, merges)
}

// unigram returns a SigLIP tokenizer. Its padding must be correct, because
// SigLIP's text half also reads the padding.
func (f *tokenizerFile) unigram() (*Tokenizer, error) {
	var list []scored
	if err := json.Unmarshal(f.Model.Vocab, &list); err != nil {
		return nil, fmt.Errorf("%w: its vocabulary: %w", cpar.ErrInput, err)
	}
	t := &Tokenizer{defaultLength: siglipLength}
	if err := f.readTemplate(t, list); err != nil {
		return nil, err
	}
	t.pad = t.after[0]
	if f.Padding != nil {
		if t.pad = f.Padding.ID; t.pad < 0 || t.pad >= maxTokens {
			return nil, fmt.Errorf("%w: its padding is token %d", cpar.ErrInput, t.pad)
		}
	}
	if f.Model.Unknown == nil {
		return nil, fmt.Errorf("%w: its vocabulary has no token for unknown text", cpar.ErrInput)
	}
	u, err := newUnigram(list, *f.Model.Unknown, len(t.before) == 0)
	t.segmenter = u
	return t, err
}

const maxTemplate = 8 // parts of a template

// readTemplate reads the special tokens around a text. By default, a text ends
// in </s>.
func (f *tokenizerFile) readTemplate(t *Tokenizer, list []scored) error {
	id := func(token string) (int64, error) {
		for _, a := range f.Added {
			if a.Content == token && a.ID >= 0 && a.ID < maxTokens {
				return a.ID, nil
			}
		}
		if i := slices.IndexFunc(list, func(s scored) bool { return s.piece == token }); i >= 0 {
			return int64(i), nil
		}
		return 0, fmt.Errorf("%w: it has no token %q", cpar.ErrInput, sanitize.Text(truncate(token)))
	}
	if f.Post.Type != "TemplateProcessing" {
		end, err := id("</s>")
		t.after = []int64{end}
		return err
	}
	if len(f.Post.Single) > maxTemplate { // each part is searched for among all tokens
		return fmt.Errorf("%w: its template has %d parts; %d are accepted", cpar.ErrInput, len(f.Post.Single), maxTemplate)
	}
	text := false
	for _, part := range f.Post.Single {
		if part.Special == nil {
			text = true
			continue
		}
		one, err := id(part.Special.ID)
		if err != nil {
			return err
		}
		if text {
			t.after = append(t.after, one)
		} else {
			t.before = append(t.before, one)
		}
	}
	if !text || len(t.after) != 1 || len(t.before) > 1 {
		return fmt.Errorf("%w: its texts do not end in one special token", cpar.ErrInput)
	}
	return nil
}

// configure reads the length and the padding from tokenizer_config.json.
func (t *Tokenizer) configure(data []byte) error {
	var c struct {
		Length float64         `json:"model_max_length"`
		Pad    json.RawMessage `json:"pad_token"`
	}
	if err := json.Unmarshal(data, &c); err != nil {
		return fmt.Errorf("%w: %s: %w", cpar.ErrInput, tokenizerConfig, err)
	}
	// In files without a limit, the length is 10³⁰.
	if c.Length >= 1 && c.Length <= maxLength {
		t.length = int(c.Length)
	}
	u, ok := t.segmenter.(*unigram)
	if !ok || len(c.Pad) == 0 {
		return nil
	}
	var name string
	if json.Unmarshal(c.Pad, &name) != nil {
		var token struct {
			Content string `json:"content"`
		}
		if err := json.Unmarshal(c.Pad, &token); err != nil {
			return fmt.Errorf("%w: %s: %w", cpar.ErrInput, tokenizerConfig, err)
		}
		name = token.Content
	}
	if p, ok := u.pieces[strings.TrimSpace(name)]; ok {
		t.pad = p.id
	}
	return nil
}
