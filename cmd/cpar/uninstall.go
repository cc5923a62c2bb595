package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"cpar/internal/exitcode"
	"cpar/internal/hint"
	"cpar/internal/sanitize"
	"cpar/user/device"
)

// These are names of places that package device does not list.
const (
	placeSettings, placeKey = "settings", "key"
	// allPlaces stands for every place except the key.
	allPlaces = "all"
)

type uninstallFlags struct {
	keys                keyFlags
	yes, dryRun, asJSON bool
}

// uninstalled is the JSON output of uninstall.
type uninstalled struct {
	Places  []device.Place `json:"places"`
	Removed []string       `json:"removed"`
	DryRun  bool           `json:"dry_run"`
}

func uninstallCommand() *cobra.Command {
	var f uninstallFlags
	c := &cobra.Command{
		Use:   "uninstall [PLACE…]",
		Short: "list what cpar keeps on this device, and remove what you pick",
		Long: `uninstall lists what cpar keeps on this device and where: caches, journals, its memory of
indexes, networks, keyring entries, settings and the key. It removes only the places that
you name, after asking. The word all names every place except the key, which must be named
explicitly. Without the key nobody can read your indexes, not even you, so first write
down its 24 words (cpar key phrase).

It cannot list what lies in folders that you chose: indexes (--out), other key files,
sidecars and copies. They stay, and so do your photos and the keywords in them. To take
those back, run cpar undo first. Indexes at a cloud stay too, unless you run cpar delete.
The program itself is removed as it was installed, for example by apt remove cpar.`,
		Example: `  $ cpar uninstall
  cache      12 MB  /home/anna/.cache/cpar
  $ cpar uninstall cache journals --dry-run
  would remove cache: 214 files, 12 MB`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	c.Flags().StringVar(&f.keys.path, "key", "", "key `file` (default $CPAR_KEY, otherwise cpar/key in your configuration folder)")
	c.Flags().BoolVar(&f.yes, "yes", false, "do not ask")
	return writerFlags(c, &f.dryRun, &f.asJSON)
}

func (f *uninstallFlags) run(cmd *cobra.Command, names []string) error {
	this, err := device.This()
	if err != nil {
		return err
	}
	r := &uninstalled{DryRun: f.dryRun, Removed: []string{}}
	if r.Places, err = f.places(this); err != nil {
		return err
	}
	if len(names) == 0 {
		if f.yes {
			return hint.Add(usageOf("cpar uninstall --yes needs the places to remove"), "for example: cpar uninstall cache --yes; cpar uninstall lists them")
		}
		return output(cmd, f.asJSON, r, func() { r.list(cmd) })
	}
	picked, err := pick(cmd, r.Places, names)
	if err != nil {
		return err
	}
	if !f.yes && !f.dryRun {
		if err := askToRemove(cmd, picked); err != nil {
			return err
		}
	}
	for _, p := range picked {
		if !f.dryRun {
			if err := this.Remove(cmd.Context(), ring, p); err != nil {
				return err
			}
		}
		r.Removed = append(r.Removed, p.Name)
	}
	return output(cmd, f.asJSON, r, func() { f.print(cmd.OutOrStdout(), picked) })
}

// places returns the places where cpar keeps files: first the places of package
// device, then the settings and the key.
func (f *uninstallFlags) places(this *device.Device) ([]device.Place, error) {
	all, err := this.Places()
	if err != nil {
		return nil, err
	}
	settings, _ := table.File("") // empty if there is no configuration folder
	key, err := f.keys.file()
	if err != nil {
		return nil, err
	}
	for _, p := range []device.Place{
		{Name: placeSettings, What: "the configuration file", Paths: []string{settings}},
		{Name: placeKey, What: "the key, without which nobody can read your indexes", Paths: []string{key}},
	} {
		// Never remove a folder that a setting names by mistake.
		if info, err := os.Lstat(p.Paths[0]); err != nil || !info.Mode().IsRegular() {
			p.Paths = []string{}
		}
		if err := p.Measure(); err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

// pick returns the named places that hold files, in the order of `all`.
func pick(cmd *cobra.Command, all []device.Place, names []string) (picked []device.Place, err error) {
	var known []string
	for _, p := range all {
		known = append(known, p.Name)
	}
	for _, name := range names {
		if name != allPlaces && !slices.Contains(known, name) {
			return nil, usageError(cmd, fmt.Errorf("there is no place %q; choose from %s, and all", sanitize.Text(name), strings.Join(known, ", ")))
		}
	}
	for _, p := range all {
		named := slices.Contains(names, p.Name) || p.Name != placeKey && slices.Contains(names, allPlaces)
		if named && p.Files > 0 {
			picked = append(picked, p)
		}
	}
	return picked, nil
}

func askToRemove(cmd *cobra.Command, picked []device.Place) error {
	if !term.IsTerminal(int(os.Stdin.Fd())) {
		return hint.Add(exitcode.UsageError(errors.New("there is no terminal to ask on")), "pass --yes to remove without being asked, or --dry-run to see the effect")
	}
	for _, p := range picked {
		question := fmt.Sprintf("remove %s (%s)", p.Name, p.What)
		if p.Name == placeKey {
			fmt.Fprintf(cmd.ErrOrStderr(), "warning: without the key nobody can read your indexes, not even you. Its 24 words (cpar key phrase) are the only other copy.\n")
		}
		if err := confirm(cmd, question, "removed"); err != nil {
			return err
		}
	}
	return nil
}

func (r *uninstalled) list(cmd *cobra.Command) {
	out := cmd.OutOrStdout()
	for _, p := range r.Places {
		if p.Files == 0 {
			continue
		}
		fmt.Fprintf(out, "%-9s %7s  %s\n", p.Name, size(uint64(p.Bytes)), p.What)
		for _, path := range p.Paths {
			if _, err := os.Lstat(path); err == nil {
				fmt.Fprintf(out, "%-19s%s\n", "", sanitize.Text(path))
			}
		}
	}
	next(cmd, "cpar uninstall PLACE… removes what you pick, such as cpar uninstall cache, and cpar uninstall all everything but the key")
}

func (f *uninstallFlags) print(out io.Writer, picked []device.Place) {
	for _, p := range picked {
		fmt.Fprintf(out, "%s %s: %s, %s\n", either(f.dryRun, "would remove", "removed"), p.Name, counted(p.Files, "file"), size(uint64(p.Bytes)))
	}
	if len(picked) == 0 {
		fmt.Fprintln(out, "none of these exist here")
	}
}
