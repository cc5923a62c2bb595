package main

import (
	"slices"
	"testing"

	"github.com/spf13/cobra"
)

// Commands that need no --json, because they serve or print nothing else, and
// commands that need no --dry-run, because they write nothing.
var (
	servers = []string{"cpar vision-serve", "cpar watch", "cpar ui", "cpar demo-cloud"}
	readers = []string{"cpar tune", "cpar annotate", "cpar runs", "cpar search", "cpar config", "cpar doctor", "cpar inspect", "cpar features", "cpar version",
		"cpar key slots", "cpar key phrase", "cpar dataset inspect", "cpar list", "cpar model list", "cpar model check", "cpar immich runs", "cpar cache show", "cpar words show", "cpar words check", "cpar words find",
		"cpar album du", "cpar album list", "cpar album search", "cpar album verify"}
)

func TestCommandsHaveJSONAndDryRun(t *testing.T) {
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			walk(sub)
		}
		if c.HasSubCommands() || c.RunE == nil && c.Run == nil || c.Name() == "help" || slices.Contains(servers, c.CommandPath()) {
			return
		}
		if c.Flags().Lookup("json") == nil {
			t.Errorf("%s has no --json", c.CommandPath())
		}
		if c.Flags().Lookup("dry-run") == nil && !slices.Contains(readers, c.CommandPath()) {
			t.Errorf("%s has no --dry-run", c.CommandPath())
		}
		if c.Example == "" {
			t.Errorf("%s has no example", c.CommandPath())
		}
	}
	walk(newRoot())
}
