package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"cpar"
	"cpar/cloud/store"
	"cpar/internal/exitcode"
	"cpar/internal/progress/bar"
)

// checked is the JSON output of check for one index or album.
type checked struct {
	Tenant  string       `json:"tenant,omitempty"`
	ID      cpar.IndexID `json:"id,omitzero"`
	Album   string       `json:"album,omitempty"` // instead of id
	Scheme  string       `json:"scheme,omitempty"`
	Bytes   uint64       `json:"bytes"`
	Pending bool         `json:"pending,omitempty"` // has uploads but was never activated
	Damage  string       `json:"damage,omitempty"`
}

func newCheck() *cobra.Command {
	var o options
	var asJSON bool
	c := &cobra.Command{
		Use:   "check --data DIR",
		Short: "read everything in a data folder and report damage",
		Long: `check reads every byte of every index and album in a data folder or a backup, which may be
served meanwhile. It names damaged indexes, which their owners must push again, and damaged
albums, whose blobs a backup may have. It changes nothing. If anything is damaged, the exit
code is 5.`,
		Example: "  $ cpard check --data ~/cpar-cloud\n  9f6067c4caa7a19a9c8939024892e324  well, 68 MB\n  1 index, none damaged",
		Args:    noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			return o.withBackend(func(b store.Backend) error { return check(c, b, asJSON) })
		},
	}
	return jsonFlag(addFlags(c, &o, "data", "store", "store-credentials"), &asJSON)
}

func check(c *cobra.Command, b store.Backend, asJSON bool) error {
	var list []store.Info
	err := store.Check(c.Context(), b, func(f store.Info) { list = append(list, f) }, indexBar(c, "reading indexes"))
	if err != nil {
		return stopped(c, err)
	}
	damaged := 0
	for _, f := range list {
		if f.Err != nil {
			damaged++
		}
	}
	print := printChecked
	if asJSON {
		print = printCheckedJSON
	}
	if err := print(c.OutOrStdout(), list, damaged); err != nil || damaged == 0 {
		return err
	}
	return errDamaged(damaged, list)
}

func errDamaged(damaged int, list []store.Info) error {
	if len(list) == 1 && list[0].Album == "" {
		return fmt.Errorf("%w: the only index; its owner must push it again", cpar.ErrCorrupt)
	}
	if slices.ContainsFunc(list, func(x store.Info) bool { return x.Err != nil && x.Album != "" }) {
		return fmt.Errorf("%w: %d of %s; owners must push indexes again, and blobs come from a backup", cpar.ErrCorrupt, damaged, counted(list))
	}
	return fmt.Errorf("%w: %d of %s; their owners must push them again", cpar.ErrCorrupt, damaged, counted(list))
}

// counted formats the numbers of indexes and albums.
func counted(list []store.Info) string {
	albums := 0
	for _, x := range list {
		if x.Album != "" {
			albums++
		}
	}
	says := indexes(len(list) - albums)
	switch albums {
	case 0:
		return says
	case 1:
		return says + " and 1 album"
	}
	return fmt.Sprintf("%s and %d albums", says, albums)
}

func printCheckedJSON(w io.Writer, list []store.Info, damaged int) error {
	out := struct {
		Indexes []checked `json:"indexes"`
		Damaged int       `json:"damaged"`
	}{[]checked{}, damaged}
	for _, f := range list {
		x := checked{Tenant: f.Tenant, ID: f.ID, Album: f.Album, Bytes: f.Bytes, Pending: f.Pending}
		if f.Records > 0 && f.Album == "" {
			x.Scheme = f.Scheme.String()
		}
		if f.Err != nil {
			x.Damage = f.Err.Error()
		}
		out.Indexes = append(out.Indexes, x)
	}
	return printAsJSON(w, out)
}

func printChecked(w io.Writer, list []store.Info, damaged int) error {
	for _, f := range list {
		says := "well, "
		switch {
		case f.Err != nil:
			says = fmt.Sprintf("damaged: %v; ", f.Err)
		case f.Pending:
			says = "never activated, "
		}
		if _, err := fmt.Fprintf(w, "%s  %s%s\n", named(f), says, humanize.Bytes(f.Bytes)); err != nil {
			return err
		}
	}
	says := "none damaged"
	if damaged > 0 {
		says = fmt.Sprintf("%d damaged", damaged)
	}
	_, err := fmt.Fprintf(w, "%s, %s\n", counted(list), says)
	return err
}

// named returns the id of an index or album, preceded by its tenant.
func named(x store.Info) string {
	name := x.ID.String()
	if x.Album != "" {
		name = "album " + x.Album
	}
	if x.Tenant == "" {
		return name
	}
	return x.Tenant + "/" + name
}

func indexes(n int) string {
	if n == 1 {
		return "1 index"
	}
	return fmt.Sprintf("%d indexes", n)
}

func printAsJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

func indexBar(c *cobra.Command, stage string) func(done, total int) {
	b := bar.On(c.ErrOrStderr())
	return func(done, total int) { b.Report(stage, done, total) }
}

// stopped adds the exit code for an interrupt (^C) to err.
func stopped(c *cobra.Command, err error) error {
	if c.Context().Err() != nil && errors.Is(err, context.Canceled) {
		return fmt.Errorf("%w: %w", exitcode.ErrInterrupted, err)
	}
	return err
}

func newGC() *cobra.Command {
	var o options
	var grace, keep time.Duration
	var dry, asJSON bool
	c := &cobra.Command{
		Use:   "gc --data DIR",
		Short: "remove data that no index and no album needs",
		Long: `gc removes segments that no active index names, uploads that were never activated, and the
remains of interrupted writes and deletions, unless they are younger than --grace. If
--keep-deleted is set, it also removes blobs of albums that were deleted or replaced longer
than this ago. The folder may be served meanwhile. cpard serve does the same once an hour.`,
		Example: "  $ cpard gc --data ~/cpar-cloud --dry-run\n  would remove 12 segments of 2 indexes, 1 of them never activated, and 3 remains of interrupted writes: 4.1 MB",
		Args:    noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if grace < 0 || keep < 0 {
				return exitcode.UsageError(fmt.Errorf("--grace %v, --keep-deleted %v; they must not be negative", grace, keep))
			}
			before := store.Before{Unnamed: time.Now().Add(-grace), Broken: time.Now().Add(-grace)}
			if keep > 0 {
				before.Deleted = time.Now().Add(-keep)
			}
			return o.withBackend(func(b store.Backend) error {
				done, err := store.Collect(c.Context(), b, before, dry, indexBar(c, "looking at indexes"))
				return stopped(c, cmp.Or(err, printCollection(c.OutOrStdout(), done, dry, asJSON)))
			})
		},
	}
	addFlags(c, &o, "data", "store", "store-credentials")
	// The default purges nothing, because the server may keep blobs for longer.
	c.Flags().DurationVar(&keep, "keep-deleted", 0, "remove blobs of albums for good if they were deleted longer ago than this (0: keep all)")
	c.Flags().DurationVar(&grace, "grace", 24*time.Hour, "keep data younger than this, because uploads may be resumed")
	c.Flags().BoolVar(&dry, "dry-run", false, "print what would be removed, and remove nothing")
	return jsonFlag(c, &asJSON)
}

func printCollection(w io.Writer, c store.Collection, dry, asJSON bool) error {
	bytes := c.Bytes + c.Remains.Bytes + c.Albums.Bytes
	if asJSON {
		return printAsJSON(w, map[string]any{"segments": c.Segments, "indexes": c.Indexes, "abandoned": c.Abandoned,
			"remains": c.Remains.Files, "deleted_blobs": c.Albums.Blobs, "blob_uploads": c.Albums.Uploads, "bytes": bytes, "dry_run": dry})
	}
	verb := "removed"
	if dry {
		verb = "would remove"
	}
	if c == (store.Collection{}) {
		_, err := fmt.Fprintln(w, "nothing to remove")
		return err
	}
	blobs := ""
	if c.Albums.Blobs > 0 {
		blobs = fmt.Sprintf(", %d deleted blobs", c.Albums.Blobs)
	}
	_, err := fmt.Fprintf(w, "%s %d segments of %s, %d of them never activated%s, and %d remains of interrupted writes: %s\n",
		verb, c.Segments, indexes(c.Indexes), c.Abandoned, blobs, c.Remains.Files+c.Albums.Uploads, humanize.Bytes(uint64(bytes)))
	return err
}
