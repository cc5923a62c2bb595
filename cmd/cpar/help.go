package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// maxEveryday is the maximum number of flags that --help shows without --all.
const maxEveryday = 15

type flagGroup struct {
	title string
	flags []string
}

// flagGroups lists flags that --help leaves out for commands with more than
// maxEveryday flags. With --help --all, they appear under these headings.
var flagGroups = []flagGroup{
	{"Key", []string{"slot", "new-key"}},
	{"Cloud", []string{"token-file", "cloud-token-file", "cloud-ca", "cloud-cert", "cloud-cert-key"}},
	{"Scheme and search", []string{"scheme", "block", "careful", "clusters", "dim", "lists", "order", "pca", "place", "split", "trees", "search", "neighbours", "approx", "prune", "exact"}},
	{"Ranking", []string{"ranker", "rare", "min-probability"}},
	{"Image network", []string{"preprocessing", "embedding", "pool", "side", "views", "runtime", "text-model", "tokenizer", "limit-file", "limit-memory", "limit-work"}},
	{"Words of the network", []string{"words", "words-file", "words-most", "words-score", "words-write"}},
	{"Files and cache", []string{"again", "sidecar-style", "keep-mtime", "save-requests", "on-errors", "jobs", "cache", "cache-limit"}},
	{"Album", []string{"album", "prefetch"}},
	{"Watched folders", []string{"settle", "every", "poll"}},
}

const allFlag = "all"

// addHelp makes --help show only everyday flags, for every command. With --help
// --all, it shows the other flags too.
func addHelp(root *cobra.Command) {
	root.PersistentFlags().Bool(allFlag, false, "with --help, show all flags")
	_ = root.PersistentFlags().MarkHidden(allFlag)
	root.SetUsageFunc(usage)
}

// usage writes cobra's usage of a command, with the flags of flagUsages. It does
// without a template because text/template calls methods by name, so that the
// linker keeps all exported methods.
func usage(c *cobra.Command) error {
	c.InitDefaultHelpFlag()
	var text strings.Builder
	plain := *c
	plain.SetOut(&text)
	err := new(cobra.Command).UsageFunc()(&plain) // the default
	section := func(title string, flags *pflag.FlagSet) string {
		return "\n\n" + title + ":\n" + strings.TrimSuffix(flags.FlagUsages(), "\n")
	}
	s := strings.Replace(text.String(), section("Global Flags", c.InheritedFlags()), "", 1)
	fmt.Fprint(c.OutOrStderr(), strings.Replace(s, section("Flags", c.LocalFlags()), flagUsages(c), 1))
	return err
}

func checkAll(c *cobra.Command) error {
	if f := c.Flags().Lookup(allFlag); f != nil && f == c.Root().PersistentFlags().Lookup(allFlag) && f.Changed {
		return usageError(c, fmt.Errorf("--all belongs to --help"))
	}
	return nil
}

func flagUsages(c *cobra.Command) string {
	var all []*pflag.Flag
	c.InitDefaultHelpFlag()
	each := func(f *pflag.Flag) {
		if !f.Hidden {
			all = append(all, f)
		}
	}
	c.LocalFlags().VisitAll(each)
	c.InheritedFlags().VisitAll(each)
	if len(all) <= maxEveryday {
		return "\n" + strings.TrimSuffix(usagesOf("Flags", all), "\n")
	}
	of := func(group int) []*pflag.Flag {
		return slices.DeleteFunc(slices.Clone(all), func(f *pflag.Flag) bool { return groupOf(f.Name) != group })
	}
	everyday := of(-1)
	text := "\n" + usagesOf("Flags", everyday)
	if shown, err := c.Flags().GetBool(allFlag); err == nil && shown {
		for i, g := range flagGroups {
			text += usagesOf(g.title, of(i))
		}
		return strings.TrimSuffix(text, "\n")
	}
	rest := len(all) - len(everyday)
	return text + fmt.Sprintf("\n%d more flags, for the network, the search and others: %s --help --all", rest, c.CommandPath())
}

// groupOf returns the index of a flag's group in flagGroups, or -1 for an
// everyday flag.
func groupOf(flag string) int {
	return slices.IndexFunc(flagGroups, func(g flagGroup) bool { return slices.Contains(g.flags, flag) })
}

func usagesOf(title string, flags []*pflag.Flag) string {
	if len(flags) == 0 {
		return ""
	}
	s := pflag.NewFlagSet("", pflag.ContinueOnError)
	for _, f := range flags {
		s.AddFlag(f)
	}
	return "\n" + title + ":\n" + s.FlagUsages()
}
