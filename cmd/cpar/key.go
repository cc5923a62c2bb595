package main

import (
	"fmt"
	"maps"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"cpar"
	"cpar/internal/hint"
	"cpar/user"
	"cpar/user/device"
)

func keyCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:   "key",
		Short: "manage a key",
		Long: `key manages a key file: its allowed schemes, the passphrases that open it, a recovery
phrase for paper, and the system's keyring.`,
		Example: `  $ cpar key passphrase                     (change it)
  $ cpar key slot add office                (a second passphrase)
  $ cpar key remember                       (no typing while you are logged in)
  $ cpar key phrase                         (24 words, to be kept on paper)`,
	}, keyAllowCommand(), keyPassphraseCommand(), keySlotsCommand(),
		group(&cobra.Command{Use: "slot", Short: "add or remove a passphrase of a key file"}, keySlotAddCommand(), keySlotRemoveCommand()),
		keyRememberCommand(), keyForgetCommand(), keyPhraseCommand())
}

func keyAllowCommand() *cobra.Command {
	var keys keyFlags
	var dryRun, asJSON bool
	c := &cobra.Command{
		Use:   "allow SCHEME…|none",
		Short: "set the schemes that a key allows besides sealed and local",
		Long: `allow atomically replaces the key file by one with the same key and passphrase that allows
these schemes besides sealed and local. none allows no others. Copies of the file stay as
they are.

Schemes cpar, ivf and capia show the cloud how near your photos are to each request
(SECURITY.md). Unless you allow them, the key cannot build or search their indexes,
whatever a cloud offers. This device remembers the allowed schemes, so an older copy of
the file cannot extend them.`,
		Example: `  $ cpar key allow cpar capia --key family.key
  family.key allows cpar, capia, sealed, local
  $ cpar key allow none --key family.key`,
		Args: someArgs("a scheme, or none"),
		RunE: func(cmd *cobra.Command, args []string) error {
			policy := user.DefaultPolicy()
			for _, arg := range args {
				if arg == "none" {
					continue
				}
				more, err := user.ParsePolicy(arg)
				if err != nil {
					return err
				}
				policy = policy.With(more.Schemes()...)
			}
			path, err := keys.file()
			if err != nil {
				return err
			}
			d, err := device.This()
			if err != nil {
				return err
			}
			if !dryRun {
				if _, err := d.SetPolicy(path, keys.unlock(d, path), policy); err != nil {
					return err
				}
			}
			return output(cmd, asJSON, map[string]any{"key": path, "allows": policy, "dry_run": dryRun}, func() {
				fmt.Fprintf(cmd.OutOrStdout(), "%s %s %v\n", path, either(dryRun, "would allow", "allows"), policy)
			})
		},
	}
	keys.add(c)
	return writerFlags(c, &dryRun, &asJSON)
}

// keyFlagsMore are the flags that the subcommands of cpar key share.
type keyFlagsMore struct {
	keyFlags
	newFile              string
	weak, dryRun, asJSON bool
}

func (f *keyFlagsMore) add(c *cobra.Command) *cobra.Command {
	f.keyFlags.add(c)
	return jsonFlag(c, &f.asJSON)
}

// addWriter adds the flags of a command that changes the key file.
func (f *keyFlagsMore) addWriter(c *cobra.Command) *cobra.Command {
	dryRunFlag(c, &f.dryRun)
	return f.add(c)
}

// addNew adds the flags of a command that asks for a new passphrase.
func (f *keyFlagsMore) addNew(c *cobra.Command) *cobra.Command {
	c.Flags().StringVar(&f.newFile, "new-passphrase-file", "", "read the new passphrase from this `file` instead of the terminal")
	c.Flags().BoolVar(&f.weak, "weak-passphrase", false, "accept a passphrase that is easy to guess")
	return f.addWriter(c)
}

func (f *keyFlagsMore) asked() (string, error) { return f.newPassphrase(f.newFile, f.weak) }

// change calls function `work` to change a key file and prints `done`. In a dry
// run, it only prints `would`.
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
	maps.Copy(result, more)
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
	return f.addNew(&cobra.Command{
		Use:   "passphrase",
		Short: "change the passphrase of a key file",
		Long: `passphrase atomically replaces the key file by one with the same key under another
passphrase. In a file with slots it changes the slot whose passphrase you type. A file
that was not encrypted becomes encrypted.

Copies of the file keep the old passphrase: anyone with a copy and that passphrase has the
key. If the key may be known to others, make a new one and build again.`,
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
	})
}

func keySlotsCommand() *cobra.Command {
	var f keyFlagsMore
	return f.add(&cobra.Command{
		Use:   "slots",
		Short: "list the slots of a key file",
		Long: `slots lists the names of the passphrases that open a key file. The names are not
encrypted, so no passphrase is needed.`,
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
	})
}

func keySlotAddCommand() *cobra.Command {
	var f keyFlagsMore
	return f.addNew(&cobra.Command{
		Use:   "add NAME",
		Short: "add a passphrase to a key file",
		Long: `add adds a slot: the key file then opens with any of its passphrases, and each of them
allows everything that the key allows, including changes to it. Slot names are not
encrypted. Every passphrase tried costs about a second, and --slot selects one. There are
at most eight slots.

The first added slot turns a file with one passphrase into a file with two slots, the
first of them called "first". Earlier versions of cpar cannot read such a file.`,
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
	})
}

func keySlotRemoveCommand() *cobra.Command {
	var f keyFlagsMore
	return f.addWriter(&cobra.Command{
		Use:   "remove NAME",
		Short: "remove a passphrase from a key file",
		Long: `remove removes a slot from the key file. Older copies still open with its passphrase, and
all copies hold the same key. A person who had the slot and kept such a copy can also open
later versions of this file. If that matters, make a new key and build again. The last
slot cannot be removed.`,
		Example: `  $ cpar key slot remove office
  …/cpar/key no longer opens with the passphrase of slot office; earlier copies still do`,
		Args: oneArg("the name of a slot"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.change(func(path string, d *device.Device) error {
				_, err := user.RemoveSlot(path, f.unlock(d, path), args[0])
				return err
			}, "KEY no longer opens with the passphrase of slot "+args[0]+"; earlier copies still do",
				"would remove slot "+args[0]+" from KEY; nothing was written", map[string]any{"slot": args[0]})
		},
	})
}

func keyRememberCommand() *cobra.Command {
	var f keyFlagsMore
	return f.addWriter(&cobra.Command{
		Use:   "remember",
		Short: "open a key file with the system's keyring",
		Long: `remember asks for the passphrase once and stores a secret that opens the key file, not the
passphrase, in the keyring of your system: Secret Service, Keychain or Credential Manager.
While you are logged in, no command on this machine asks for the passphrase of this file
again. Programs that run as you can then use the key, too (SECURITY.md).

Without a keyring nothing is remembered, not even in a file. A file with one passphrase
becomes one with slots (cpar key slot add --help).`,
		Example: `  $ cpar key remember
  passphrase of …/cpar/key: ‹typed once›
  …/cpar/key is remembered by the system's keyring`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.change(func(path string, d *device.Device) error {
				return d.Remember(f.context(), ring, path, f.unlock(d, path))
			}, "KEY is remembered by the system's keyring", "would have the system's keyring remember KEY; nothing was written", map[string]any{"remembered": !f.dryRun})
		},
	})
}

func keyForgetCommand() *cobra.Command {
	var f keyFlagsMore
	return f.addWriter(&cobra.Command{
		Use:   "forget",
		Short: "remove a key file from the system's keyring",
		Long: `forget removes the secret of cpar key remember from the keyring. Commands then ask for the
passphrase.`,
		Example: `  $ cpar key forget
  …/cpar/key is not remembered`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.change(func(path string, d *device.Device) error {
				_, err := d.Forget(f.context(), ring, path)
				return err
			}, "KEY is not remembered", "would have the system's keyring forget KEY; nothing was done", nil)
		},
	})
}

func keyPhraseCommand() *cobra.Command {
	var f keyFlagsMore
	var yes bool
	c := &cobra.Command{
		Use:   "phrase",
		Short: "print the key as 24 words, for paper",
		Long: `phrase prints the key as 24 English words (BIP-39). The words are the key itself, without
a passphrase: anyone who reads them can read every index made with it. Write them on
paper, keep it like money, and close the window. cpar init --from-phrase restores the key
file. The words do not include the allowed schemes.

It prints only to a terminal unless --yes confirms that the output is safe.`,
		Example: `  $ cpar key phrase
  legal winner thank year …`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !yes && !term.IsTerminal(int(os.Stdout.Fd())) {
				return hint.Add(fmt.Errorf("printing the phrase: %w: the output is not a terminal", cpar.ErrInput),
					"anyone who reads the words has the key; pass --yes if only you can read the output")
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
				for i := 0; i < len(words); i += 6 { // in rows of six, which are easy to copy
					fmt.Fprintln(cmd.OutOrStdout(), strings.Join(words[i:min(i+6, len(words))], " "))
				}
				fmt.Fprintln(cmd.ErrOrStderr(), "note: anyone who reads these words has your key; keep them on paper, and close this window. cpar init --from-phrase restores the key from them")
			})
		},
	}
	f.add(c)
	c.Flags().BoolVar(&yes, "yes", false, "print even if the output is not a terminal")
	return c
}
