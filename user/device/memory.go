package device

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"cpar"
	"cpar/internal/hint"
	"cpar/user"
)

type memory struct {
	// Allows is the policy of the key on this device, nil until it has seen the key.
	Allows *user.Policy `json:"allows"`
	// InUse is the origin of the default index. Its scheme hides distances.
	InUse *cpar.IndexID `json:"in_use,omitempty"`
	// Seen maps origins (first ids, before compaction) to the newest generations.
	Seen map[string]IndexGeneration `json:"seen"`
	// Cards maps origins to generations that a card named (see Card). Seen
	// keeps its entry until a descendant of the card's generation has been
	// opened. Otherwise, a card from a fork of that entry would hide the fork.
	Cards map[string]IndexGeneration `json:"cards,omitempty"`
	// Deleted lists the origins of indexes that this device deleted. Seen
	// keeps their generations, because a cloud that kept an index might roll
	// it back.
	Deleted   []cpar.IndexID   `json:"deleted,omitempty"`
	Album     *IndexGeneration `json:"album,omitempty"`
	AlbumCard *IndexGeneration `json:"album_card,omitempty"` // like Cards
}

func (m *memory) see(s IndexGeneration) {
	m.Seen[s.Origin.String()] = s
	delete(m.Cards, s.Origin.String())
	m.Deleted = slices.DeleteFunc(m.Deleted, func(origin cpar.IndexID) bool { return origin == s.Origin })
}

// follows returns an error unless a generation descends from both the newest
// generation seen here and the generation on a card.
func (m *memory) follows(l user.Label) error {
	if before, known := m.Seen[l.Origin().String()]; known {
		if err := before.follows(l); err != nil {
			return err
		}
	}
	card, known := m.Cards[l.Origin().String()]
	if !known || card.follows(l) == nil {
		return nil
	}
	return hint.Add(fmt.Errorf("%w: it has generation %d, which does not follow the card of generation %d that this device was given", cpar.ErrCloud, l.Generation(), card.Generation),
		"push the newest state; or drop the card: cpar card here, and pass the printed word to cpar card with --force")
}

// newest returns the newest generation of an index, seen or on a card.
func (m *memory) newest(origin cpar.IndexID) IndexGeneration {
	seen, card := m.Seen[origin.String()], m.Cards[origin.String()]
	if card.Generation > seen.Generation {
		return card
	}
	return seen
}

func (d *Device) memoryFile(fingerprint string) string {
	return filepath.Join(d.State, "keys", fingerprint)
}

// withMemory loads the memory of a key, calls `work`, and stores the result.
// An unreadable file is an error, because an empty memory would let the cloud
// offer old generations.
func (d *Device) withMemory(fingerprint string, work func(*memory) error) error {
	path := d.memoryFile(fingerprint)
	return locked(path, func() error {
		before, err := readSmall(path)
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
			m.Seen = map[string]IndexGeneration{}
		}
		if err := work(m); err != nil {
			return err
		}
		after, err := json.MarshalIndent(m, "", "  ")
		if err != nil || bytes.Equal(after, before) {
			return err
		}
		return writeSmall(path, after)
	})
}

func unreadable(path string, err error) error {
	return hint.Add(fmt.Errorf("reading the device's memory: %w: %s: %w", cpar.ErrCorrupt, path, err),
		"if you trust the cloud to show the newest state now, remove the file; the policy in the key file then applies")
}

// pushed records a generation that this device made and pushed, unless it is
// older than the generation seen and the push was not forced. The first index
// that hides distances becomes the default.
func (m *memory) pushed(s made, forced bool) {
	now := s.IndexGeneration
	if forced || now.Generation >= m.Seen[now.Origin.String()].Generation {
		m.see(now)
	}
	if m.InUse == nil && user.Hides(s.Scheme) {
		m.InUse = &now.Origin
	}
}

// replaced records that the index with this id was deleted from the cloud and
// replaced by `now`. If the deleted index was the default and `now` hides
// distances, `now` becomes the default.
func (m *memory) replaced(id cpar.IndexID, now made) (switched bool) {
	for _, s := range m.Seen {
		if s.ID != id || s.Origin == now.Origin {
			continue
		}
		if m.InUse != nil && *m.InUse == s.Origin {
			m.InUse = nil
			if switched = user.Hides(now.Scheme); switched {
				m.InUse = &now.Origin
			}
		}
		if !slices.Contains(m.Deleted, s.Origin) {
			m.Deleted = append(m.Deleted, s.Origin)
		}
	}
	return switched
}

// InUse returns the newest generation seen of a key's default index, or false
// if there is none.
func (d *Device) InUse(key *user.Key) (s IndexGeneration, ok bool, err error) {
	err = d.withMemory(key.Fingerprint(), func(m *memory) error {
		if m.InUse != nil {
			s, ok = m.Seen[m.InUse.String()]
		}
		return nil
	})
	return s, ok, err
}

// SeenIndexes returns the sorted ids of the indexes seen here under any key,
// for shell completion.
func (d *Device) SeenIndexes() []string {
	files, _ := filepath.Glob(filepath.Join(d.State, "keys", "*"))
	var ids []string
	for _, file := range files {
		m := memory{}
		b, err := readSmall(file)
		if err != nil || json.Unmarshal(b, &m) != nil {
			continue // a lock or a damaged file
		}
		for _, s := range m.Seen {
			if !slices.Contains(m.Deleted, s.Origin) {
				ids = append(ids, s.ID.String())
			}
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// An IndexGeneration identifies a generation of an index. The number of a
// generation does not suffice, because two devices that update copies of an
// index make different generations with the same number.
type IndexGeneration struct {
	Origin     cpar.IndexID `json:"origin"`
	ID         cpar.IndexID `json:"id"` // id at the cloud
	Generation uint64       `json:"generation"`
	Digest     cpar.Digest  `json:"state"`
}

func generationOf(l user.Label) IndexGeneration {
	return IndexGeneration{Origin: l.Origin(), ID: l.ID(), Generation: l.Generation(), Digest: l.Digest()}
}

// Card encodes a generation as ORIGIN@GENERATION:STATE, to copy to another
// device. STATE is the generation's digest.
func (s IndexGeneration) Card() string {
	return fmt.Sprintf("%v@%d:%v", s.Origin, s.Generation, s.Digest)
}

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
	s.ID = s.Origin // the best available guess
	return s, nil
}

// AcceptCard adopts the generation on another device's card. Afterwards, this
// device rejects older generations, forks of this generation, and other
// indexes. If the device has seen the index, the card must be newer, and the
// next generation opened must descend from both. If `force` is set, the card
// replaces the record of generations seen.
func (d *Device) AcceptCard(key *user.Key, s IndexGeneration, force bool) error {
	return d.withMemory(key.Fingerprint(), func(m *memory) error {
		origin := s.Origin.String()
		before, known := m.Seen[origin]
		newest := m.newest(s.Origin)
		if known && !force && (newest.Generation > s.Generation || newest.Generation == s.Generation && newest.Digest != s.Digest) {
			return hint.Add(fmt.Errorf("taking a card: %w: this device has seen generation %d, state %.8v…", cpar.ErrInput, newest.Generation, newest.Digest),
				"if the state on the card is the right one, pass --force")
		}
		switch {
		case before.Digest == s.Digest:
			s.ID = before.ID
			m.see(s)
		case known && !force:
			if m.Cards == nil {
				m.Cards = map[string]IndexGeneration{}
			}
			m.Cards[origin] = s
		default:
			m.see(s)
		}
		m.InUse = &s.Origin
		return nil
	})
}
