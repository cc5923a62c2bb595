package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"cpar/internal/exitcode"
)

var update = flag.Bool("update", false, "write docs/CPARD.md")

const page = "../../docs/CPARD.md"

func pageOfCommands() string {
	var b strings.Builder
	b.WriteString("# cpard: commands, settings, exit codes\n\nGenerated from the code (`go test ./cmd/cpard -run TestPage -update`). Each command explains itself with an example:\n" +
		"`cpard COMMAND --help`. Manual pages: `cpard man FOLDER`. Completions: `cpard completion --help`.\n\n## Commands\n\n| command | what it does |\n|---|---|\n")
	for _, c := range newRoot().Commands() {
		if c.IsAvailableCommand() && c.Name() != "help" && c.Name() != "completion" {
			fmt.Fprintf(&b, "| `%s` | %s |\n", c.CommandPath(), c.Short)
			for _, s := range c.Commands() {
				fmt.Fprintf(&b, "| `%s` | %s |\n", s.CommandPath(), s.Short)
			}
		}
	}
	b.WriteString("\n## Settings\n\nA flag overrides the environment, which overrides the configuration file. The file is the one named by `--config` or\n" +
		"`" + table.Environment("config") + "` (`none` for no file). By default it is `cpard/cpard.toml` in the configuration folder (on Linux `~/.config`) if it exists,\n" +
		"and `/etc/cpard/cpard.toml` otherwise. An unknown name in the file is an error. Paths in the file may begin with `~/` and are relative to its folder. Sizes are\n" +
		"written like `512MB` or `4GiB`, durations like `90s` or `24h`. `cpard config` shows the effective settings and their origins.\n\n" +
		"| flag, and name in the file | environment | what | default |\n|---|---|---|---|\n")
	for _, s := range table.Settings {
		fmt.Fprintf(&b, "| `--%s` | `%s` | %s | %s |\n", s.Name, table.Environment(s.Name), s.What, s.None)
	}
	b.WriteString("\n## Exit codes\n\n| code | name | what |\n|---|---|---|\n")
	for _, c := range exitcode.All() {
		fmt.Fprintf(&b, "| %d | %s | %s |\n", c.Code, c.Name, c.Says)
	}
	return b.String()
}

func TestPage(t *testing.T) {
	want := pageOfCommands()
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil || string(got) != want {
		t.Errorf("docs/CPARD.md differs from the code (%v); write it again with: go test ./cmd/cpard -run TestPage -update", err)
	}
}
