package device

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"cpar"
	"cpar/cparhttp"
	"cpar/internal/hint"
	"cpar/internal/indexdir"
	"cpar/internal/progress"
	"cpar/user"
)

// A made state is one that this device has written into a folder: which it is, and
// from which other it was made. Push needs no key, and knows by this what it pushes.
type made struct {
	Key    string      `json:"key"` // its fingerprint
	Scheme cpar.Scheme `json:"scheme"`
	IndexState
	// Parent is the digest of the manifest of the state before; zero for a build.
	Parent cpar.Digest `json:"parent"`
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
	m := made{Key: key.Fingerprint(), Scheme: o.Scheme(), IndexState: stateOf(o)}
	if before != nil {
		if m.Parent = digestOf(before); m.Parent == digestOf(now) {
			return nil // nothing was to be done
		}
	}
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return write(d.madeFile(digestOf(now)), b)
}

// madeHere is what is remembered of a state; ok is false where it was not made here.
func (d *Device) madeHere(digest cpar.Digest) (m made, ok bool, err error) {
	path := d.madeFile(digest)
	b, err := read(path)
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

// OpenFolder opens the index in a folder with a key.
func OpenFolder(key *user.Key, folder string) (*user.Owner, *cpar.Manifest, error) {
	x, err := indexdir.Open(folder)
	if err != nil {
		return nil, nil, err
	}
	defer x.Release()
	o, err := user.Open(key, x.Manifest(), x.Segment(cpar.SegmentLedger))
	if err != nil {
		return nil, nil, hint.Add(err, "pass the key file it was built with")
	}
	return o, x.Manifest(), nil
}

// ToUpdate opens the index in a folder that is to be updated. It refuses one in an
// older state than was seen.
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

// PushOptions say how an index is pushed.
type PushOptions struct {
	// Replaces is an index to delete at the cloud when this one is active; zero for
	// none.
	Replaces cpar.IndexID
	// Force replaces what the cloud has, whoever put it there.
	Force    bool
	Progress progress.Func
}

// Push sends the index in a folder to a cloud and remembers its state as seen, so
// that a cloud that goes back to the one before is found out. It refuses to put it
// in the place of a state that it was not made from on this device: another device may
// have added photos to that. All that is sent is encrypted; no key is needed.
func (d *Device) Push(ctx context.Context, client *cparhttp.Client, folder string, opt PushOptions) (*cpar.Manifest, error) {
	m, err := indexdir.ReadManifest(folder)
	if err != nil {
		return nil, err
	}
	replaced := []cpar.IndexID{m.ID}
	if opt.Replaces != (cpar.IndexID{}) {
		replaced = append(replaced, opt.Replaces)
	}
	if !opt.Force {
		for _, id := range replaced {
			if err := d.checkReplaced(ctx, client, id, m); err != nil {
				return nil, err
			}
		}
	}
	if m, err = client.Push(ctx, folder, func(done, total int64) {
		opt.Progress.Report("push, kB", int(done/1000), int(total/1000))
	}); err != nil {
		return nil, err
	}
	if mine, ok, err := d.madeHere(digestOf(m)); err != nil {
		return nil, err
	} else if ok {
		if err := d.change(mine.Key, func(mem *memory) error { mem.pushed(mine); return nil }); err != nil {
			return nil, err
		}
	}
	if opt.Replaces != (cpar.IndexID{}) {
		d.forget(opt.Replaces)
		// One that is gone already is no mistake: a push may have been broken off.
		if err := client.Delete(ctx, opt.Replaces); err != nil && !errors.Is(err, cparhttp.ErrNotFound) {
			return nil, err
		}
	}
	return m, nil
}

// checkReplaced refuses to put state m in the place of what the cloud has under id,
// unless m was made of that. What is damaged there is nobody's.
func (d *Device) checkReplaced(ctx context.Context, client *cparhttp.Client, id cpar.IndexID, m *cpar.Manifest) error {
	there, err := client.Manifest(ctx, id)
	switch {
	case errors.Is(err, cparhttp.ErrNotFound) || errors.Is(err, cpar.ErrCorrupt):
		return nil
	case err != nil:
		return err
	}
	ours, err := d.descends(digestOf(m), digestOf(there))
	if err != nil || ours {
		return err
	}
	return hint.Add(fmt.Errorf("pushing: %w: the cloud at %s has index %v in a state that this folder was not made of here; another device may have added photos to it", cpar.ErrCloud, client.URL(), id),
		"add what is new to a copy of the folder that was pushed last, and push that; or pass --force to replace what is there")
}
