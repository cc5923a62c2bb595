package device

import (
	"fmt"
	"strconv"
	"strings"

	"cpar"
	"cpar/internal/hint"
	"cpar/user"
)

// An IndexGeneration identifies a generation of an index. The digest is needed
// beside the number, because two devices that update copies of an index produce
// two states with the same number.
type IndexGeneration struct {
	Origin     cpar.IndexID `json:"origin"`
	ID         cpar.IndexID `json:"id"` // at the cloud
	Generation uint64       `json:"generation"`
	Digest     cpar.Digest  `json:"state"`
}

func generationOf(o *user.Owner) IndexGeneration {
	return IndexGeneration{Origin: o.Origin(), ID: o.ID(), Generation: o.Generation(), Digest: o.Digest()}
}

// Card encodes a generation as one word, ORIGIN@GENERATION:STATE, to copy to
// another device.
func (s IndexGeneration) Card() string {
	return fmt.Sprintf("%v@%d:%v", s.Origin, s.Generation, s.Digest)
}

// ParseCard parses the output of IndexGeneration.Card.
func ParseCard(card string) (s IndexGeneration, err error) {
	bad := hint.Add(fmt.Errorf("%w: %q is not a card", cpar.ErrInput, card), "a card looks like ORIGIN@GENERATION:STATE; cpar card prints it")
	origin, rest, ok := strings.Cut(card, "@")
	generation, state, ok2 := strings.Cut(rest, ":")
	if !ok || !ok2 {
		return s, bad
	}
	var err1, err2, err3 error
	s.Origin, err1 = cpar.ParseIndexID(origin)
	s.Generation, err2 = strconv.ParseUint(generation, 10, 64)
	s.Digest, err3 = cpar.ParseDigest(state)
	if err1 != nil || err2 != nil || err3 != nil || s.Card() != card || s.Generation == 0 {
		return IndexGeneration{}, bad
	}
	s.ID = s.Origin // the best guess
	return s, nil
}

// AcceptCard takes over the generation on another device's card. Afterwards
// older generations, other states of this generation, and other indexes are
// refused. Unless forced, the card must be newer than the generation seen here.
func (d *Device) AcceptCard(key *user.Key, s IndexGeneration, force bool) error {
	return d.withMemory(key.Fingerprint(), func(m *memory) error {
		before, known := m.Seen[s.Origin.String()]
		if known && !force && (before.Generation > s.Generation || before.Generation == s.Generation && before.Digest != s.Digest) {
			return hint.Add(fmt.Errorf("taking a card: %w: this device has seen generation %d, state %.8v…", cpar.ErrInput, before.Generation, before.Digest),
				"if the state on the card is the right one, pass --force")
		}
		if before.Digest == s.Digest {
			s.ID = before.ID
		}
		m.see(s)
		m.InUse = &s.Origin
		return nil
	})
}
