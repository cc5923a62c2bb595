package device

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"path/filepath"

	"cpar"
	"cpar/user"
)

// A made state is one that this device has written into a folder: which it is, and
// from which other it was made. Push needs no key, and knows by this what it pushes.
type made struct {
	Key    string      `json:"key"` // its fingerprint
	Scheme cpar.Scheme `json:"scheme"`
	IndexGeneration
	// Parent is the digest of the manifest of the state before; zero for a build.
	Parent cpar.Digest `json:"parent"`
	// Before are the states that it was made from, as its ledger knows them.
	Before []cpar.Digest `json:"before,omitempty"`
}

// digestOf names a state by its manifest.
func digestOf(m *cpar.Manifest) cpar.Digest {
	b, err := m.MarshalBinary()
	if err != nil {
		return cpar.Digest{} // which no digest is; a manifest that was read can be written
	}
	return sha256.Sum256(b)
}

func (d *Device) madeFile(digest cpar.Digest) string {
	return filepath.Join(d.State, "made", digest.String())
}

// Made remembers that a folder holds a state that was made here of the state before,
// nil for a build. Where that cannot be written, Push will want to be forced.
func (d *Device) Made(key *user.Key, folder string, before *cpar.Manifest) error {
	o, now, err := OpenFolder(key, folder)
	if err != nil {
		return err
	}
	if err := d.keepLabel(key, o, now); err != nil {
		return err
	}
	m := made{Key: key.Fingerprint(), Scheme: o.Scheme(), IndexGeneration: generationOf(o)}
	for _, state := range o.Ancestors() {
		m.Before = append(m.Before, state)
	}
	if before != nil {
		if m.Parent = digestOf(before); m.Parent == digestOf(now) {
			return nil // nothing was to be done
		}
	}
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return writeSmall(d.madeFile(digestOf(now)), b)
}

// madeHere is what is remembered of a state; ok is false where it was not made here.
func (d *Device) madeHere(digest cpar.Digest) (m made, ok bool, err error) {
	path := d.madeFile(digest)
	b, err := readSmall(path)
	if err != nil || b == nil {
		return m, false, err
	}
	if err := json.Unmarshal(b, &m); err != nil {
		return m, false, unreadable(path, err)
	}
	return m, true, nil
}

// descends is whether state now is old, or was made of it here, by however many
// steps.
func (d *Device) descends(now, old cpar.Digest) (bool, error) {
	for seen := map[cpar.Digest]bool{}; now != old; {
		seen[now] = true
		m, ok, err := d.madeHere(now)
		if err != nil || !ok {
			return false, err
		}
		if now = m.Parent; seen[now] {
			return false, unreadable(d.madeFile(now), errors.New("a state was made of itself"))
		}
	}
	return true, nil
}
