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

// PushOptions say how an index is pushed.
type PushOptions struct {
	// Replaces is an index to delete at the cloud when this one is active; zero for
	// none.
	Replaces cpar.IndexID
	// Force replaces what the cloud has, whoever put it there.
	Force bool
	// DryRun refuses what would be refused, and sends the manifest alone, to learn what
	// the cloud lacks.
	DryRun   bool
	Progress progress.Func
}

// Pushed says what became of a push.
type Pushed struct {
	Manifest *cpar.Manifest
	// Missing is how many bytes a dry run would have sent.
	Missing uint64
	// Sent is how many bytes were sent: what the cloud had not.
	Sent uint64
	// Origin is the id that survives compaction; zero where the state was not made here.
	Origin cpar.IndexID
	// Remembered: the state counts as seen. It does if this device has made it.
	Remembered bool
	// InUse is the origin of the index that photos are asked about in where none is
	// named; nil where none is, or where the state was not made here.
	InUse *cpar.IndexID
}

// Push sends the index in a folder to a cloud and remembers its state as seen, so
// that a cloud that goes back to the one before is found out. It refuses to put it
// in the place of a state that it was not made from on this device: another device may
// have added photos to that. All that is sent is encrypted; no key is needed.
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
	there := int64(-1) // before anything was sent
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
		// One that is gone already is no mistake: a push may have been broken off.
		if err := client.Delete(ctx, opt.Replaces); err != nil && !errors.Is(err, cparhttp.ErrNotFound) {
			return p, err
		}
	}
	return p, nil
}

// checkPush refuses a push that would undo an update.
func (d *Device) checkPush(ctx context.Context, client *cparhttp.Client, m *cpar.Manifest, mine made, replaces cpar.IndexID) error {
	if err := d.checkPushed(mine); err != nil {
		return err
	}
	if err := d.checkReplaced(ctx, client, m.ID, m); err != nil || replaces == (cpar.IndexID{}) {
		return err
	}
	return d.checkReplaced(ctx, client, replaces, m)
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
		replacing)
}

const replacing = "add what is new to a copy of the folder that was pushed last, and push that; or pass --force to replace what is there"
