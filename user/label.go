package user

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/sanitize"
)

// A Label is the part of the ledger that distinguishes an index from others of
// the same key. It is available under every scheme, including those that the
// key does not allow.
type Label struct {
	Name       string // "" where it has none
	Origin     cpar.IndexID
	Scheme     cpar.Scheme
	Photos     int // live photos
	Generation uint64
	Digest     [sha256.Size]byte

	*ledger
}

// ReadLabel reads the label of an index with its key. It fetches only the
// ledger and makes the same checks of manifest and ledger as Open.
func ReadLabel(key *Key, m *cpar.Manifest, fetch Fetch) (*Label, error) {
	l, _, err := openLedger(key, m, fetch)
	if err != nil {
		return nil, fmt.Errorf("reading the name of index %v: %w", m.ID, err)
	}
	return &Label{Name: l.name, Origin: l.origin, Scheme: l.scheme, Photos: l.live, Generation: l.generation, Digest: l.digest, ledger: l}, nil
}

// DescendsFrom reports whether one of the last PastGenerations ancestors is the
// given generation.
func (l *ledger) DescendsFrom(state [sha256.Size]byte, generation uint64) bool {
	return slices.Contains(l.ancestors, state) || l.generation > generation+PastGenerations
}

const maxNameBytes = 64

// CheckName rejects (ErrInput) strings that cannot name an index. A name must
// be distinguishable from an id and fit on one line of a terminal.
func CheckName(name string) error {
	_, isID := cpar.ParseIndexID(name)
	switch {
	case name == "" || len(name) > maxNameBytes || !utf8.ValidString(name):
		return fmt.Errorf("%w: the name of an index has 1 to %d bytes of UTF-8", cpar.ErrInput, maxNameBytes)
	case name != strings.TrimSpace(name) || sanitize.Text(name) != name:
		return fmt.Errorf("%w: the name of an index begins and ends with no space, and has no control characters", cpar.ErrInput)
	case isID == nil:
		return hint.Add(fmt.Errorf("%w: the name of an index must not look like an id", cpar.ErrInput), "take a word that you will remember")
	}
	return nil
}
