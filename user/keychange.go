package user

import (
	"fmt"
	"slices"

	"cpar"
	"cpar/internal/hint"
)

// changeKeyFile opens a key file, applies `work`, and replaces the file atomically. The
// seed stays the same. Copies of the file keep their passphrases.
func changeKeyFile(path string, how Unlock, work func(f *keyFile) error) (*Key, error) {
	f, err := openKeyFile(path, how)
	if err == nil {
		err = work(f)
	}
	if err != nil {
		return nil, err
	}
	return f.key, f.replace()
}

func SetPolicy(path string, how Unlock, p Policy) (*Key, error) {
	return changeKeyFile(path, how, func(f *keyFile) error {
		f.key.allows = p
		return nil
	})
}

// SetPassphrase replaces the passphrase of the file or of one slot. It encrypts
// a file that was not encrypted.
func SetPassphrase(path string, how Unlock, passphrase func() (string, error)) (*Key, error) {
	if f, err := Slots(path); err == nil && len(f) > 0 {
		how.Identity = nil // only a passphrase determines the slot to change
	}
	return changeKeyFile(path, how, func(f *keyFile) error {
		if f.slots != nil {
			return f.slots.add(f.slots.slots[f.slots.opened].name, passphrase)
		}
		var err error
		f.passphrase, err = passphrase()
		return err
	})
}

// Slots returns the names of a key file's slots, which are not encrypted.
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

// FileID returns the id of a key file with slots, or "" for other files.
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

// AddSlot adds a slot with its own passphrase. A file's single passphrase
// becomes the first slot.
func AddSlot(path string, how Unlock, name string, passphrase func() (string, error)) (*Key, error) {
	if err := checkSlotName(name); err != nil {
		return nil, err
	}
	return changeKeyFile(path, how, func(f *keyFile) error {
		if err := f.makeSlots(); err != nil {
			return err
		}
		switch {
		case f.slots.index(name) >= 0:
			return fmt.Errorf("adding a slot to key file %s: %w: it has one called %s", path, cpar.ErrInput, name)
		case len(f.slots.slots) == MaxSlots:
			return fmt.Errorf("adding a slot to key file %s: %w: it has %d, the maximum", path, cpar.ErrInput, MaxSlots)
		}
		return f.slots.add(name, passphrase)
	})
}

// RemoveSlot removes a slot. The slot's passphrase still opens older copies of
// the file.
func RemoveSlot(path string, how Unlock, name string) (*Key, error) {
	return changeKeyFile(path, how, func(f *keyFile) error {
		if f.slots == nil || f.slots.index(name) < 0 {
			return fmt.Errorf("removing a slot of key file %s: %w: it has none called %s", path, cpar.ErrInput, name)
		}
		if len(f.slots.slots) == 1 {
			return hint.Add(fmt.Errorf("removing a slot of key file %s: %w: it is the only one", path, cpar.ErrInput),
				"change its passphrase with cpar key passphrase, or add another slot first")
		}
		at := f.slots.index(name)
		f.slots.slots = slices.Delete(f.slots.slots, at, at+1)
		return nil
	})
}

func (f *keyFile) makeSlots() (err error) {
	if f.slots != nil {
		return nil
	}
	if f.passphrase == "" {
		return hint.Add(fmt.Errorf("key file %s: %w: it is not encrypted, so there is nothing to open", f.path, cpar.ErrInput),
			"give it a passphrase first: cpar key passphrase")
	}
	if f.slots, err = newSlotted(); err != nil {
		return fmt.Errorf("encrypting the key: %w", err)
	}
	return f.slots.add(FirstSlot, func() (string, error) { return f.passphrase, nil })
}

// Identity passes the file's id and the identity (a private key) that opens
// the file to `keep`, which stores them in a keyring. A file without slots is
// converted to slots, because a keyring should not hold a passphrase that is
// used elsewhere. The file is written only after `keep` succeeds.
func Identity(path string, how Unlock, keep func(id, identity string) error) error {
	f, err := openKeyFile(path, how)
	if err != nil {
		return err
	}
	before := f.slots != nil
	if err := f.makeSlots(); err != nil {
		return err
	}
	if err := keep(f.slots.id, f.slots.identity.String()); err != nil || before {
		return err
	}
	return f.replace()
}
