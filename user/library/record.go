package library

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"cpar"
	"cpar/model/rank"
	"cpar/photo/metadata"
)

// A record is one thing that the log remembers; one field is set. The log holds batches of
// them, as compressed JSON.
type record struct {
	Began   *began   `json:"began,omitempty"`
	Asked   *asked   `json:"asked,omitempty"`
	Intent  *intent  `json:"intent,omitempty"`
	Done    *done    `json:"done,omitempty"`
	Decided *decided `json:"decided,omitempty"`
	// Ended is a run that writes no more.
	Ended  string  `json:"ended,omitempty"`
	Undone *undone `json:"undone,omitempty"`
	// Bound is how large the log may grow before it is written anew.
	Bound int64 `json:"bound,omitempty"`
}

// began opens a run, before its first intent.
type began struct {
	Run     string    `json:"run"`
	At      time.Time `json:"at"`
	Command string    `json:"command"`
	Keep    bool      `json:"keep,omitempty"` // files keep their time
	// Words: the run's undo was forgotten, what it wrote was not.
	Words bool `json:"words,omitempty"`
}

// asked is what the cloud's reply said of a photo.
type asked struct {
	Content digest          `json:"content"`
	Key     string          `json:"key"` // of the index's state and the way of asking
	Answer  json.RawMessage `json:"answer"`
}

// intent is a change that is about to be made. Of the bytes of before only those are kept
// that the file will not hold afterwards.
type intent struct {
	Run     string   `json:"run"`
	Photo   string   `json:"photo"`
	Content digest   `json:"content"`
	Want    string   `json:"want,omitempty"`
	Path    string   `json:"path"`
	Words   []string `json:"words,omitempty"`
	Person  bool     `json:"person,omitempty"` // the words are a person's

	Created bool `json:"created,omitempty"`
	Removed bool `json:"removed,omitempty"`
	// Before is kept of a decision: what cannot be retracted must not be done twice.
	Before digest `json:"before,omitzero"`
	After  digest `json:"after"`
	Prefix int    `json:"prefix,omitempty"` // bytes that stay at the beginning
	Suffix int    `json:"suffix,omitempty"` // and before the rest of the file
	New    int    `json:"new,omitempty"`    // length of what takes the place of Old
	Old    []byte `json:"old,omitempty"`
}

// done is a photo that is finished for a run, or was only looked at where Want is "".
type done struct {
	Photo   string   `json:"photo"`
	Also    []string `json:"also,omitempty"`
	Stat    stat     `json:"stat"`
	Content digest   `json:"content"`
	Want    string   `json:"want,omitempty"`
	Run     string   `json:"run,omitempty"` // "" where there was nothing to write
}

// decided is what a person said of a photo's keywords.
type decided struct {
	Run    string   `json:"run"`
	Photo  string   `json:"photo"`
	Accept []string `json:"accept,omitempty"`
	Reject []string `json:"reject,omitempty"`
	Add    []string `json:"add,omitempty"`
}

// undone ends a run's life, but for the files that are left.
type undone struct {
	Run  string   `json:"run"`
	Left []string `json:"left,omitempty"`
}

// A digest is a SHA-256, in JSON as hexadecimal.
type digest [32]byte

func (d digest) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, d[:]), nil }

func (d *digest) UnmarshalText(b []byte) error {
	if len(b) != 2*len(d) {
		return fmt.Errorf("%w: a digest of %d digits", cpar.ErrCorrupt, len(b))
	}
	_, err := hex.Decode(d[:], b)
	return err
}

// newIntent says how an edit is undone.
func newIntent(run string, e *metadata.Edit) *intent {
	p := 0
	for p < len(e.Old) && p < len(e.New) && e.Old[p] == e.New[p] {
		p++
	}
	s := 0
	for s < len(e.Old)-p && s < len(e.New)-p && e.Old[len(e.Old)-1-s] == e.New[len(e.New)-1-s] {
		s++
	}
	return &intent{Run: run, Path: e.Path, Words: e.Added, Created: e.Created, Removed: e.New == nil, After: e.After,
		Prefix: p, Suffix: s, New: len(e.New) - p - s, Old: bytes.Clone(e.Old[p : len(e.Old)-s])}
}

// edit is the edit of an intent; now is the file as the edit left it.
func (i *intent) edit(now []byte) *metadata.Edit {
	n := i.Prefix + i.New + i.Suffix
	if n > len(now) {
		return nil
	}
	e := &metadata.Edit{Path: i.Path, Created: i.Created, New: now[:n], After: i.After, Added: i.Words}
	if i.Removed {
		e.New = nil
	}
	if !i.Created {
		e.Old = slices.Concat(now[:i.Prefix], i.Old, now[i.Prefix+i.New:n])
	}
	h := sha256.New()
	h.Write(e.Old)
	h.Write(now[n:])
	h.Sum(e.Before[:0])
	return e
}

// An answer is what is kept of a reply: words that are worth showing, and the neighbours
// that gave them.
type answer struct {
	Keywords []keyword   `json:"k,omitempty"`
	Near     []neighbour `json:"n,omitempty"`
}

type keyword struct {
	Word        string  `json:"w"`
	Probability float32 `json:"p,omitempty"`
	Weight      float32 `json:"s,omitempty"`
}

type neighbour struct {
	Record uint32   `json:"i"`
	Dis    float32  `json:"d"`
	Words  []string `json:"w"`
}

// What is kept of an answer, at most: no more is ever shown.
const (
	maxKeptKeywords = 24
	keptNear        = 10
	minKept         = 0.02
	wordsAskedOf    = 60
)

func newAnswer(words []rank.Keyword, near []rank.Neighbour) answer {
	var a answer
	for _, k := range words {
		if len(a.Keywords) < maxKeptKeywords && (k.Probability == 0 || k.Probability >= minKept) {
			a.Keywords = append(a.Keywords, keyword{k.Word, float32(k.Probability), float32(k.Weight)})
		}
	}
	for _, n := range near[:min(len(near), keptNear)] {
		a.Near = append(a.Near, neighbour{n.Record, float32(n.Dis), n.Keywords})
	}
	return a
}

func (a *answer) keywords() []rank.Keyword {
	out := make([]rank.Keyword, len(a.Keywords))
	for i, w := range a.Keywords {
		out[i] = rank.Keyword{Word: w.Word, Weight: float64(w.Weight), Probability: float64(w.Probability)}
	}
	return out
}

func (a *answer) near() []rank.Neighbour {
	out := make([]rank.Neighbour, len(a.Near))
	for i, n := range a.Near {
		out[i] = rank.Neighbour{Record: n.Record, Dis: float64(n.Dis), Keywords: n.Words}
	}
	return out
}
