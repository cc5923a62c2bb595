package device

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/indexdir"
	"cpar/user"
)

// The type made describes a generation that this device wrote into a folder.
// Push recognises the folder by this record, without the key.
type made struct {
	Key    string      `json:"key"` // fingerprint
	Scheme cpar.Scheme `json:"scheme"`
	IndexGeneration
	// Parent is the manifest digest of the previous generation, zero after a build.
	Parent  cpar.Digest  `json:"parent"`
	History user.History `json:"history,omitempty"`
	// Before holds at most sixteen ancestors, as earlier versions of CPAR wrote them.
	Before []cpar.Digest `json:"before,omitempty"`
}

// digestOf identifies a generation by its manifest.
func digestOf(m *cpar.Manifest) cpar.Digest {
	b, err := m.MarshalBinary()
	if err != nil {
		return cpar.Digest{} // unreachable: a manifest that was read can be encoded
	}
	return sha256.Sum256(b)
}

func (d *Device) madeFile(digest cpar.Digest) string {
	return filepath.Join(d.State, "made", digest.String())
}

// Made records that this device made the generation in a folder. Parameter
// `before` is the previous generation, nil after a build. Without the record,
// Push requires Force.
func (d *Device) Made(key *user.Key, folder string, before *cpar.Manifest) error {
	o, now, err := OpenFolder(key, folder)
	if err != nil {
		return err
	}
	whole, err := filepath.Abs(folder)
	if err != nil {
		return fmt.Errorf("finding the folder of the index: %w: %w", cpar.ErrInput, err)
	}
	if err := d.keepLabel(key, o.Label, now, whole); err != nil {
		return err
	}
	m := made{Key: key.Fingerprint(), Scheme: o.Scheme(), IndexGeneration: generationOf(o.Label), History: o.History()}
	if before != nil {
		if m.Parent = digestOf(before); m.Parent == digestOf(now) {
			return nil // nothing changed
		}
	}
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return writeSmall(d.madeFile(digestOf(now)), b)
}

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

// descends reports whether generation `now` equals generation `old` or was
// made here from it, in any number of steps. Parameters are manifest digests.
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

func OpenFolder(key *user.Key, folder string) (*user.Owner, *cpar.Manifest, error) {
	x, err := indexdir.Open(folder)
	if err != nil {
		return nil, nil, err
	}
	defer x.Release()
	o, err := user.Open(key, x.Manifest(), x.Read)
	if err != nil {
		return nil, nil, hint.Add(err, "pass the key file it was built with")
	}
	return o, x.Manifest(), nil
}

// ToUpdate opens the index in a folder for an update. It rejects a generation
// older than the newest seen.
func (d *Device) ToUpdate(key *user.Key, folder string) (*user.Owner, *cpar.Manifest, error) {
	o, m, err := OpenFolder(key, folder)
	if err != nil {
		return nil, nil, err
	}
	if err := d.checkFolder(key, o); err != nil {
		return nil, nil, fmt.Errorf("updating index %s: %w", folder, err)
	}
	return o, m, nil
}
