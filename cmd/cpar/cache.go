package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"cpar"
	"cpar/internal/hint"
	"cpar/model/feature"
	"cpar/user"
	"cpar/user/device"
)

// cacheFlags select where the features of photos are kept between runs.
type cacheFlags struct {
	folder string
	limit  int
}

// noCache is the folder name that turns the cache off.
const noCache = "none"

func (f *cacheFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.folder, "cache", "", "keep features unencrypted in this `folder` instead of encrypted in your cache folder, or none to keep nothing")
	c.Flags().IntVar(&f.limit, "cache-limit", device.DefaultLimit>>30, "maximum size of the encrypted cache in `GB`")
}

func (f *cacheFlags) check() error {
	if f.limit < 1 || f.limit > 1<<20 {
		return hint.Add(fmt.Errorf("%w: --cache-limit %d", cpar.ErrInput, f.limit), "a number of GB; --cache none keeps nothing")
	}
	return nil
}

// addAsking adds the flags to a command that searches an index.
func (f *cacheFlags) addAsking(c *cobra.Command) {
	f.add(c)
	c.Flags().Lookup("cache").Usage += " and fetch the index data each time"
}

// opening sets the options for opening an index. With --cache none, it also
// keeps no copies of segments (files of an index) from the cloud, because their
// sizes and times reveal when this machine searched.
func (f *cacheFlags) opening(d *device.Device, key *user.Key, o *device.OpenOptions) (err error) {
	switch f.folder {
	case noCache:
		d.Cache = ""
	case "":
		// Ignore errors, because searching without a cache is only slower.
		o.Cache, _ = d.Features(key, int64(f.limit)<<30)
	default:
		o.Cache, err = f.open(d, key)
	}
	return err
}

// localStore returns the encrypted store of recomputable data, or nil.
func (f *cacheFlags) localStore(d *device.Device, key *user.Key) (user.Memo, error) {
	if f.folder != "" || key == nil {
		return nil, nil
	}
	v, err := d.LocalStore(key, int64(f.limit)<<30)
	if v == nil { // otherwise the interface would not be nil
		return nil, err
	}
	return v, err
}

func (f *cacheFlags) open(d *device.Device, key *user.Key) (*feature.Cache, error) {
	switch f.folder {
	case noCache:
		return nil, nil
	case "":
		v, err := f.localStore(d, key)
		if v == nil || err != nil {
			return nil, hint.Add(err, "pass --cache none to keep nothing")
		}
		return feature.NewCache(v), nil
	}
	c, err := feature.OpenCache(f.folder)
	return c, hint.Add(err, "pass --cache FOLDER, or --cache none")
}

// cached is the JSON output of cache show and clear.
type cached struct {
	Folder  string        `json:"folder"`
	Kept    []device.Kept `json:"kept"`
	Cleared bool          `json:"cleared"`
	DryRun  bool          `json:"dry_run"`
}

func cacheCommand() *cobra.Command {
	var asJSON, dryRun bool
	show := &cobra.Command{Use: "show", Example: "  $ cpar cache show", Short: "show what is kept, and how much", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runCache(cmd, asJSON, false, false) }}
	clear := &cobra.Command{Use: "clear", Example: "  $ cpar cache clear --dry-run", Short: "remove all cached data", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runCache(cmd, asJSON, true, dryRun) }}
	jsonFlag(show, &asJSON)
	jsonFlag(clear, &asJSON)
	dryRunFlag(clear, &dryRun)
	return group(&cobra.Command{
		Use:   "cache",
		Short: "show or clear data that can be computed or fetched again",
		Long: `cache manages the folder where cpar keeps data that it can compute or fetch again:
features of photos, encrypted under your key, and copies of indexes, encrypted as they
came. It needs no key. Records of clouds and of runs are kept elsewhere and stay.`,
	}, show, clear)
}

func runCache(cmd *cobra.Command, asJSON, clear, dryRun bool) error {
	this, err := device.This()
	if err != nil {
		return err
	}
	r := &cached{Folder: this.Cache, Cleared: clear && !dryRun, DryRun: dryRun}
	if clear {
		r.Kept, err = this.ClearCache(dryRun)
	} else {
		r.Kept, err = this.Kept()
	}
	if err != nil {
		return err
	}
	return output(cmd, asJSON, r, func() { r.print(cmd.OutOrStdout()) })
}

func (r *cached) print(out io.Writer) {
	total := int64(0)
	for _, k := range r.Kept {
		total += k.Bytes
		if k.Files > 0 {
			fmt.Fprintf(out, "%8s  %s\n", size(uint64(k.Bytes)), k.What)
		}
	}
	verb := either(r.DryRun, "would be removed from", "kept in")
	if r.Cleared {
		verb = "removed from"
	}
	fmt.Fprintf(out, "%8s  %s %s\n", size(uint64(total)), verb, r.Folder)
}
