package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func TestHelpShowsEverydayFlags(t *testing.T) {
	var each func(c *cobra.Command)
	each = func(c *cobra.Command) {
		short := flagUsages(c)
		if n := strings.Count(short, "\n  "); n > maxEveryday {
			t.Errorf("%s --help shows %d flags", c.CommandPath(), n)
		}
		// Without a terminal, every command that opens the key needs this flag.
		if f := c.Flags().Lookup("passphrase-file"); f != nil && !strings.Contains(short, "--passphrase-file ") {
			t.Errorf("%s --help does not show --passphrase-file", c.CommandPath())
		}
		all := c.Flags().Lookup(allFlag)
		if all == nil {
			t.Fatalf("%s has no --all", c.CommandPath())
		}
		all.Value.Set("true")
		whole := flagUsages(c)
		all.Value.Set("false")
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && !strings.Contains(whole, "--"+f.Name+" ") {
				t.Errorf("%s --help --all does not show --%s", c.CommandPath(), f.Name)
			}
		})
		for _, s := range c.Commands() {
			each(s)
		}
	}
	root := newRoot()
	root.InitDefaultHelpCmd()
	each(root)
}

func TestFlagGroupsNameExistingFlags(t *testing.T) {
	known := map[string]bool{}
	var each func(c *cobra.Command)
	each = func(c *cobra.Command) {
		c.Flags().VisitAll(func(f *pflag.Flag) { known[f.Name] = true })
		for _, s := range c.Commands() {
			each(s)
		}
	}
	each(newRoot())
	for _, g := range flagGroups {
		for _, name := range g.flags {
			if !known[name] {
				t.Errorf("group %s: there is no flag --%s", g.title, name)
			}
		}
	}
}
