package device

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"

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
	Seen map[string]IndexGeneration `json:"seen"`
	// Deleted are the origins of those that were deleted from here. Their states stay in
	// Seen: a cloud that has kept one must not show an older state of it either.
	Deleted []cpar.IndexID `json:"deleted,omitempty"`
}

// see takes a state for the newest of its index, which is then not deleted.
func (m *memory) see(s IndexGeneration) {
	m.Seen[s.Origin.String()] = s
	m.Deleted = slices.DeleteFunc(m.Deleted, func(origin cpar.IndexID) bool { return origin == s.Origin })
}

func (d *Device) memoryFile(fingerprint string) string {
	return filepath.Join(d.State, "keys", fingerprint)
}

// withMemory reads what is remembered of a key, lets work change it, and keeps the
// result. A file that cannot be read is not taken for none: a cloud must not be let
// off.
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
	return hint.Add(fmt.Errorf("reading what was seen before: %w: %s: %w", cpar.ErrCorrupt, path, err),
		"remove the file if you trust the cloud to show the newest state now; what the key may be used with is then what its own file says")
}

// pushed remembers a state that this device has made and pushed, if it is newer than
// what was seen or the person has forced it. The first index that hides distances
// becomes the one in use.
func (m *memory) pushed(s made, forced bool) {
	now := s.IndexGeneration
	if forced || now.Generation >= m.Seen[now.Origin.String()].Generation {
		m.see(now)
	}
	if m.InUse == nil && user.Hides(s.Scheme) {
		m.InUse = &now.Origin
	}
}

// InUse is the newest state seen of the index in use with a key; ok is false where
// none is.
func (d *Device) InUse(key *user.Key) (s IndexGeneration, ok bool, err error) {
	err = d.withMemory(key.Fingerprint(), func(m *memory) error {
		if m.InUse != nil {
			s, ok = m.Seen[m.InUse.String()]
		}
		return nil
	})
	return s, ok, err
}

// SeenIndexes are the ids of all indexes that this device has seen, with whichever key, in
// order. What cannot be read is left out: they are suggestions for who types.
func (d *Device) SeenIndexes() []string {
	files, _ := filepath.Glob(filepath.Join(d.State, "keys", "*"))
	var ids []string
	for _, file := range files {
		m := memory{}
		b, err := readSmall(file)
		if err != nil || json.Unmarshal(b, &m) != nil {
			continue // a lock, or what is damaged
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
