package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"cpar"
	"cpar/cparhttp"
	"cpar/internal/hint"
	"cpar/internal/indexdir"
)

// Which state of an index was made of which, on this device. A push that would put
// a state in the place of one that it was not made of loses what another device
// has put there: photos that were added from another copy of the folder.

// digestOf names a state of an index by its manifest.
func digestOf(m *cpar.Manifest) cpar.Digest {
	b, err := m.MarshalBinary()
	if err != nil {
		return cpar.Digest{} // which no digest is; a manifest that was read can be written
	}
	return sha256.Sum256(b)
}

func lineageFile(d cpar.Digest) string { return cacheFile("lineage", d.String()) }

// descend remembers that the index in folder was made of the state before. Where
// that cannot be written, push will ask for --force.
func descend(folder string, before *cpar.Manifest) {
	now, err := indexdir.ReadManifest(folder)
	if err != nil {
		return
	}
	parent, child := digestOf(before), digestOf(now)
	if parent != child {
		_ = remember(lineageFile(child), parent.String())
	}
}

// madeOf is whether state now is old, or was made of it here, by however many steps.
func madeOf(now, old cpar.Digest) (bool, error) {
	for seen := map[cpar.Digest]bool{}; now != old; {
		seen[now] = true
		path := lineageFile(now)
		text, err := remembered(path)
		if err != nil || text == "" {
			return false, err
		}
		if now, err = cpar.ParseDigest(text); err != nil || seen[now] {
			return false, unreadable(path)
		}
	}
	return true, nil
}

// checkReplaced refuses to put state m in the place of what the cloud has under id,
// unless m was made of that. What is damaged there is nobody's.
func checkReplaced(ctx context.Context, client *cparhttp.Client, id cpar.IndexID, m *cpar.Manifest) error {
	there, err := client.Manifest(ctx, id)
	switch {
	case errors.Is(err, cparhttp.ErrNotFound) || errors.Is(err, cpar.ErrCorrupt):
		return nil
	case err != nil:
		return err
	case !hides(there.Scheme):
		return nil // made in one go, and no device can have added to it
	}
	ours, err := madeOf(digestOf(m), digestOf(there))
	if err != nil || ours {
		return err
	}
	return hint.Add(fmt.Errorf("pushing: %w: the cloud at %s has index %v in a state that this folder was not made of here; another device may have added photos to it", cpar.ErrCloud, client.URL(), id),
		"add what is new to a copy of the folder that was pushed last, and push that; or pass --force to replace what is there")
}
