package ui

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"cpar"
	"cpar/internal/hint"
	"cpar/photo/metadata"
	"cpar/user/vocabulary"
)

// The type mapped describes, for the page, a word of the index or of a rule.
type mapped struct {
	vocabulary.Rule
	Ruled bool `json:"ruled"` // whether a rule exists for the word
	Known bool `json:"known"` // whether the index contains the word
	// Written lists the words that are suggested instead. It is empty if the word
	// is never suggested.
	Written []string `json:"written"`
}

type rulesView struct {
	Text      string            `json:"text"` // the vocabulary in TOML
	Rules     vocabulary.Counts `json:"rules"`
	Language  string            `json:"language"` // language of suggestions, or "" for the words of the index
	Languages []string          `json:"languages"`
	Fixed     string            `json:"fixed"` // reason why the page cannot change the vocabulary, or ""
	Words     []mapped          `json:"words"` // words with rules first
	Total     int               `json:"total"`
}

// vocabulary returns the vocabulary and the words that begin with the query
// parameter "prefix".
func (s *Server) vocabulary(_ http.ResponseWriter, r *http.Request) (any, error) {
	v, fixed := s.backend.Rules()
	out := &rulesView{Text: string(v.Text()), Rules: v.Counts(), Language: v.Language(), Languages: listed(v.Languages()), Fixed: fixed}
	out.Words = mappedWords(v, s.backend.Vocabulary())
	if prefix := metadata.Fold(r.URL.Query().Get("prefix")); prefix != "" {
		out.Words = slices.DeleteFunc(out.Words, func(m mapped) bool { return !hasPrefix(m.Word, prefix) })
	}
	out.Total = len(out.Words)
	out.Words = out.Words[:min(out.Total, maxRows)]
	for i := range out.Words {
		out.Words[i].Written = listed(v.Words([]string{out.Words[i].Word}))
	}
	return out, nil
}

// mappedWords lists the words with rules, then the other words of the index.
func mappedWords(v *vocabulary.Vocabulary, known []string) (list []mapped) {
	at := map[string]int{}
	for _, r := range v.Rules() {
		at[metadata.Fold(r.Word)] = len(list)
		list = append(list, mapped{Rule: r, Ruled: true})
	}
	known = slices.SortedFunc(slices.Values(known), func(a, b string) int { return cmp.Compare(metadata.Fold(a), metadata.Fold(b)) })
	for _, word := range known {
		i, ok := at[metadata.Fold(word)]
		if !ok {
			i = len(list)
			at[metadata.Fold(word)], list = i, append(list, mapped{Rule: vocabulary.Rule{Word: word}})
		}
		list[i].Known = true
	}
	return list
}

// A rulesChange is a change of the vocabulary. The page sets exactly one field.
type rulesChange struct {
	Text     *string          `json:"text,omitempty"`     // the new vocabulary in TOML
	Rule     *vocabulary.Rule `json:"rule,omitempty"`     // a new rule for one word
	Language *string          `json:"language,omitempty"` // the new language of suggestions
}

func (c rulesChange) apply(v *vocabulary.Vocabulary) (*vocabulary.Vocabulary, error) {
	switch {
	case c.Text != nil:
		return vocabulary.Parse([]byte(*c.Text))
	case c.Rule != nil:
		return v.With(*c.Rule)
	case c.Language != nil:
		return v.In(*c.Language)
	}
	return nil, fmt.Errorf("changing the vocabulary: %w: no change was named", cpar.ErrInput)
}

func (s *Server) setVocabulary(w http.ResponseWriter, r *http.Request) (any, error) {
	c, err := body[rulesChange](w, r, 2*vocabulary.MaxBytes) // a line feed takes two bytes in JSON
	if err != nil {
		return nil, err
	}
	return s.changeRules(w, r, func(ctx context.Context) error {
		v, _ := s.backend.Rules()
		if v, err = c.apply(v); err != nil {
			return err
		}
		return s.backend.SetRules(ctx, v)
	})
}

func (s *Server) undoVocabulary(w http.ResponseWriter, r *http.Request) (any, error) {
	return s.changeRules(w, r, s.backend.UndoRules)
}

// changeRules changes the vocabulary and rereads the suggestions for all photos.
// It fails while decisions wait, because they contain words of the old vocabulary.
func (s *Server) changeRules(w http.ResponseWriter, r *http.Request, change func(context.Context) error) (any, error) {
	if n := s.decided.pending().Photos; n > 0 {
		photos := "1 photo"
		if n > 1 {
			photos = fmt.Sprintf("%d photos", n)
		}
		return nil, hint.Add(fmt.Errorf("changing the vocabulary: %w: decisions on %s wait to be written", cpar.ErrInput, photos), "write or undo them first")
	}
	s.ruling.Lock()
	defer s.ruling.Unlock()
	if _, fixed := s.backend.Rules(); fixed != "" {
		return nil, fmt.Errorf("changing the vocabulary: %w: %s", cpar.ErrInput, strings.TrimSuffix(fixed, "."))
	}
	if err := change(r.Context()); err != nil {
		return nil, err
	}
	s.survey.clear()
	s.surveying.Go(func() { s.surveyAll(s.life) })
	return s.vocabulary(w, r)
}
