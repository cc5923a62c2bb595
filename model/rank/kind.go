package rank

import (
	"cpar"
	"cpar/internal/enum"
)

// A Kind names a ranker.
type Kind uint8

// The kinds of ranker.
const (
	// KindDefault is the paper's for profile paper, calibrated for others.
	KindDefault Kind = 0
	// KindPaper: the paper's weights W_t (Weights).
	KindPaper Kind = 1
	// KindCalibrated: votes weighted by distance and rarity, with a probability for each
	// keyword (Calibrated).
	KindCalibrated Kind = 2
)

var kinds = enum.Table[Kind]{What: "ranker", Names: []string{"default", "paper", "calibrated"}}

func (k Kind) String() string { return kinds.String(k) }

// Valid reports whether k is one of the kinds.
func (k Kind) Valid() bool { return kinds.Has(k) }

// MarshalText writes the name that String returns.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText is ParseKind.
func (k *Kind) UnmarshalText(text []byte) (err error) {
	*k, err = ParseKind(string(text))
	return err
}

// ParseKind is the inverse of Kind.String.
func ParseKind(name string) (Kind, error) { return kinds.Parse(name, cpar.ErrInput) }

// A Ranker turns neighbours into keywords. It is safe for concurrent use.
type Ranker interface {
	Kind() Kind
	// Neighbours returns how many of the nearest photos the ranker wants.
	Neighbours() int
	// Rank returns the n best words of near, or all if there are fewer. guess is the
	// photo's own, nil for none; rare prefers rare words. A ranker may support neither.
	Rank(near []Neighbour, guess *Guess, n int, rare bool) []Keyword
}

// Weights ranks by the paper's weights W_t (Keywords). It has no parameters.
type PaperRanker struct{}

// PaperNeighbours is the number of neighbours that the paper ranks.
const PaperNeighbours = 10

// Kind returns KindPaper.
func (PaperRanker) Kind() Kind { return KindPaper }

// Neighbours returns PaperNeighbours.
func (PaperRanker) Neighbours() int { return PaperNeighbours }

// Rank is Keywords; the paper's weights ignore the rest.
func (PaperRanker) Rank(near []Neighbour, _ *Guess, n int, _ bool) []Keyword {
	return Keywords(near, n)
}
