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

// A record is one entry of the journal. It has one field set, except that Cut
// accompanies Ended.
type record struct {
	Began   *began   `json:"began,omitempty"`
	Asked   *asked   `json:"asked,omitempty"`
	Intent  *intent  `json:"intent,omitempty"`
	Done    *done    `json:"done,omitempty"`
	Decided *decided `json:"decided,omitempty"`
	Failed  *failed  `json:"failed,omitempty"`
	// Ended is the id of a run that has stopped writing. Cut is set if an
	// interrupt, a crash or a failure of the cloud stopped it early.
	Ended string `json:"ended,omitempty"`
	Cut   bool   `json:"cut,omitempty"`
	// Undoing is the id of a run whose undo begins.
	Undoing string `json:"undoing,omitempty"`
	// Resumed is the id of a run that writes again after it was cut.
	Resumed string  `json:"resumed,omitempty"`
	Undone  *undone `json:"undone,omitempty"`
	// Idle describes a command that wrote nothing and so has no run.
	Idle *began `json:"idle,omitempty"`
	// Bound is the journal size that triggers the next compaction.
	Bound int64 `json:"bound,omitempty"`
}

type began struct {
	Run     string    `json:"run"`
	At      time.Time `json:"at"`
	Command string    `json:"command"`
	Keep    bool      `json:"keep,omitempty"` // the run preserves modification times
	// Words is set if the undo data was dropped and the run's words are all
	// that remains.
	Words bool `json:"words,omitempty"`
	// Same is a digest of the command. Only the same command resumes the run.
	Same string `json:"same,omitempty"`
}

type asked struct {
	Content digest          `json:"content"`
	Key     string          `json:"key"` // digest of index and ranking (Key)
	Answer  json.RawMessage `json:"answer"`
}

// An intent is a change that is about to be made to a file. It holds the bytes
// that the change removes.
type intent struct {
	Run     string   `json:"run"`
	Photo   string   `json:"photo"`
	Content digest   `json:"content"`
	Want    string   `json:"want,omitempty"`
	Path    string   `json:"path"`
	Words   []string `json:"words,omitempty"`
	Person  bool     `json:"person,omitempty"` // the change adds the user's own words, except those in Machine
	Machine []string `json:"machine,omitempty"`

	Created bool `json:"created,omitempty"`
	Removed bool `json:"removed,omitempty"`
	// Before, the former digest, distinguishes a change that was never made from a
	// later change of the file. It also prevents a second reversal of decisions.
	Before digest `json:"before,omitzero"`
	After  digest `json:"after"`
	Prefix int    `json:"prefix,omitempty"` // bytes kept at the start
	Suffix int    `json:"suffix,omitempty"` // bytes kept after New
	New    int    `json:"new,omitempty"`    // number of bytes that replace Old
	Old    []byte `json:"old,omitempty"`
}

// A failed record marks the last intent of a run for a file as not made.
type failed struct {
	Run  string `json:"run"`
	Path string `json:"path"`
}

// A done record marks a photo as finished for the options with digest Want. If
// Want is "", the photo was only read.
type done struct {
	Photo   string   `json:"photo"`
	Also    []string `json:"also,omitempty"`
	Stat    stat     `json:"stat"`
	Content digest   `json:"content"`
	Want    string   `json:"want,omitempty"`
	Run     string   `json:"run,omitempty"` // "" if nothing was written
}

type decided struct {
	Run    string   `json:"run"`
	Photo  string   `json:"photo"`
	Accept []string `json:"accept,omitempty"`
	Reject []string `json:"reject,omitempty"`
	Add    []string `json:"add,omitempty"`
}

// An undone record marks a run as undone, except for the photos in Left.
type undone struct {
	Run  string   `json:"run"`
	Left []string `json:"left,omitempty"`
}

// A digest is a SHA-256 digest, hexadecimal in JSON.
type digest [32]byte

func (d digest) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, d[:]), nil }

func (d *digest) UnmarshalText(b []byte) error {
	if len(b) != 2*len(d) {
		return fmt.Errorf("%w: a digest of %d digits", cpar.ErrCorrupt, len(b))
	}
	_, err := hex.Decode(d[:], b)
	return err
}

// newIntent returns an intent with the data for undoing an edit.
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

// edit reconstructs the edit from the file's present bytes, or returns nil if
// these are too short.
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

// An answer is the stored part of a reply: the likely keywords and their neighbours.
type answer struct {
	Keywords []keyword   `json:"k,omitempty"`
	Near     []neighbour `json:"n,omitempty"`
	CutShort bool        `json:"c,omitempty"`
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

// Bounds of a stored answer, unless Options.Everything is set.
const (
	MostKept     = 24
	LeastKept    = 0.02
	keptNear     = 10
	wordsAskedOf = 60
)

func newAnswer(words []rank.Keyword, near []rank.Neighbour, everything bool) answer {
	var a answer
	for _, k := range words {
		if everything || len(a.Keywords) < MostKept && (k.Probability == 0 || k.Probability >= LeastKept) {
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
