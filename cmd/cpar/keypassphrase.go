package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"cpar"
	"cpar/internal/hint"
	"cpar/user"
	"cpar/user/device"
)

// keyFlagsMore are the common flags of the commands under key.
type keyFlagsMore struct {
	keyFlags
	newFile              string
	weak, dryRun, asJSON bool
}

func (f *keyFlagsMore) add(c *cobra.Command) {
	f.keyFlags.add(c)
	jsonFlag(c, &f.asJSON)
}

// addWriter adds the flags of commands that change the file.
func (f *keyFlagsMore) addWriter(c *cobra.Command) {
	f.add(c)
	dryRunFlag(c, &f.dryRun)
}

// addNew adds the flags of commands that ask for a new passphrase.
func (f *keyFlagsMore) addNew(c *cobra.Command) {
	f.addWriter(c)
	c.Flags().StringVar(&f.newFile, "new-passphrase-file", "", "read the new passphrase from this `file` instead of the terminal")
	c.Flags().BoolVar(&f.weak, "weak-passphrase", false, "accept a passphrase that is easy to guess")
}

func (f *keyFlagsMore) asked() (string, error) { return f.newPassphrase(f.newFile, f.weak) }

// change changes a key file, except in a dry run, and prints a sentence with
// the verb done or would.
func (f *keyFlagsMore) change(work func(path string, d *device.Device) error, done, would string, more map[string]any) error {
	path, err := f.file()
	if err != nil {
		return err
	}
	d, err := device.This()
	if err != nil {
		return err
	}
	said := done
	if f.dryRun {
		said = would
		if _, err := user.Slots(path); err != nil { // the file must exist
			return err
		}
	} else if err := work(path, d); err != nil {
		return err
	}
	result := map[string]any{"key": path, "dry_run": f.dryRun}
	for name, v := range more {
		result[name] = v
	}
	if !f.dryRun {
		if result["slots"], err = slotsOf(path); err != nil {
			return err
		}
	}
	return output(f.cmd, f.asJSON, result, func() {
		fmt.Fprintf(f.cmd.OutOrStdout(), "%s\n", strings.ReplaceAll(said, "KEY", path))
	})
}

func slotsOf(path string) ([]string, error) {
	names, err := user.Slots(path)
	return append([]string{}, names...), err
}

func keyPassphraseCommand() *cobra.Command {
	var f keyFlagsMore
	c := &cobra.Command{
		Use:   "passphrase",
		Short: "change the passphrase of a key file",
		Long: `passphrase replaces the key file, whole or not at all, by one with the same key under
another passphrase. In a file with slots it is that of the slot whose passphrase you
type; the others keep theirs. A file that was not encrypted is from then on.

Copies of the file stay under the old passphrase: whoever has one and knows that has the
key. To be rid of a key that somebody else may know, make a new one and build again.`,
		Example: `  $ cpar key passphrase
  passphrase of …/cpar/key: ‹the old one›
  new passphrase: ‹typed twice›
  …/cpar/key has another passphrase; copies of the file keep the old one`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.change(func(path string, d *device.Device) error {
				_, err := user.SetPassphrase(path, f.unlock(d, path), f.asked)
				return err
			}, "KEY has another passphrase; copies of the file keep the old one", "would give KEY another passphrase; nothing was written", nil)
		},
	}
	f.addNew(c)
	return c
}

func keySlotsCommand() *cobra.Command {
	var f keyFlagsMore
	c := &cobra.Command{
		Use:   "slots",
		Short: "list the slots of a key file",
		Long: `slots lists the passphrases that open a key file by their names. None is asked for: the
names stand in the file in the open.`,
		Example: `  $ cpar key slots
  first
  office`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			path, err := f.file()
			if err != nil {
				return err
			}
			names, err := slotsOf(path)
			if err != nil {
				return err
			}
			d, err := device.This()
			if err != nil {
				return err
			}
			remembered, err := d.Remembers(path)
			if err != nil {
				return err
			}
			return output(cmd, f.asJSON, map[string]any{"key": path, "slots": names, "remembered": remembered}, func() {
				out := cmd.OutOrStdout()
				for _, name := range names {
					fmt.Fprintln(out, name)
				}
				if len(names) == 0 {
					fmt.Fprintf(out, "%s has no slots: one passphrase opens it, or none\n", path)
				}
				if remembered {
					fmt.Fprintln(out, "remembered by the system's keyring (cpar key forget)")
				}
			})
		},
	}
	f.add(c)
	return c
}

func keySlotCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "slot",
		Short: "add or remove a passphrase of a key file",
		Args:  noArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(keySlotAddCommand(), keySlotRemoveCommand())
	return c
}

func keySlotAddCommand() *cobra.Command {
	var f keyFlagsMore
	c := &cobra.Command{
		Use:   "add NAME",
		Short: "let another passphrase open a key file, too",
		Long: `add adds a slot: from then on the key file opens with any of its passphrases, and who
knows one can do all that the key can, also change what it allows. The names stand in
the file in the open. Every passphrase that is tried costs about a second; --slot says
which is meant. There are at most eight.

The first slot that is added makes of a file with one passphrase one with two, whose
first is called "first". Earlier versions of cpar cannot read such a file.`,
		Example: `  $ cpar key slot add office
  passphrase of …/cpar/key: ‹the one that you have›
  new passphrase: ‹typed twice›
  …/cpar/key opens with another passphrase, too: slot office`,
		Args: oneArg("a name for the slot"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.change(func(path string, d *device.Device) error {
				_, err := user.AddSlot(path, f.unlock(d, path), args[0], f.asked)
				return err
			}, "KEY opens with another passphrase, too: slot "+args[0], "would add slot "+args[0]+" to KEY; nothing was written", map[string]any{"slot": args[0]})
		},
	}
	f.addNew(c)
	return c
}

func keySlotRemoveCommand() *cobra.Command {
	var f keyFlagsMore
	c := &cobra.Command{
		Use:   "remove NAME",
		Short: "let a passphrase no longer open a key file",
		Long: `remove removes a slot from the key file. Copies from before still open with its
passphrase, and the key is the same in all of them. Who had the slot and kept such a copy
can open this file's later states with it, too: then make a new key, and build again.
The last slot cannot be removed.`,
		Example: `  $ cpar key slot remove office
  …/cpar/key no longer opens with the passphrase of slot office; copies from before do`,
		Args: oneArg("the name of a slot"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.change(func(path string, d *device.Device) error {
				_, err := user.RemoveSlot(path, f.unlock(d, path), args[0])
				return err
			}, "KEY no longer opens with the passphrase of slot "+args[0]+"; copies from before do",
				"would remove slot "+args[0]+" from KEY; nothing was written", map[string]any{"slot": args[0]})
		},
	}
	f.addWriter(c)
	return c
}

func keyRememberCommand() *cobra.Command {
	var f keyFlagsMore
	c := &cobra.Command{
		Use:   "remember",
		Short: "have the system's keyring open a key file",
		Long: `remember asks for the passphrase once and puts what it opens, not the passphrase, into
the keyring of your system: Secret Service, Keychain or Credential Manager. From then on
no command on this machine asks for the passphrase of this file, as long as you are
logged in. Programs that run as you can then use the key, too (SECURITY.md).

Where the system has no keyring, nothing is remembered: there is no file instead. A file
with one passphrase becomes one with slots (cpar key slot add --help).`,
		Example: `  $ cpar key remember
  passphrase of …/cpar/key: ‹typed once›
  …/cpar/key is remembered by the system's keyring`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.change(func(path string, d *device.Device) error {
				return d.Remember(f.context(), ring, path, f.unlock(d, path))
			}, "KEY is remembered by the system's keyring", "would have the system's keyring remember KEY; nothing was written", map[string]any{"remembered": !f.dryRun})
		},
	}
	f.addWriter(c)
	return c
}

func keyForgetCommand() *cobra.Command {
	var f keyFlagsMore
	c := &cobra.Command{
		Use:   "forget",
		Short: "take a key file out of the system's keyring",
		Long: `forget removes what cpar key remember has put into the keyring. From then on the
passphrase is asked for.`,
		Example: `  $ cpar key forget
  …/cpar/key is not remembered`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.change(func(path string, d *device.Device) error {
				_, err := d.Forget(f.context(), ring, path)
				return err
			}, "KEY is not remembered", "would have the system's keyring forget KEY; nothing was done", nil)
		},
	}
	f.addWriter(c)
	return c
}

func keyPhraseCommand() *cobra.Command {
	var f keyFlagsMore
	var yes bool
	c := &cobra.Command{
		Use:   "phrase",
		Short: "print the key as 24 words, for paper",
		Long: `phrase prints the key as 24 English words (BIP-39). They are the key itself, under no
passphrase: whoever reads them can read every index made with it. Write them on paper,
keep that like money, and close the window. cpar init --from-phrase makes a key file of
them. What the key allows besides sealed and local is not in them.

It prints to a terminal only, unless --yes says that you know where the output goes.`,
		Example: `  $ cpar key phrase
  legal winner thank year …`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !yes && !term.IsTerminal(int(os.Stdout.Fd())) {
				return hint.Add(fmt.Errorf("printing the phrase: %w: the output is no terminal", cpar.ErrInput),
					"whoever reads the words has the key; pass --yes if the output goes where it should")
			}
			key, _, err := f.read()
			if err != nil {
				return err
			}
			phrase, err := key.Phrase()
			if err != nil {
				return err
			}
			return output(cmd, f.asJSON, map[string]any{"phrase": strings.Fields(phrase), "fingerprint": key.Fingerprint()}, func() {
				words := strings.Fields(phrase)
				for i := 0; i < len(words); i += 6 { // easiest to copy
					fmt.Fprintln(cmd.OutOrStdout(), strings.Join(words[i:min(i+6, len(words))], " "))
				}
				fmt.Fprintln(cmd.ErrOrStderr(), "note: whoever reads these words has the key; keep them on paper, and close this window")
			})
		},
	}
	f.add(c)
	c.Flags().BoolVar(&yes, "yes", false, "print also where the output is no terminal")
	return c
}
