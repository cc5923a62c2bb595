package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"cpar"
	"cpar/cmd/internal/encoderflags"
	"cpar/encoder/known"
	"cpar/encoder/prepare"
	"cpar/model/profile"
	"cpar/model/rank"
	"cpar/user"
	"cpar/user/device"
)

// flagValues maps flags of all commands to the values that shell completion
// offers.
var (
	flagValues = map[string]func() []string{
		"scheme": func() []string { return append(schemeNames(), schemeAuto) },
		"allow":  schemeNames,
		"profile": func() []string {
			return append(names(profile.Kinds()...), profileAuto, profileSuited)
		},
		"ranker":        func() []string { return names(rank.KindDefault, rank.KindPaper, rank.KindCalibrated) },
		"search":        searchNames,
		"split":         func() []string { return names(user.SplitPCA, user.SplitOriginal) },
		"place":         func() []string { return names(cpar.PlaceLeaf, cpar.PlaceNode) },
		"order":         func() []string { return names(user.OrderRank, user.OrderOPE) },
		"runtime":       func() []string { return encoderflags.Runtimes },
		"preprocessing": prepare.Presets,
		"pool":          func() []string { return encoderflags.Pools },
		"pca":           func() []string { return []string{"8", "16", "32", "64", "128"} },
		"write":         func() []string { return []string{"sidecar", "embedded", "csv"} },
		"sidecar-style": func() []string { return []string{"append", "adobe", "follow-existing"} },
		"on-errors":     func() []string { return []string{"stop", "continue"} },
		"places":        func() []string { return []string{"none", "10km", "1km", "100m", "exact"} },
		"log-level":     func() []string { return []string{"debug", "info", "warn", "error"} },
	}
	// fileFlags maps flags that name files to the files' extensions. An empty
	// list means any extension.
	fileFlags = map[string][]string{
		"key": nil, "passphrase-file": nil, "new-passphrase-file": nil, "token-file": nil, "cloud-token-file": nil, "cloud-ca": {"pem", "crt"}, "cloud-cert": {"pem", "crt"}, "cloud-cert-key": {"pem", "key"}, "vocabulary": {"toml"},
		"model": {"onnx"}, "tls-cert": {"pem", "crt"}, "tls-key": {"pem", "key"},
	}
	folderFlags = []string{"cache", "data", "keep", "save-requests"}
)

func names[T interface{ String() string }](all ...T) (out []string) {
	for _, x := range all {
		out = append(out, x.String())
	}
	return out
}

func schemeNames() []string { return names(cpar.Schemes()...) }

func searchNames() []string {
	var out []string
	for _, s := range cpar.Schemes() {
		for _, x := range s.Searches() {
			if !slices.Contains(out, x.String()) {
				out = append(out, x.String())
			}
		}
	}
	return out
}

// complete adds shell completion to a command and its subcommands.
func complete(c *cobra.Command) {
	for name, values := range flagValues {
		if c.Flags().Lookup(name) != nil {
			must(c.RegisterFlagCompletionFunc(name, func(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
				return beginning(begun, values()), cobra.ShellCompDirectiveNoFileComp
			}))
		}
	}
	for name, endings := range fileFlags {
		if c.Flags().Lookup(name) != nil {
			must(c.MarkFlagFilename(name, endings...))
		}
	}
	for _, name := range folderFlags {
		if c.Flags().Lookup(name) != nil {
			must(c.MarkFlagDirname(name))
		}
	}
	if c.Flags().Lookup("index") != nil {
		if slices.Contains([]string{"add", "compact", "remove", "rename", "show", "set", "undo", "check", "find"}, c.Name()) { // these commands take an index folder
			must(c.MarkFlagDirname("index"))
		} else {
			must(c.RegisterFlagCompletionFunc("index", indexesSeen))
		}
	}
	switch c.CommandPath() {
	case "cpar key allow":
		c.ValidArgsFunction = func(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
			return beginning(begun, append(schemeNames(), "none")), cobra.ShellCompDirectiveNoFileComp
		}
	case "cpar model get":
		c.ValidArgsFunction = func(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
			all := setNames()
			for _, m := range known.List() {
				all = append(all, m.Name)
			}
			return beginning(begun, all), cobra.ShellCompDirectiveNoFileComp
		}
	case "cpar model check":
		c.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{"onnx"}, cobra.ShellCompDirectiveFilterFileExt
		}
	case "cpar key slot remove":
		c.ValidArgsFunction = slotsOfKey
	}
	if c.Flags().Lookup("slot") != nil {
		must(c.RegisterFlagCompletionFunc("slot", slotsOfKey))
	}
	for _, sub := range c.Commands() {
		complete(sub)
	}
}

func must(err error) {
	if err != nil {
		panic("cpar: " + err.Error()) // the flag was just looked up
	}
}

// indexesSeen returns the indexes that this device has seen. It does not select
// by key, because completion cannot ask for a passphrase.
func indexesSeen(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
	d, err := device.This()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return beginning(begun, d.SeenIndexes()), cobra.ShellCompDirectiveNoFileComp
}

func slotsOfKey(c *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
	var keys keyFlags
	if err := applySettings(c); err == nil {
		keys.path = c.Flags().Lookup("key").Value.String()
	}
	path, err := keys.file()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	slots, _ := user.Slots(path) // empty if the file is unreadable
	return beginning(begun, slots), cobra.ShellCompDirectiveNoFileComp
}

func beginning(begun string, all []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(s string) bool { return !strings.HasPrefix(s, begun) })
}
