package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"cpar/user/device"
)

// cached is the JSON output of cache show and clear.
type cached struct {
	Folder  string        `json:"folder"`
	Kept    []device.Kept `json:"kept"`
	Cleared bool          `json:"cleared"`
	DryRun  bool          `json:"dry_run"`
}

func cacheCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "cache",
		Short: "show or clear data that can be computed or fetched again",
		Long: `cache manages the folder where cpar keeps data that it can compute or fetch again:
features of photos, encrypted under your key, and copies of indexes, encrypted as they
came. It needs no key. Records of clouds and of runs are kept elsewhere and stay.`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	var asJSON, dryRun bool
	show := &cobra.Command{Use: "show", Example: "  $ cpar cache show", Short: "say what is kept, and how much", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runCache(cmd, asJSON, false, false) }}
	clear := &cobra.Command{Use: "clear", Example: "  $ cpar cache clear --dry-run", Short: "remove all of it", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runCache(cmd, asJSON, true, dryRun) }}
	jsonFlag(show, &asJSON)
	jsonFlag(clear, &asJSON)
	dryRunFlag(clear, &dryRun)
	c.AddCommand(show, clear)
	return c
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
