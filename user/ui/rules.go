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

// A mapped word is a word of the index or of a rule, as the page lists it.
type mapped struct {
	vocabulary.Rule
	Ruled bool `json:"ruled"` // there is a rule about it
	Known bool `json:"known"` // the index has it
	// Written lists the words that are suggested in its place, none if it is
	// never suggested.
	Written []string `json:"written"`
}

// A rulesView is the vocabulary as the page shows it.
type rulesView struct {
	Text      string            `json:"text"` // in TOML
	Rules     vocabulary.Counts `json:"rules"`
	Language  string            `json:"language"` // "" for the words of the index
	Languages []string          `json:"languages"`
	Fixed     string            `json:"fixed"` // why the page cannot change it, "" if it can
	Words     []mapped          `json:"words"` // those with rules first
	Total     int               `json:"total"`
}

// vocabulary shows the vocabulary and the words that begin with ?prefix.
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

// mappedWords lists the words with rules, then the others of the index.
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

// A rulesChange holds one change of the vocabulary.
type rulesChange struct {
	Text     *string          `json:"text,omitempty"`     // all of it, in TOML
	Rule     *vocabulary.Rule `json:"rule,omitempty"`     // about one word
	Language *string          `json:"language,omitempty"` // to write words in
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
	c, err := largeBody[rulesChange](w, r, 2*vocabulary.MaxBytes) // a line feed takes two bytes in JSON
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

// changeRules changes the vocabulary and reads the suggestions for all photos
// again. Decisions name words as they were, so none may wait.
func (s *Server) changeRules(w http.ResponseWriter, r *http.Request, change func(context.Context) error) (any, error) {
	if n := s.decided.pending().Photos; n > 0 {
		return nil, hint.Add(fmt.Errorf("changing the vocabulary: %w: decisions on %d photos wait to be written", cpar.ErrInput, n), "write or undo them first")
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
