package device

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"cpar"
	"cpar/internal/hint"
	"cpar/user"
)

// memory is what a device remembers of one key.
type memory struct {
	// Allows is the policy as this device knows it; nil until it has seen the key.
	Allows *user.Policy `json:"allows"`
	// InUse is the origin of the index that photos are asked about in where none is
	// named. It hides distances.
	InUse *cpar.IndexID `json:"in_use,omitempty"`
	// Seen are the newest states, by origin.
	Seen map[string]IndexState `json:"seen"`
}

// An IndexState is a state of an index that was seen, made or pushed by this device. The
// generation alone does not name it: two devices that update one copy make two
// states of one generation.
type IndexState struct {
	Origin     cpar.IndexID `json:"origin"`
	ID         cpar.IndexID `json:"id"` // under which the cloud has it
	Generation uint64       `json:"generation"`
	State      cpar.Digest  `json:"state"`
}

// stateOf is the state that an owner is open for.
func stateOf(o *user.Owner) IndexState {
	return IndexState{Origin: o.Origin(), ID: o.ID(), Generation: o.Generation(), State: o.State()}
}

// Card names a state in one word, for another device: ORIGIN@GENERATION:STATE.
func (s IndexState) Card() string { return fmt.Sprintf("%v@%d:%v", s.Origin, s.Generation, s.State) }

// ParseCard is the inverse of IndexState.Card.
func ParseCard(card string) (s IndexState, err error) {
	bad := hint.Add(fmt.Errorf("%w: %q is not a card", cpar.ErrInput, card), "a card looks like ORIGIN@GENERATION:STATE; cpar card prints it")
	origin, rest, ok := strings.Cut(card, "@")
	generation, state, ok2 := strings.Cut(rest, ":")
	if !ok || !ok2 {
		return s, bad
	}
	var err1, err2, err3 error
	s.Origin, err1 = cpar.ParseIndexID(origin)
	s.Generation, err2 = strconv.ParseUint(generation, 10, 64)
	s.State, err3 = cpar.ParseDigest(state)
	if err1 != nil || err2 != nil || err3 != nil || s.Card() != card || s.Generation == 0 {
		return IndexState{}, bad
	}
	s.ID = s.Origin // the best guess
	return s, nil
}

func (d *Device) memoryFile(fingerprint string) string {
	return filepath.Join(d.State, "keys", fingerprint)
}

// change reads what is remembered of a key, lets work change it, and keeps the
// result. A file that cannot be read is not taken for none: a cloud must not be let
// off.
func (d *Device) change(fingerprint string, work func(*memory) error) error {
	path := d.memoryFile(fingerprint)
	return locked(path, func() error {
		before, err := read(path)
		if err != nil {
			return err
		}
		m := &memory{}
		if before != nil {
			if err := json.Unmarshal(before, m); err != nil {
				return unreadable(path, err)
			}
		}
		if m.Seen == nil {
			m.Seen = map[string]IndexState{}
		}
		if err := work(m); err != nil {
			return err
		}
		after, err := json.MarshalIndent(m, "", "  ")
		if err != nil || bytes.Equal(after, before) {
			return err
		}
		return write(path, after)
	})
}

func unreadable(path string, err error) error {
	return hint.Add(fmt.Errorf("reading what was seen before: %w: %s: %w", cpar.ErrCorrupt, path, err),
		"remove the file if you trust the cloud to show the newest state now")
}

// see holds what a cloud offers against what was seen, and remembers it. named says
// that the person named the index, which retires the one that was in use. Nothing
// was sent to the cloud that depends on a photo before.
func (d *Device) see(key *user.Key, o *user.Owner, named bool) error {
	now := stateOf(o)
	return d.change(key.Fingerprint(), func(m *memory) error {
		before, known := m.Seen[now.Origin.String()]
		switch {
		case m.InUse != nil && *m.InUse != now.Origin && !named:
			return hint.Add(fmt.Errorf("%w: it offers another index of this key than the one in use (%v)", cpar.ErrCloud, *m.InUse),
				"if you have built the collection anew, name the index once: --index %v", now.ID)
		case !user.Hides(o.Scheme()) && !named:
			return hint.Add(fmt.Errorf("%w: it offers an index of scheme %v, which shows it distances", cpar.ErrCloud, o.Scheme()),
				"if that is what you want, name it: --index %v", now.ID)
		case known && now.Generation < before.Generation && now.ID != before.ID:
			return hint.Add(fmt.Errorf("%w: another index has taken its place (%v), and the cloud still offers it", cpar.ErrCloud, before.ID),
				"push the index that was compacted")
		case known && now.Generation < before.Generation:
			return hint.Add(fmt.Errorf("%w: it has generation %d, and generation %d was seen before", cpar.ErrCloud, now.Generation, before.Generation),
				"the cloud shows an old state; push the index again")
		case known && now.Generation == before.Generation && now.State != before.State:
			return hint.Add(fmt.Errorf("%w: it is another state of generation %d than was seen before", cpar.ErrCloud, now.Generation),
				"two devices have updated copies of one index, or the cloud shows what it should not: update the right folder once more and push it")
		}
		m.Seen[now.Origin.String()] = now
		if user.Hides(o.Scheme()) { // others must be named each time
			m.InUse = &now.Origin
		}
		return nil
	})
}

// pushed remembers a state that this device has made and pushed, if it is newer than
// what was seen. The first index that hides distances becomes the one in use.
func (m *memory) pushed(s made) {
	now := s.IndexState
	if now.Generation >= m.Seen[now.Origin.String()].Generation {
		m.Seen[now.Origin.String()] = now
	}
	if m.InUse == nil && user.Hides(s.Scheme) {
		m.InUse = &now.Origin
	}
}

// InUse is the newest state seen of the index in use with a key; ok is false where
// none is.
func (d *Device) InUse(key *user.Key) (s IndexState, ok bool, err error) {
	err = d.change(key.Fingerprint(), func(m *memory) error {
		if m.InUse != nil {
			s, ok = m.Seen[m.InUse.String()]
		}
		return nil
	})
	return s, ok, err
}

// Take takes over the card of another device: from now on an older state, another
// state of the same generation, or another index is refused.
func (d *Device) Take(key *user.Key, s IndexState) error {
	return d.change(key.Fingerprint(), func(m *memory) error {
		if before, known := m.Seen[s.Origin.String()]; known && (before.Generation > s.Generation || before.Generation == s.Generation && before.State != s.State) {
			return fmt.Errorf("taking a card: %w: this device has seen generation %d, state %.8v…", cpar.ErrInput, before.Generation, before.State)
		}
		m.Seen[s.Origin.String()], m.InUse = s, &s.Origin
		return nil
	})
}

// checkFolder refuses an index folder in an older state than one that was seen: a
// copy that was put back. What it would become could not be told from the cloud's
// going back.
func (d *Device) checkFolder(key *user.Key, o *user.Owner) error {
	return d.change(key.Fingerprint(), func(m *memory) error {
		if before := m.Seen[o.Origin().String()]; o.Generation() < before.Generation {
			return hint.Add(fmt.Errorf("%w: it is an older state than was pushed before", cpar.ErrInput),
				"update the folder that was pushed last; or build the index again")
		}
		return nil
	})
}
