package user

import (
	"crypto/sha256"
	"fmt"
	"slices"

	"cpar"
)

// A Label is what the ledger alone says of an index: what tells it from others of the
// key. It says so of any scheme, whether or not the key allows it.
type Label struct {
	Name       string // "" where it has none
	Origin     cpar.IndexID
	Scheme     cpar.Scheme
	Photos     int // that can be found
	Generation uint64
	Digest     [sha256.Size]byte

	ledger *ledger
}

// ReadLabel reads the label of an index with its key; fetch is asked for the ledger and
// nothing else. It refuses what Open refuses of manifest and ledger.
func ReadLabel(key *Key, m *cpar.Manifest, fetch Fetch) (*Label, error) {
	l, _, err := openLedger(key, m, fetch)
	if err != nil {
		return nil, fmt.Errorf("reading the name of index %v: %w", m.ID, err)
	}
	return &Label{Name: l.name, Origin: l.origin, Scheme: l.scheme, Photos: l.live, Generation: l.generation, Digest: l.digest, ledger: l}, nil
}

// DescendsFrom is Owner.DescendsFrom.
func (l *Label) DescendsFrom(state [sha256.Size]byte, generation uint64) bool {
	return l.ledger.descendsFrom(state, generation)
}

func (l *ledger) descendsFrom(state [sha256.Size]byte, generation uint64) bool {
	return slices.Contains(l.ancestors, state) || l.generation > generation+PastGenerations
}
