package ui

import (
	"context"
	"fmt"
	"slices"

	"cpar"
	"cpar/internal/hint"
	"cpar/user"
	"cpar/user/device"
	"cpar/user/library"
	"cpar/user/vocabulary"
)

// Rules returns the vocabulary of the index. Only a device with the folder of the
// index can change it.
func (w *LibraryBackend) Rules() (v *vocabulary.Vocabulary, fixed string) {
	x := w.state.Load()
	switch _, err := w.indexFolder(x); {
	case !x.Scheme().Grows():
		fixed = fmt.Sprintf("An index of scheme %v keeps its vocabulary. Build it again with cpar build --replace --vocabulary.", x.Scheme())
	case err != nil:
		fixed = "The folder of this index is not on this device. Change the vocabulary where the index was built."
	}
	return x.Vocabulary(), fixed
}

func (w *LibraryBackend) indexFolder(x *device.Index) (string, error) {
	if w.o.Key == nil || w.o.Device == nil || w.o.Client == nil {
		return "", fmt.Errorf("changing the vocabulary: %w: the folder of the index is unknown", cpar.ErrInput)
	}
	return w.o.Device.Folder(w.o.Key, x.Manifest.ID, "")
}

func (w *LibraryBackend) SetRules(ctx context.Context, v *vocabulary.Vocabulary) error {
	return w.changeRules(ctx, func(folder string) (*user.Update, error) {
		return user.SetVocabulary(ctx, w.o.Key, folder, v, user.UpdateOptions{})
	})
}

func (w *LibraryBackend) UndoRules(ctx context.Context) error {
	return w.changeRules(ctx, func(folder string) (*user.Update, error) {
		return user.UndoVocabulary(ctx, w.o.Key, folder, user.UpdateOptions{})
	})
}

// changeRules makes a new generation in the folder of the index, pushes it and
// opens it. It also pushes earlier generations in the folder that the cloud
// lacks, for example after a failed push.
func (w *LibraryBackend) changeRules(ctx context.Context, change func(folder string) (*user.Update, error)) error {
	w.asking.Lock()
	defer w.asking.Unlock()
	folder, err := w.indexFolder(w.index)
	if err != nil {
		return err
	}
	// Before anything changes, check that the cloud has no generation made by
	// another device.
	if _, err := w.o.Device.Push(ctx, w.o.Client, folder, device.PushOptions{DryRun: true}); err != nil {
		return err
	}
	_, before, err := w.o.Device.ToUpdate(w.o.Key, folder)
	if err != nil {
		return err
	}
	u, err := change(folder)
	if err == nil && u.Written {
		err = w.o.Device.Made(w.o.Key, folder, before)
	}
	if err != nil {
		return err
	}
	if _, err := w.o.Device.Push(ctx, w.o.Client, folder, device.PushOptions{}); err != nil {
		return hint.Add(fmt.Errorf("the vocabulary is changed on this device, and the cloud does not have it yet: %w", err), "save it again, or run: cpar push %s", folder)
	}
	return w.reload(ctx)
}

// reload opens the pushed generation. Until the user asks again, the page shows
// stored answers in words of the new vocabulary, even if the push also contained
// photos that would change the answers.
func (w *LibraryBackend) reload(ctx context.Context) error {
	key, err := library.Key(w.index, w.options())
	if err != nil {
		return err
	}
	if err := w.index.Reload(ctx); err != nil {
		return err
	}
	w.keepState()
	earlier := append(slices.Clone(*w.earlier.Load()), key)
	w.earlier.Store(&earlier)
	return nil
}
