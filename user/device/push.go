package device

import (
	"context"
	"errors"
	"fmt"

	"cpar"
	"cpar/cparhttp"
	"cpar/internal/hint"
	"cpar/internal/indexdir"
	"cpar/internal/progress"
)

type PushOptions struct {
	// Replaces is the id of an index to delete once the pushed index is active,
	// or zero.
	Replaces cpar.IndexID
	// Force replaces the index at the cloud even if this device did not make it.
	Force bool
	// DryRun makes all checks, sends only the manifest, and reports the missing bytes.
	DryRun   bool
	Progress progress.Func
}

type Pushed struct {
	Manifest *cpar.Manifest
	// Missing is the number of bytes that a push would send. Only a dry run
	// sets it.
	Missing uint64
	// Sent is the number of bytes sent, without bytes already at the cloud.
	Sent uint64
	// Origin is the index's first id, or zero for a folder not made here.
	Origin cpar.IndexID
	// Remembered reports whether the generation was recorded as seen, which
	// requires that this device made it.
	Remembered bool
	// InUse is the origin of the default index, nil if there is none or the
	// generation was not made here.
	InUse *cpar.IndexID
	// Switched reports whether the pushed index became the default in place of
	// the replaced index.
	Switched bool
}

// Push uploads the index in a folder and records its generation as seen. It refuses to
// replace a generation at the cloud unless this device made the folder from it, because
// another device may have added photos. Push needs no key.
func (d *Device) Push(ctx context.Context, client *cparhttp.Client, folder string, opt PushOptions) (p Pushed, err error) {
	m, err := indexdir.ReadManifest(folder)
	if err != nil {
		return p, err
	}
	mine, here, err := d.madeHere(digestOf(m))
	if err != nil {
		return p, err
	}
	if !opt.Force {
		if err := d.checkPush(ctx, client, m, mine, opt.Replaces); err != nil {
			return p, err
		}
	}
	if opt.DryRun {
		missing, err := client.Missing(ctx, m)
		for _, s := range missing {
			p.Missing += s.Bytes
		}
		p.Manifest = m
		return p, err
	}
	there := int64(-1) // −1 before the first byte
	if p.Manifest, err = client.Push(ctx, folder, func(done, total int64) {
		if there < 0 {
			there = done
		}
		p.Sent = uint64(max(0, done-there))
		opt.Progress.Report("push, kB", int(done/1000), int(total/1000))
	}); err != nil {
		return p, err
	}
	p.Origin = mine.Origin
	if p.Remembered = here && digestOf(p.Manifest) == digestOf(m); p.Remembered {
		err := d.withMemory(mine.Key, func(mem *memory) error {
			mem.pushed(mine, opt.Force)
			p.InUse = mem.InUse
			return nil
		})
		if err != nil {
			return p, err
		}
	}
	if opt.Replaces != (cpar.IndexID{}) {
		d.forget(opt.Replaces)
		// An interrupted push may already have deleted the index.
		if err := client.Delete(ctx, opt.Replaces); err != nil && !errors.Is(err, cparhttp.ErrNotFound) {
			return p, err
		}
		if p.Remembered {
			err = d.withMemory(mine.Key, func(mem *memory) error {
				p.Switched = mem.replaced(opt.Replaces, mine)
				p.InUse = mem.InUse
				return nil
			})
		}
	}
	return p, err
}

func (d *Device) checkPush(ctx context.Context, client *cparhttp.Client, m *cpar.Manifest, mine made, replaces cpar.IndexID) error {
	if err := d.checkPushed(mine); err != nil {
		return err
	}
	ours, err := d.checkReplaced(ctx, client, m.ID, m)
	switch {
	case err != nil:
		return err
	case !ours:
		return hint.Add(fmt.Errorf("pushing: %w: the cloud at %s has a state of index %v from which this folder was not made here; another device may have added photos to it", cpar.ErrCloud, client.URL(), m.ID),
			replacing)
	case replaces == (cpar.IndexID{}):
		return nil
	}
	if ours, err = d.checkReplaced(ctx, client, replaces, m); err != nil || ours {
		return err
	}
	return hint.Add(fmt.Errorf("pushing: %w: index %v, which is to be deleted from the cloud at %s, may hold photos that this folder lacks: the folder was rebuilt or made from another state", cpar.ErrCloud, replaces, client.URL()),
		"if the folder holds all photos that you need, pass --force")
}

// checkReplaced reports whether m descends from the cloud's generation of an
// index. It also returns true if the cloud's generation is missing or corrupt.
func (d *Device) checkReplaced(ctx context.Context, client *cparhttp.Client, id cpar.IndexID, m *cpar.Manifest) (ours bool, err error) {
	there, err := client.Manifest(ctx, id)
	switch {
	case errors.Is(err, cparhttp.ErrNotFound) || errors.Is(err, cpar.ErrCorrupt):
		return true, nil
	case err != nil:
		return false, err
	}
	return d.descends(digestOf(m), digestOf(there))
}

const replacing = "add the new photos to a copy of the folder that was pushed last and push that copy, or pass --force to replace the index at the cloud"
