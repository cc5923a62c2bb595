package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"cpar/cloud/album"
	"cpar/cloud/store"
	"cpar/cloud/tenant"
	"cpar/internal/exitcode"
	"cpar/internal/hint"
)

type removedTenant struct {
	Tenant  string `json:"tenant"`
	ID      string `json:"id"`
	Label   string `json:"label,omitempty"` // the label of the removed token
	Files   int    `json:"files"`
	Bytes   int64  `json:"bytes"`
	KeptAll bool   `json:"data_kept"`
	DryRun  bool   `json:"dry_run"`
}

func newTenantRemove() *cobra.Command {
	var f tenantFlags
	c := &cobra.Command{
		Use:   "remove NAME",
		Short: "remove a tenant and its data, or one of its tokens",
		Long: `remove revokes all tokens of a tenant within a second and then deletes its data, or keeps it
with --keep-data. It asks before deleting data, and without a terminal needs --yes. With
--label it removes one token and no data.

After the last tenant is removed, every request still needs a token. To serve loopback without
tokens again, remove tenants.json and the folder tenants.`,
		Example: `  $ cpard tenant remove anna --data ~/cpar-cloud
  delete tenant anna and its stored data, 12 files, 1.2 GB? type yes: yes
  removed tenant anna (b1946ac92492d234), with 12 files, 1.2 GB`,
		Args: oneName,
		RunE: func(c *cobra.Command, args []string) error { return f.remove(c, args[0]) },
	}
	c.Flags().StringVar(&f.label, "label", "", "remove this token only")
	c.Flags().BoolVar(&f.keepData, "keep-data", false, "keep the tenant's data")
	c.Flags().BoolVar(&f.yes, "yes", false, "do not ask")
	return f.add(c, true)
}

func (f *tenantFlags) remove(c *cobra.Command, name string) error {
	look := f.editor
	look.DryRun = true
	t, err := look.Remove(c.Context(), name, f.label)
	if err != nil {
		return err
	}
	r := removedTenant{Tenant: name, ID: t.ID, Label: f.label, KeptAll: f.keepData || f.label != "", DryRun: f.editor.DryRun}
	if r.Files, r.Bytes, err = f.stored(c.Context(), t.ID); err != nil {
		return err
	}
	if !f.editor.DryRun {
		if r.Files > 0 && !r.KeptAll && !f.yes {
			if err := ask(c, fmt.Sprintf("delete tenant %s and its stored data, %s", name, r.amount())); err != nil {
				return err
			}
		}
		if _, err := f.editor.Remove(c.Context(), name, f.label); err != nil {
			return err
		}
		if !r.KeptAll {
			if err := f.discard(c.Context(), t.ID); err != nil {
				return hint.Add(err, "its tokens have ended; the remaining data is in %s", f.where(t.ID))
			}
		}
	}
	return f.print(c, r, func(w io.Writer) {
		switch {
		case f.label != "":
			fmt.Fprintf(w, "%sremoved token %s of tenant %s\n", f.dryRunPrefix(), f.label, name)
		case r.Files == 0:
			fmt.Fprintf(w, "%sremoved tenant %s (%s), which had stored nothing\n", f.dryRunPrefix(), name, r.ID)
		case r.KeptAll:
			fmt.Fprintf(w, "%sremoved tenant %s (%s); %s stay in %s\n", f.dryRunPrefix(), name, r.ID, r.amount(), f.where(r.ID))
		default:
			fmt.Fprintf(w, "%sremoved tenant %s (%s), with %s\n", f.dryRunPrefix(), name, r.ID, r.amount())
		}
	})
}

func (r *removedTenant) amount() string {
	files := "files"
	if r.Files == 1 {
		files = "file"
	}
	return fmt.Sprintf("%d %s, %s", r.Files, files, humanize.Bytes(uint64(r.Bytes)))
}

// discard deletes a tenant's data after all servers have stopped accepting its
// tokens.
func (f *tenantFlags) discard(ctx context.Context, id string) error {
	select {
	case <-time.After(tenant.ReloadDelay):
	case <-ctx.Done():
		return ctx.Err()
	}
	if f.o.Objects.Address == "" {
		return tenant.Discard(f.o.Data, id)
	}
	return f.o.withBackend(func(b store.Backend) error { return deleteAll(ctx, b, id) })
}

func (f *tenantFlags) where(id string) string {
	if f.o.Objects.Address != "" {
		return f.o.Objects.Address + ", under " + id
	}
	return filepath.Join(f.o.Data, tenant.Folder, id)
}

// stored counts the files and bytes of a tenant in the data folder or in object
// storage.
func (f *tenantFlags) stored(ctx context.Context, id string) (files int, bytes int64, err error) {
	if f.o.Objects.Address == "" {
		return tenant.DataSize(f.o.Data, id)
	}
	err = f.o.withBackend(func(b store.Backend) error {
		files, bytes, err = countAll(ctx, b, id)
		return err
	})
	return files, bytes, err
}

func countAll(ctx context.Context, b store.Backend, id string) (files int, bytes int64, err error) {
	keys, err := b.Keys(ctx, id)
	for _, k := range keys {
		list, e := b.Segments(ctx, k)
		if err = errors.Join(err, e); err != nil {
			break
		}
		for _, s := range list {
			files, bytes = files+1, bytes+s.Bytes
		}
	}
	for o, e := range b.Albums().List(ctx, id, "") {
		if err = errors.Join(err, e); e == nil {
			files, bytes = files+1, bytes+o.Bytes
		}
	}
	return files, bytes, err
}

// deleteAll deletes a tenant's indexes, its albums and its unfinished uploads.
func deleteAll(ctx context.Context, b store.Backend, id string) error {
	keys, err := b.Keys(ctx, id)
	for _, k := range keys {
		if e := b.Delete(ctx, k); e != nil && !errors.Is(e, store.ErrNotFound) {
			err = errors.Join(err, e)
		}
	}
	return errors.Join(err, album.Discard(ctx, b.Albums(), id))
}

// ask returns nil only if standard input is a terminal and the user answers yes.
func ask(c *cobra.Command, what string) error {
	refused := hint.Add(exitcode.UsageError(fmt.Errorf("%s? not confirmed", what)), "pass --yes to do so without being asked, or --dry-run to see what would be")
	if info, err := os.Stdin.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return refused
	}
	fmt.Fprintf(c.ErrOrStderr(), "%s? type yes: ", what)
	answer := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(c.InOrStdin()).ReadString('\n')
		answer <- strings.TrimSpace(line)
	}()
	select {
	case text := <-answer:
		if text == "yes" {
			return nil
		}
		return refused
	case <-c.Context().Done():
		return fmt.Errorf("%w; nothing was changed", exitcode.ErrInterrupted)
	}
}
