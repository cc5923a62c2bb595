package user

import (
	"fmt"
	"slices"

	"cpar"
	"cpar/internal/hint"
)

// Changes to a key file: the same seed in a file that is replaced whole or not at all.
// Copies of the file stay as they are, under the passphrases that they had.

// SetPolicy replaces the policy of the key in a file, under the same passphrases.
func SetPolicy(path string, how Unlock, p Policy) (*Key, error) {
	f, err := openKeyFile(path, how)
	if err != nil {
		return nil, err
	}
	f.key.allows = p
	return f.key, f.replace()
}

// SetPassphrase puts another passphrase in the place of the one that opens the file: of its
// slot, where it has slots. A file that was not encrypted is from then on.
func SetPassphrase(path string, how Unlock, passphrase func() (string, error)) (*Key, error) {
	if f, err := Slots(path); err == nil && len(f) > 0 {
		how.Identity = nil // it would not say which slot is meant
	}
	f, err := openKeyFile(path, how)
	if err != nil {
		return nil, err
	}
	next, err := passphrase()
	if err != nil {
		return nil, err
	}
	if f.slots == nil {
		f.passphrase = next
		return f.key, f.replace()
	}
	if err := f.slots.add(f.slots.slots[f.slots.opened].name, next); err != nil {
		return nil, fmt.Errorf("encrypting the key: %w", err)
	}
	return f.key, f.replace()
}

// Slots are the names of a key file's slots; none where it has one passphrase, or none. No
// passphrase is needed: they stand in the open.
func Slots(path string) ([]string, error) {
	s, err := readSlots(path)
	if err != nil || s == nil {
		return nil, err
	}
	var names []string
	for _, x := range s.slots {
		names = append(names, x.name)
	}
	return names, nil
}

// FileID names a key file with slots; "" for one without.
func FileID(path string) (string, error) {
	s, err := readSlots(path)
	if err != nil || s == nil {
		return "", err
	}
	return s.id, nil
}

func readSlots(path string) (*slotFile, error) {
	text, err := readKeyText(path)
	if err != nil || !hasSlots(text) {
		return nil, err
	}
	s, err := parseSlots(text)
	if err != nil {
		return nil, fmt.Errorf("reading key file %s: %w", path, err)
	}
	return s, nil
}

// AddSlot adds a slot with a passphrase of its own. A file with one passphrase becomes one
// with slots, of which that is the first.
func AddSlot(path string, how Unlock, name string, passphrase func() (string, error)) (*Key, error) {
	if err := checkSlotName(name); err != nil {
		return nil, err
	}
	f, err := openKeyFile(path, how)
	if err != nil {
		return nil, err
	}
	if err := f.makeSlots(); err != nil {
		return nil, err
	}
	switch {
	case f.slots.index(name) >= 0:
		return nil, fmt.Errorf("adding a slot to key file %s: %w: it has one called %s", path, cpar.ErrInput, name)
	case len(f.slots.slots) == MaxSlots:
		return nil, fmt.Errorf("adding a slot to key file %s: %w: it has %d, which are the most", path, cpar.ErrInput, MaxSlots)
	}
	next, err := passphrase()
	if err != nil {
		return nil, err
	}
	if err := f.slots.add(name, next); err != nil {
		return nil, fmt.Errorf("encrypting the key: %w", err)
	}
	return f.key, f.replace()
}

// RemoveSlot removes a slot. Its passphrase still opens copies of the file from before.
func RemoveSlot(path string, how Unlock, name string) (*Key, error) {
	f, err := openKeyFile(path, how)
	if err != nil {
		return nil, err
	}
	if f.slots == nil || f.slots.index(name) < 0 {
		return nil, fmt.Errorf("removing a slot of key file %s: %w: it has none called %s", path, cpar.ErrInput, name)
	}
	if len(f.slots.slots) == 1 {
		return nil, hint.Add(fmt.Errorf("removing a slot of key file %s: %w: it is the only one", path, cpar.ErrInput),
			"change its passphrase with cpar key passphrase, or add another slot first")
	}
	at := f.slots.index(name)
	f.slots.slots = slices.Delete(f.slots.slots, at, at+1)
	return f.key, f.replace()
}

// makeSlots makes of one passphrase the first slot.
func (f *keyFile) makeSlots() (err error) {
	if f.slots != nil {
		return nil
	}
	if f.passphrase == "" {
		return hint.Add(fmt.Errorf("key file %s: %w: it is not encrypted, so there is nothing to open", f.path, cpar.ErrInput),
			"give it a passphrase first: cpar key passphrase")
	}
	if f.slots, err = newSlotted(); err == nil {
		err = f.slots.add(FirstSlot, f.passphrase)
	}
	if err != nil {
		return fmt.Errorf("encrypting the key: %w", err)
	}
	return nil
}

// Identity gives keep what opens a key file without a passphrase, for a keyring: the file's id
// and its identity. A file with one passphrase becomes one with slots, since a passphrase that
// may serve elsewhere too should lie in no keyring; but only once keep has kept it, so that
// the file stays as it was where nothing can be kept.
func Identity(path string, how Unlock, keep func(id, identity string) error) error {
	f, err := openKeyFile(path, how)
	if err != nil {
		return err
	}
	before := f.slots != nil
	if !before {
		if err := f.makeSlots(); err != nil {
			return err
		}
	}
	if err := keep(f.slots.id, f.slots.identity.String()); err != nil || before {
		return err
	}
	return f.replace()
}
