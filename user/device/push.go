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
		if err := d.withMemory(mine.Key, func(mem *memory) error { mem.pushed(mine); return nil }); err != nil {
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
