package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"cpar"
	"cpar/internal/durable"
	"cpar/internal/hint"
	"cpar/internal/progress/bar"
	"cpar/internal/sanitize"
	"cpar/user/album"
	"cpar/user/album/query"
	"cpar/user/vocabulary"
)

// albumEdit returns a command that changes the photos that a query finds.
func albumEdit(c *cobra.Command, would, did string, trash bool, edit func(*album.Album, context.Context, query.Query) (int, error)) *cobra.Command {
	var f albumFlags
	var dryRun bool
	c.Args = someArgs("a query")
	c.Long += "\n\n" + queries
	c.RunE = func(cmd *cobra.Command, args []string) error {
		a, q, photos, err := f.found(args, true, trash, &vocabulary.Vocabulary{})
		n := len(photos)
		if err == nil && n == 0 {
			err = fmt.Errorf("changing the album: %w: the query finds no photo", cpar.ErrInput)
		}
		if err == nil && !dryRun {
			n, err = edit(a, cmd.Context(), q)
		}
		if err != nil {
			return err
		}
		return output(cmd, f.asJSON, struct {
			Photos int  `json:"photos"`
			DryRun bool `json:"dry_run"`
		}{n, dryRun}, func() {
			fmt.Fprintf(cmd.OutOrStdout(), either(dryRun, would, did)+"\n", photosOf(n))
		})
	}
	f.add(c)
	dryRunFlag(c, &dryRun)
	return c
}

func albumRemove() *cobra.Command {
	return albumEdit(&cobra.Command{
		Use:   "remove QUERY",
		Short: "move photos of the album to its trash",
		Long: `remove moves the photos that a query finds to the trash of the album. cpar album restore
takes them back. Files on your devices stay.`,
		Example: `  $ cpar album remove 'folder:photos/2019 blurred'
  moved 17 photos to the trash`,
	}, "would move %s to the trash", "moved %s to the trash", false, (*album.Album).Remove)
}

func albumRestore() *cobra.Command {
	return albumEdit(&cobra.Command{
		Use:   "restore QUERY",
		Short: "take photos out of the album's trash",
		Long: `restore takes photos out of the trash: removed ones, and older versions of changed ones. Of
several versions of a photo it takes the newest. The version in the album goes to the
trash instead.`,
		Example: `  $ cpar album restore path:photos/2024/IMG_1704.jpg
  restored 1 photo`,
	}, "would restore %s", "restored %s", true, (*album.Album).Restore)
}

func albumTrash() *cobra.Command {
	var f albumFlags
	var empty, yes, dryRun bool
	c := f.add(&cobra.Command{
		Use:   "trash [QUERY]",
		Short: "list the album's trash, or empty it",
		Long: `trash prints the photos in the trash, or those that a query finds there. --empty removes
them for good. cpar album maintain then frees their bytes after a day or two, and the cloud
keeps deleted data for some time.

` + queries,
		Example: `  $ cpar album trash --empty --yes
  removed 17 photos for good`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if empty && !yes && !dryRun && !term.IsTerminal(int(os.Stdin.Fd())) {
				return hint.Add(usageOf("there is no terminal to ask on"), "pass --yes to empty the trash without being asked, or --dry-run to see the effect")
			}
			a, q, photos, err := f.found(args, true, true, &vocabulary.Vocabulary{})
			if err != nil {
				return err
			}
			rows := albumRows(photos)
			if !empty {
				return output(cmd, f.asJSON, rows, func() { printRows(cmd.OutOrStdout(), rows) })
			}
			if !dryRun && len(rows) > 0 {
				if !yes {
					if err := confirm(cmd, "remove "+photosOf(len(rows))+" for good", "removed"); err != nil {
						return err
					}
				}
				if _, err := a.Empty(cmd.Context(), q); err != nil {
					return err
				}
			}
			return output(cmd, f.asJSON, struct {
				Photos int  `json:"photos"`
				DryRun bool `json:"dry_run"`
			}{len(rows), dryRun}, func() {
				fmt.Fprintf(cmd.OutOrStdout(), "%s %s for good\n", either(dryRun, "would remove", "removed"), photosOf(len(rows)))
			})
		},
	})
	c.Flags().BoolVar(&empty, "empty", false, "remove the photos for good")
	c.Flags().BoolVar(&yes, "yes", false, "do not ask")
	dryRunFlag(c, &dryRun)
	return c
}

func albumVerify() *cobra.Command {
	var f albumFlags
	var percent float64
	var force bool
	c := f.add(&cobra.Command{
		Use:   "verify",
		Short: "check that the cloud has the whole album",
		Long: `verify compares the cloud's blobs with the owner's record of them, checks that every photo
can be found in them, and reads a part of the photos (--read-data, in percent). If the
cloud has lost, swapped or cut off anything, the affected photos are named. The exit code
is then 7, as it is if the cloud shows an old state.

If the cloud shows an old or a different state, every command of the album names the photos
that vanish. --force trusts the state that the cloud shows, for example after its operator
has restored a backup, and keeps this device's former copy of the catalogue.`,
		Example: `  $ cpar album verify --read-data 10
  5000 photos are complete: read 21 MB`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if percent < 0 || percent > 100 {
				return usageOf("--read-data is a percentage from 0 to 100")
			}
			a, err := f.copy()
			var out struct {
				album.Verified
				*album.Difference        // set by --force
				Kept              string `json:"kept,omitempty"`
			}
			if force && err == nil {
				var d album.Difference
				if a, d, out.Kept, err = a.Trust(cmd.Context()); out.Kept != "" {
					printDifference(cmd, d)
					fmt.Fprintf(cmd.ErrOrStderr(), "the former catalogue is in %s\n", sanitize.Text(out.Kept))
					out.Difference = &d
				}
			}
			if err != nil {
				return err
			}
			v, err := a.Verify(cmd.Context(), percent, bar.On(cmd.ErrOrStderr()))
			for blob, what := range v.Blobs {
				fmt.Fprintf(cmd.ErrOrStderr(), "blob %s %s\n", sanitize.Text(blob), what)
			}
			printSome(cmd, v.Affected, func(path string) string { return "affected: " + sanitize.Text(path) })
			out.Verified = v
			if err != nil {
				if f.asJSON && len(v.Blobs)+len(v.Affected) > 0 && !errors.As(err, new(*album.Conflict)) { // a conflict has a report of its own
					err = errors.Join(err, writeJSON(cmd.OutOrStdout(), out))
				}
				return err
			}
			return output(cmd, f.asJSON, out, func() {
				fmt.Fprintf(cmd.OutOrStdout(), "%s complete: read %s\n", map[bool]string{true: "1 photo is", false: photosOf(v.Photos) + " are"}[v.Photos == 1], size(uint64(v.Read)))
			})
		},
	})
	c.Flags().Float64Var(&percent, "read-data", 0, "`percent` of the files to read")
	c.Flags().BoolVar(&force, "force", false, "trust the state that the cloud shows")
	return c
}

func albumDu() *cobra.Command {
	var f albumFlags
	return f.add(&cobra.Command{
		Use:   "du",
		Short: "show what the album takes",
		Long: `du fetches the catalogue and shows the photos of the album, those in its trash, and what the
newest state takes at the cloud. Superseded and deleted blobs, which the cloud keeps for
some time, are not counted.`,
		Example: `  $ cpar album du
  5000 photos      212 MB
  17 in the trash  1 MB
  at the cloud     213 MB in 14 blobs, and 512 kB of catalogue`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			a, err := f.open(true)
			if err != nil {
				return err
			}
			u := a.Usage()
			return output(cmd, f.asJSON, u, func() {
				out := cmd.OutOrStdout()
				fmt.Fprintf(out, "%-16s %s\n", photosOf(u.Photos), size(uint64(u.Bytes)))
				fmt.Fprintf(out, "%-16s %s\n", fmt.Sprintf("%d in the trash", u.Trash), size(uint64(u.TrashSize)))
				fmt.Fprintf(out, "%-16s %s in %s, and %s of catalogue\n", "at the cloud", size(uint64(u.Stored)), counted(u.Blobs, "blob"), size(uint64(u.Catalogue)))
			})
		},
	})
}

func albumMaintain() *cobra.Command {
	var f albumFlags
	var takeOver, dryRun bool
	c := f.add(&cobra.Command{
		Use:   "maintain",
		Short: "compact the album and free the bytes of removed photos",
		Long: `maintain compacts the indexes and the catalogue of the album, and frees the bytes of photos
some days after they were removed for good. Run it once a week. One device owns this work:
the first that ran maintain, or the one that last passed --take-over.`,
		Example: `  $ cpar album maintain
  the album is compact: 213 MB in 14 blobs`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			a, err := f.open(true)
			if err == nil && dryRun {
				err = a.MayMaintain(cmd.Context(), takeOver)
			} else if err == nil {
				err = a.Maintain(cmd.Context(), takeOver)
			}
			if err != nil {
				return err
			}
			u := a.Usage()
			return output(cmd, f.asJSON, struct {
				album.Usage
				DryRun bool `json:"dry_run"`
			}{u, dryRun}, func() {
				fmt.Fprintf(cmd.OutOrStdout(), "%s: %s in %s\n", either(dryRun, "would compact the album", "the album is compact"), size(uint64(u.Stored)), counted(u.Blobs, "blob"))
			})
		},
	})
	dryRunFlag(c, &dryRun)
	c.Flags().BoolVar(&takeOver, "take-over", false, "make this device the one that maintains the album")
	return c
}

func albumKopia() *cobra.Command {
	var f albumFlags
	var to, password string
	var dryRun bool
	c := f.add(&cobra.Command{
		Use:   "kopia --to FOLDER",
		Short: "export the album for a stock kopia",
		Long: `kopia copies the encrypted album into a folder, which the program kopia (kopia.io, from
v0.23) opens without cpar and without the cloud. A second run copies what is new. kopia
needs a password, which derives from your key: --password-file writes it into a new file
that only you can read, or prints it on a terminal if the file is -. The password opens the
whole album, so keep it like the key.`,
		Example: `  $ cpar album kopia --to backup/ --password-file pw
  copied 213 MB to backup/
  $ KOPIA_PASSWORD="$(cat pw)" kopia repository connect filesystem --path "$PWD/backup"
  $ kopia snapshot list --all
  $ kopia snapshot restore cpar@album:/photos restored/`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if to == "" {
				return missing(cmd, "--to FOLDER")
			}
			a, err := f.open(true)
			if err == nil && password != "" && !dryRun {
				err = showPassword(cmd, password, a.KopiaPassword())
			}
			if err != nil {
				return err
			}
			copied, err := a.Export(cmd.Context(), to, dryRun, bar.On(cmd.ErrOrStderr()))
			if err != nil {
				return err
			}
			whole, err := filepath.Abs(to) // kopia needs an absolute path
			if err != nil {
				return err
			}
			return output(cmd, f.asJSON, struct {
				Folder string `json:"folder"`
				Bytes  int64  `json:"bytes"`
				DryRun bool   `json:"dry_run"`
			}{to, copied, dryRun}, func() {
				fmt.Fprintf(cmd.OutOrStdout(), "%s %s to %s\n", either(dryRun, "would copy", "copied"), size(uint64(copied)), sanitize.Text(to))
				if dryRun {
					return
				}
				from := "PASSWORD-FILE"
				if password != "" && password != "-" {
					from = shellWord(password)
				}
				next(cmd, `KOPIA_PASSWORD="$(cat %s)" kopia repository connect filesystem --path %s`, from, shellWord(whole))
				next(cmd, "kopia snapshot restore cpar@album:/photos NEW-FOLDER")
			})
		},
	})
	c.Flags().StringVar(&to, "to", "", "`folder` for the export")
	c.Flags().StringVar(&password, "password-file", "", "write kopia's password into this new `file`, or - for the terminal")
	dryRunFlag(c, &dryRun)
	must(c.MarkFlagDirname("to"))
	return c
}

// showPassword writes a password into a new file of mode 0600, or prints it on a
// terminal if file is "-".
func showPassword(cmd *cobra.Command, file, password string) error {
	if file == "-" {
		if !term.IsTerminal(int(os.Stdout.Fd())) {
			return hint.Add(usageOf("the password is printed on a terminal only"), "pass --password-file FILE")
		}
		fmt.Fprintf(cmd.OutOrStdout(), "kopia's password: %s\n", password)
		return nil
	}
	if old, err := os.ReadFile(file); err == nil && string(old) == password {
		return nil
	}
	whole, err := filepath.Abs(file)
	if err == nil {
		err = durable.WriteNew(durable.OS, whole, []byte(password), 0o600)
	}
	if err != nil {
		return fmt.Errorf("writing the password: %w", err)
	}
	return nil
}
