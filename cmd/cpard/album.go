package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"cpar"
	"cpar/cloud/album"
	"cpar/cloud/store"
	"cpar/cloud/tenant"
	"cpar/internal/exitcode"
	"cpar/internal/hint"
)

func newAlbum() *cobra.Command {
	c := &cobra.Command{
		Use:   "album",
		Short: "list albums, and recover deleted blobs",
		Long: `album works on the albums in a data folder or object storage, which may be served meanwhile.
The blobs of an album are encrypted, so only their names, sizes and times can be shown.`,
		Args: knownCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newAlbumList(), newAlbumUndelete(), newAlbumRebuild())
	return c
}

// albumFlags are the flags that all commands under album have.
type albumFlags struct {
	o             options
	tenant, album string
	asJSON        bool
}

func (f *albumFlags) add(c *cobra.Command) *cobra.Command {
	addFlags(c, &f.o, "data", "store", "store-credentials")
	c.Flags().StringVar(&f.tenant, "tenant", "", "name or id of the tenant (default: all that have albums)")
	c.Flags().StringVar(&f.album, "album", "", "only this album")
	return jsonFlag(c, &f.asJSON)
}

// with calls do with a store and the albums that the flags select.
func (f *albumFlags) with(ctx context.Context, do func(*album.Store, []album.Info) error) error {
	return f.o.withBackend(func(b store.Backend) error {
		tenants, err := b.Tenants(ctx)
		if err != nil {
			return err
		}
		id, err := f.id()
		if err != nil {
			return err
		}
		s := album.New(b.Albums(), album.Options{})
		list := []album.Info{}
		for _, tenant := range tenants {
			if f.tenant != "" && tenant != id {
				continue
			}
			some, err := s.Albums(ctx, tenant)
			if err != nil {
				return err
			}
			list = append(list, slices.DeleteFunc(some, func(x album.Info) bool { return f.album != "" && x.Album != f.album })...)
		}
		return do(s, list)
	})
}

// id returns the id of the tenant that flag --tenant gives by id or by name.
func (f *albumFlags) id() (string, error) {
	if f.tenant == "" || tenant.IsID(f.tenant) || f.o.Data == "" {
		return f.tenant, nil
	}
	all, err := tenant.List(f.o.Data)
	for _, t := range all {
		if t.Name == f.tenant {
			return t.ID, nil
		}
	}
	if err == nil {
		err = hint.Add(fmt.Errorf("%w: there is no tenant %q", cpar.ErrInput, f.tenant), "cpard tenant list shows all tenants")
	}
	return "", err
}

func newAlbumList() *cobra.Command {
	var f albumFlags
	return f.add(&cobra.Command{
		Use:     "list --data DIR",
		Short:   "list the albums in a data folder",
		Long:    `list prints the albums with the number and size of their blobs and of the deleted blobs that can be recovered.`,
		Example: "  $ cpard album list --data ~/cpar-cloud\n  TENANT            ALBUM                             BLOBS  BYTES   DELETED  BYTES\n  b1946ac92492d234  9f6067c4caa7a19a9c8939024892e324  212    4.1 GB  3        61 MB",
		Args:    noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			return f.with(c.Context(), func(_ *album.Store, list []album.Info) error {
				if f.asJSON {
					return printAsJSON(c.OutOrStdout(), map[string]any{"albums": list})
				}
				return printAlbums(c.OutOrStdout(), list)
			})
		},
	})
}

func printAlbums(w io.Writer, list []album.Info) error {
	if len(list) == 0 {
		_, err := fmt.Fprintln(w, "no albums")
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "TENANT\tALBUM\tBLOBS\tBYTES\tDELETED\tBYTES")
	for _, x := range list {
		damaged := ""
		if x.Damaged > 0 {
			damaged = fmt.Sprintf("  %d damaged", x.Damaged)
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t%s\t%d\t%s%s\n", x.Tenant, x.Album, x.Blobs, humanize.Bytes(uint64(x.Bytes)), x.Deleted, humanize.Bytes(uint64(x.DeletedBytes)), damaged)
	}
	return t.Flush()
}

func newAlbumUndelete() *cobra.Command {
	var f albumFlags
	var before string
	var dry bool
	c := &cobra.Command{
		Use:   "undelete --before TIME --data DIR",
		Short: "make albums what they were at a time",
		Long: `undelete restores every blob that was deleted or replaced after a time, and sets aside what was
stored after it, so that an album is exactly what it was then. Blobs that are set aside count
as deleted. Nothing is removed for good, and undelete to the printed time reverts the command.
It refuses a time from which blobs have been purged (serve --keep-deleted).`,
		Example: `  $ cpard album undelete --data ~/cpar-cloud --tenant anna --before 2026-03-01T12:00:00Z --dry-run
  would restore 212 blobs, 4.1 GB, and set aside 3, 61 MB, in album 9f6067c4caa7a19a9c8939024892e324`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			to, err := time.Parse(time.RFC3339Nano, before)
			if err != nil {
				return hint.Add(exitcode.UsageError(fmt.Errorf("--before %q is not a time", before)), "write it like 2026-03-01T12:00:00Z")
			}
			return f.with(c.Context(), func(s *album.Store, list []album.Info) error {
				if err := oneTenant(list); err != nil {
					return err
				}
				out := []album.Undeletion{}
				for _, x := range list {
					u, err := s.Undelete(c.Context(), x.Tenant, x.Album, to, dry)
					if err != nil {
						return err
					}
					out = append(out, u)
				}
				if f.asJSON {
					return printAsJSON(c.OutOrStdout(), map[string]any{"albums": out, "dry_run": dry})
				}
				return printUndeleted(c.OutOrStdout(), out, dry)
			})
		},
	}
	c.Flags().StringVar(&before, "before", "", "the `time`, such as 2026-03-01T12:00:00Z")
	c.Flags().BoolVar(&dry, "dry-run", false, "print what would be done, and change nothing")
	return f.add(c)
}

func newAlbumRebuild() *cobra.Command {
	var f albumFlags
	return f.add(&cobra.Command{
		Use:   "rebuild --tenant NAME --data DIR",
		Short: "replace the damaged log of a tenant's albums",
		Long: `rebuild replaces the log of a tenant's albums, which check reports as damaged, by a new one from
the names of the stored blobs. Blobs that were deleted or replaced come back, as far as nothing
newer has their name. If there is a backup, restoring it is better.`,
		Example: "  $ cpard album rebuild --data ~/cpar-cloud --tenant anna\n  214 blobs, 4.2 GB",
		Args:    noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			id, err := f.id()
			if err != nil {
				return err
			}
			return f.o.withBackend(func(b store.Backend) error {
				u, err := album.New(b.Albums(), album.Options{}).Rebuild(c.Context(), id)
				if err == nil && f.asJSON {
					return printAsJSON(c.OutOrStdout(), u)
				}
				if err == nil {
					_, err = fmt.Fprintf(c.OutOrStdout(), "%d blobs, %s\n", u.Blobs, humanize.Bytes(uint64(u.Bytes)))
				}
				return err
			})
		},
	})
}

// oneTenant returns an error unless all albums belong to one tenant, so that a
// command does not change the albums of several tenants by accident.
func oneTenant(list []album.Info) error {
	var tenants []string
	for _, x := range list {
		if !slices.Contains(tenants, x.Tenant) {
			tenants = append(tenants, x.Tenant)
		}
	}
	switch len(tenants) {
	case 0:
		return hint.Add(fmt.Errorf("%w: there is no such album", cpar.ErrInput), "cpard album list shows the albums")
	case 1:
		return nil
	}
	return hint.Add(fmt.Errorf("%w: %d tenants have albums: %s", cpar.ErrInput, len(tenants), strings.Join(tenants, ", ")), "name one: --tenant %s", tenants[0])
}

func printUndeleted(w io.Writer, list []album.Undeletion, dry bool) error {
	does := "restored"
	if dry {
		does = "would restore"
	}
	for _, u := range list {
		back := ""
		if !dry && u.Restored+u.Aside > 0 {
			back = "; to revert: --before " + u.Back.Format(time.RFC3339Nano)
		}
		if _, err := fmt.Fprintf(w, "%s %d blobs, %s, and set aside %d, %s, in album %s%s\n", does, u.Restored, humanize.Bytes(uint64(u.RestoredBytes)),
			u.Aside, humanize.Bytes(uint64(u.AsideBytes)), u.Album, back); err != nil {
			return err
		}
	}
	return nil
}
