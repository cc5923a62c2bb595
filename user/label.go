package user

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"unicode/utf8"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/sanitize"
	"cpar/user/vocabulary"
)

// A Label is the part of the ledger that distinguishes an index from others of the same
// key. It can be read even if the key does not allow the index's scheme.
type Label struct{ ledger *ledger }

// ReadLabel decrypts the label of an index. It fetches only the ledger and
// checks manifest and ledger as Open does.
func ReadLabel(key *Key, m *cpar.Manifest, fetch Fetch) (Label, error) {
	l, _, err := openLedger(key, m, fetch)
	if err != nil {
		return Label{}, fmt.Errorf("reading the name of index %v: %w", m.ID, err)
	}
	return Label{l}, nil
}

func (l Label) ID() cpar.IndexID { return l.ledger.id }

func (l Label) Name() string { return l.ledger.name }

// Origin returns the id for which the projection of vectors to integers was
// drawn. It differs from ID only after Compact. Indexes with the same key and
// origin are generations of one index.
func (l Label) Origin() cpar.IndexID { return l.ledger.origin }

// Scheme returns the ledger's scheme, which the server cannot alter.
func (l Label) Scheme() cpar.Scheme { return l.ledger.scheme }

func (l Label) Records() int { return l.ledger.live }

// Generation returns the number of the generation. Numbers start at 1 and
// increase across Compact.
func (l Label) Generation() uint64 { return l.ledger.generation }

// Vocabulary returns the owner's vocabulary, which is nil or empty for none.
func (l Label) Vocabulary() *vocabulary.Vocabulary { return l.ledger.choices.vocabulary }

// Digest returns the digest of the whole ledger, or zero until the generation
// is written. Two different updates of the same backup have equal generation
// numbers but different digests.
func (l Label) Digest() [sha256.Size]byte { return l.ledger.digest }

// History returns the digests of the ancestors. Callers must not modify the result.
func (l Label) History() History { return l.ledger.history }

const maxNameBytes = 64

// CheckName returns ErrInput for strings that cannot name an index. A name must
// be distinguishable from an id and fit on one line of a terminal.
func CheckName(name string) error {
	_, isID := cpar.ParseIndexID(name)
	switch {
	case name == "" || len(name) > maxNameBytes || !utf8.ValidString(name):
		return fmt.Errorf("%w: the name of an index has 1 to %d bytes of UTF-8", cpar.ErrInput, maxNameBytes)
	case name != strings.TrimSpace(name) || sanitize.Text(name) != name:
		return fmt.Errorf("%w: the name of an index must not begin or end with a space, or contain control characters", cpar.ErrInput)
	case isID == nil:
		return hint.Add(fmt.Errorf("%w: the name of an index must not look like an id", cpar.ErrInput), "take a word that you will remember")
	}
	return nil
}
