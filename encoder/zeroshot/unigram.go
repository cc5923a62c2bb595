package zeroshot

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"cpar"
)

// unigram is SentencePiece's unigram model (Kudo, "Subword Regularization",
// 2018), which SigLIP's text halves use. Of all segmentations of a text into
// known pieces, it chooses the one with the largest sum of log probabilities.
//
//	text ─canonical─▶ a ▁ before each word ─Viterbi─▶ tokens
type unigram struct {
	pieces  map[string]piece
	longest int   // length of the longest piece in bytes
	unknown piece // stands for an unknown character
	// canonical is set if texts are converted to lower case without punctuation,
	// as in SigLIP's training.
	canonical bool
}

type piece struct {
	id    int64   // token
	score float64 // log probability
}

const (
	space = "▁" // marks the start of a word
	// unknownPenalty is the difference between the lowest score of a known piece
	// and the score of an unknown character, as in SentencePiece.
	unknownPenalty = 10
	siglipLength   = 64 // tokens per text
)

func newUnigram(list []scored, unknown int64, canonical bool) (*unigram, error) {
	if len(list) > maxTokens {
		return nil, fmt.Errorf("%w: a vocabulary of %d tokens; %d are accepted", cpar.ErrInput, len(list), maxTokens)
	}
	if unknown < 0 || unknown >= int64(len(list)) {
		return nil, fmt.Errorf("%w: its vocabulary has no token for unknown text", cpar.ErrInput)
	}
	u := &unigram{pieces: make(map[string]piece, len(list)), canonical: canonical}
	lowest := 0.0
	for id, s := range list {
		if len(s.piece) > maxTokenBytes || math.IsNaN(s.score) || math.IsInf(s.score, 0) {
			return nil, fmt.Errorf("%w: token %d of its vocabulary is too long or has no score", cpar.ErrInput, id)
		}
		u.pieces[s.piece] = piece{int64(id), s.score}
		u.longest, lowest = max(u.longest, len(s.piece)), min(lowest, s.score)
	}
	u.unknown = piece{unknown, lowest - unknownPenalty}
	return u, nil
}

func (u *unigram) encode(text string) []int64 {
	text = norm.NFKC.String(strings.ToValidUTF8(text, "\uFFFD"))
	if u.canonical {
		text = canonical(text)
	}
	words := strings.Fields(text)
	if len(words) == 0 {
		return nil
	}
	return u.segment(space + strings.Join(words, space))
}

// canonical normalises a text as SigLIP's authors do (big_vision's
// preprocess_text.py).
func canonical(text string) string {
	return strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf && (unicode.IsPunct(r) || unicode.IsSymbol(r)) {
			return -1
		}
		return unicode.ToLower(r)
	}, text)
}

func (u *unigram) segment(text string) []int64 {
	type way struct {
		score float64
		from  int
		piece piece
		ok    bool
	}
	ways := make([]way, len(text)+1)
	ways[0].ok = true
	try := func(from, to int, p piece) {
		if score := ways[from].score + p.score; !ways[to].ok || score > ways[to].score {
			ways[to] = way{score, from, p, true}
		}
	}
	for from, r := range text {
		if !ways[from].ok {
			continue
		}
		for to := from + 1; to <= min(len(text), from+u.longest); to++ {
			if p, ok := u.pieces[text[from:to]]; ok && to > from {
				try(from, to, p)
			}
		}
		if next := from + utf8.RuneLen(r); !ways[next].ok {
			try(from, next, u.unknown)
		}
	}
	var ids []int64
	for to := len(text); to > 0; to = ways[to].from {
		if n := len(ids); ways[to].piece.id == u.unknown.id && n > 0 && ids[n-1] == u.unknown.id {
			continue // adjacent unknown characters share one token
		}
		ids = append(ids, ways[to].piece.id)
	}
	slices.Reverse(ids)
	return ids
}
