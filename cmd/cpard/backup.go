package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"cpar"
	"cpar/cloud/backup"
	"cpar/cloud/store"
	"cpar/cloud/tenant"
	"cpar/internal/exitcode"
)

func newBackup() *cobra.Command {
	var o options
	var opt store.CopyOptions
	var to string
	var asJSON bool
	c := &cobra.Command{
		Use:   "backup --data DIR --to DIR2",
		Short: "back up the indexes of a data folder",
		Long: `backup updates a second folder from a data folder: the active indexes and the albums, each as it
was at one moment, and the registry of tenants. Segments already in the backup are not copied again, so
an interrupted backup continues. With --store the indexes come from the object storage, and
the registry from the data folder. Deleted indexes stay in the backup unless --prune is
given. The data folder may be served meanwhile.

A backup has the layout of a data folder: cpard check --data DIR2 reads all of it. A damaged
index is left out and named, with exit code 5, and the backup keeps its older copy.`,
		Example: "  $ cpard backup --data ~/cpar-cloud --to /mnt/backup\n  backed up 2 indexes: 14 segments, 68 MB; 4.2 MB already there",
		Args:    noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := needData(o.Data); err != nil {
				return err
			}
			if to == "" {
				return exitcode.UsageError(fmt.Errorf("where to? pass --to DIR2"))
			}
			b, err := o.openBackend()
			if err != nil {
				return fmt.Errorf("backing up: %w", err)
			}
			defer b.Close()
			return copied{did: "backed up", would: "back up", CopyOptions: opt, asJSON: asJSON}.run(c, func(opt store.CopyOptions) (store.Copied, error) {
				return backup.Backup(c.Context(), b, o.Data, to, opt)
			})
		},
	}
	addFlags(c, &o, "data", "store", "store-credentials")
	c.Flags().StringVar(&to, "to", "", "`folder` of the backup")
	c.Flags().BoolVar(&opt.Prune, "prune", false, "delete from the backup what the data folder no longer has")
	c.Flags().BoolVar(&opt.DryRun, "dry-run", false, "print what would be copied, and write nothing")
	return jsonFlag(c, &asJSON)
}

func newRestore() *cobra.Command {
	var o options
	var opt store.CopyOptions
	var from string
	var asJSON bool
	c := &cobra.Command{
		Use:   "restore --from DIR2 --data DIR",
		Short: "restore a backup into a data folder or object storage",
		Long: `restore fills a new data folder from a backup and checks every byte. It refuses a folder that
is not empty, unless it equals the backup. An interrupted restore continues when it is run
again, and nothing serves the folder until it is complete.

With --store indexes go into object storage, which may be served, and existing indexes stay
as they are. The registry of tenants goes into --data, if that is given and has none. Any data
folder can serve as the backup, even while it is served, so restore can also move a cloud
into object storage.

Tokens that were removed after the backup are valid again: restore names them.`,
		Example: `  $ cpard restore --from /mnt/backup --data ~/cpar-cloud
  restored 2 indexes: 14 segments, 72 MB; 0 B already there

  $ cpard restore --from ~/cpar-cloud --store s3://photos`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if from == "" {
				return exitcode.UsageError(fmt.Errorf("where from? pass --from DIR2"))
			}
			if o.Objects.Address == "" {
				if err := needData(o.Data); err != nil {
					return err
				}
				return copied{did: "restored", would: "restore", CopyOptions: opt, asJSON: asJSON, tokens: o.Data}.run(c, func(opt store.CopyOptions) (store.Copied, error) {
					return backup.Restore(c.Context(), from, o.Data, opt)
				})
			}
			return o.withBackend(func(b store.Backend) error {
				return copied{did: "restored", would: "restore", CopyOptions: opt, asJSON: asJSON}.withTokens(o.Data).run(c, func(opt store.CopyOptions) (store.Copied, error) {
					return backup.RestoreTo(c.Context(), from, b, o.Data, opt)
				})
			})
		},
	}
	addFlags(c, &o, "data", "store", "store-credentials")
	c.Flags().StringVar(&from, "from", "", "`folder` of the backup")
	c.Flags().BoolVar(&opt.DryRun, "dry-run", false, "print what would be restored, and write nothing")
	return jsonFlag(c, &asJSON)
}

// copied contains the options of a backup or restore.
type copied struct {
	did, would string
	store.CopyOptions
	asJSON bool
	// tokens is the data folder whose registry of tenants is restored, or "".
	tokens string
}

// withTokens sets x.tokens to `data` unless that folder already has a registry.
func (x copied) withTokens(data string) copied {
	if _, err := os.Lstat(filepath.Join(data, tenant.FileName)); data != "" && errors.Is(err, fs.ErrNotExist) {
		x.tokens = data
	}
	return x
}

// warn prints the tokens that the restored registry makes valid again.
func (x copied) warn(w io.Writer) error {
	all, err := tenant.List(x.tokens)
	for _, t := range all {
		for _, k := range t.Tokens {
			fmt.Fprintf(w, "token %s of tenant %s is valid again; if it was removed since the backup: cpard tenant rotate %s --label %s\n", k.Label, t.Name, t.Name, k.Label)
		}
	}
	return err
}

func (x copied) run(c *cobra.Command, f func(store.CopyOptions) (store.Copied, error)) error {
	x.Progress = indexBar(c, "copying indexes")
	done, err := f(x.CopyOptions)
	if err != nil {
		return stopped(c, err)
	}
	if x.tokens != "" && !x.DryRun {
		if err := x.warn(c.ErrOrStderr()); err != nil {
			return err
		}
	}
	if err := x.print(c.OutOrStdout(), done); err != nil || len(done.Damaged) == 0 {
		return err
	}
	return fmt.Errorf("%w: %s could not be copied", cpar.ErrCorrupt, counted(done.Damaged))
}

func (x copied) print(w io.Writer, done store.Copied) error {
	if x.asJSON {
		damaged := []checked{}
		for _, d := range done.Damaged {
			damaged = append(damaged, checked{Tenant: d.Tenant, ID: d.ID, Album: d.Album, Damage: d.Err.Error()})
		}
		return printAsJSON(w, map[string]any{"indexes": done.Indexes, "segments": done.Segments, "blobs": done.Blobs, "bytes": done.Bytes,
			"bytes_kept": done.Kept, "pruned": done.Pruned, "pruned_blobs": done.PrunedBlobs, "damaged": damaged, "dry_run": x.DryRun})
	}
	verb := x.did
	if x.DryRun {
		verb = "would " + x.would
	}
	pruned := ""
	if done.Pruned > 0 {
		pruned = fmt.Sprintf("; %s deleted there", indexes(done.Pruned))
	}
	if done.PrunedBlobs > 0 {
		pruned = fmt.Sprintf("; %s and %d blobs deleted there", indexes(done.Pruned), done.PrunedBlobs)
	}
	for _, d := range done.Damaged {
		if _, err := fmt.Fprintf(w, "%s  damaged: %v\n", named(d), d.Err); err != nil {
			return err
		}
	}
	blobs := ""
	if done.Blobs > 0 {
		blobs = fmt.Sprintf(", %d blobs of albums", done.Blobs)
	}
	_, err := fmt.Fprintf(w, "%s %s: %d segments%s, %s; %s already there%s\n", verb, indexes(done.Indexes), done.Segments, blobs,
		humanize.Bytes(uint64(done.Bytes)), humanize.Bytes(uint64(done.Kept)), pruned)
	return err
}
