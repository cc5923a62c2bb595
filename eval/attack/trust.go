package attack

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"cpar"
	"cpar/user"
	"cpar/user/device"
)

// Trust: does the owner's device open a branch of the index (updates that do
// not continue the history it has seen), or read another key from the key file?

// longBranch is the length of the shortest branch that ledgers of version 7
// could mistake for a successor.
const longBranch = 17

func (o *offers) trust(ctx context.Context) error {
	branch, err := o.branch(ctx, len(o.generations)+longBranch+2)
	if err != nil {
		return err
	}
	// The device has seen the second generation (version). The branch starts
	// from the first.
	seen := slices.Repeat(o.generations[1:2], len(branch))
	if err := o.offered(ctx, "fork-by-card", 1, seen, branch[1:4], o.card); err != nil {
		return err
	}
	if err := o.offered(ctx, "branch-17", longBranch, seen, branch[longBranch:], nil); err != nil {
		return err
	}
	return o.swapKeys()
}

// branch returns generations 2 to `last` of a branch that starts from
// generation 1.
func (o *offers) branch(ctx context.Context, last int) (states []*servedIndex, err error) {
	folder := filepath.Join(o.folder, "fork") // holds generation 2 of the branch
	for len(states) < last-1 {
		x, err := read(folder)
		if err != nil {
			return nil, err
		}
		states = append(states, x)
		if _, err := user.Add(ctx, o.key, folder, o.run.c.Train[:1], nil); err != nil {
			return nil, err
		}
	}
	return states, nil
}

// card makes device d accept the card (a text that states a generation) of
// another device. That device has seen only the branch.
func (o *offers) card(ctx context.Context, d *device.Device, branch *servedIndex) error {
	other, err := o.device(ctx, branch)
	if err != nil {
		return err
	}
	its, _, err := other.InUse(o.key)
	if err != nil {
		return err
	}
	return d.AcceptCard(o.key, its, false)
}

// swapKeys replaces key files. It assumes that the attacker can write to the
// folder and, in the worst case, knows the passphrase.
func (o *offers) swapKeys() error {
	pass := func() (string, error) { return "correct horse battery staple", nil }
	word, _ := pass()
	read := 0
	var said []string
	swaps := []struct {
		seen         bool // the device has read the owner's file before
		mine, theirs string
		how          user.Unlock
	}{
		{true, "", "", user.Unlock{}},
		{true, word, "", user.Unlock{Passphrase: pass}},
		{true, word, "", user.Unlock{Passphrase: pass, Encrypted: true}},
		{false, word, "", user.Unlock{Passphrase: pass, Encrypted: true}},
		{false, word, "", user.Unlock{Passphrase: pass, Slot: user.FirstSlot}},
		{true, word, word, user.Unlock{Passphrase: pass}},
	}
	for i, s := range swaps {
		home := filepath.Join(o.folder, fmt.Sprint("home ", i))
		d := &device.Device{State: filepath.Join(home, "state")}
		path := filepath.Join(home, "key")
		if err := os.MkdirAll(home, 0o700); err != nil {
			return fmt.Errorf("making a folder for keys: %w: %w", cpar.ErrStorage, err)
		}
		if err := o.key.WriteFile(path, s.mine); err != nil {
			return err
		}
		if s.seen {
			if _, err := d.ReadKey(path, user.Unlock{Passphrase: pass}); err != nil {
				return err
			}
		}
		theirs := filepath.Join(home, "theirs")
		if err := user.NewKey(cpar.Schemes()...).WriteFile(theirs, s.theirs); err != nil {
			return err
		}
		if err := os.Rename(theirs, path); err != nil {
			return fmt.Errorf("replacing a key: %w: %w", cpar.ErrStorage, err)
		}
		if _, err := d.ReadKey(path, s.how); err != nil {
			said = append(said, kindOf(err))
			continue
		}
		read++
	}
	o.refusals(proportion("key-swap", cpar.SchemeSealed.String(), 0, read, len(swaps), 0), said)
	return nil
}
