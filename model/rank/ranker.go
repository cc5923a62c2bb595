package rank

import (
	"cpar"
	"cpar/internal/enum"
)

type Kind uint8

const (
	// KindDefault is KindPaper for profile "paper", otherwise KindCalibrated.
	KindDefault Kind = 0
	// KindPaper ranks by the paper's weights W_t (PaperRanker).
	KindPaper Kind = 1
	// KindCalibrated weights votes by distance and rarity and gives each
	// keyword a probability (Calibrated).
	KindCalibrated Kind = 2
)

var kinds = enum.Table[Kind]{What: "ranker", Names: []string{"default", "paper", "calibrated"}}

func (k Kind) String() string { return kinds.String(k) }

func (k Kind) Valid() bool { return kinds.Has(k) }

func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

func (k *Kind) UnmarshalText(text []byte) (err error) {
	*k, err = ParseKind(string(text))
	return err
}

func ParseKind(name string) (Kind, error) { return kinds.Parse(name, cpar.ErrInput) }

// A Ranker turns neighbours into keywords. It is safe for concurrent use.
type Ranker interface {
	Kind() Kind
	// Neighbours returns the number of nearest photos that the ranker uses.
	Neighbours() int
	// Rank returns the n best words of near, or all if there are fewer. `guess`
	// may be nil, and `rare` prefers rare words. A ranker may ignore both.
	Rank(near []Neighbour, guess *Guess, n int, rare bool) []Keyword
}

// PaperRanker ranks by the paper's weights W_t. It has no parameters.
type PaperRanker struct{}

const PaperNeighbours = 10

func (PaperRanker) Kind() Kind { return KindPaper }

func (PaperRanker) Neighbours() int { return PaperNeighbours }

func (PaperRanker) Rank(near []Neighbour, _ *Guess, n int, _ bool) []Keyword {
	return Keywords(near, n)
}
