package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"cpar/internal/exitcode"
)

var update = flag.Bool("update", false, "write the tables of docs/COMMANDS.md")

const commandsPage = "../../docs/COMMANDS.md"

func commandsDoc() string {
	var b strings.Builder
	b.WriteString(`# Commands, settings, exit codes

Generated from the code (` + "`go test ./cmd/cpar -run TestCommandsPage -update`" + `). Each command explains itself
with an example: ` + "`cpar COMMAND --help`" + `, and ` + "`--help --all`" + ` shows every flag. Manual pages: ` + "`cpar man FOLDER`" + `. Completions: ` + "`cpar completion --help`" + `.

## Commands

| command | what it does |
|---|---|
`)
	root := newRoot()
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() && c.Name() != "help" && c.Name() != "completion" {
			fmt.Fprintf(&b, "| `%s` | %s |\n", c.CommandPath(), c.Short)
			for _, s := range c.Commands() {
				fmt.Fprintf(&b, "| `%s` | %s |\n", s.CommandPath(), s.Short)
				for _, x := range s.Commands() {
					fmt.Fprintf(&b, "| `%s` | %s |\n", x.CommandPath(), x.Short)
				}
			}
		}
	}
	b.WriteString(`
## Settings

A flag overrides the environment, which overrides the configuration file. The file is ` + "`cpar/config.toml`" + ` in the
configuration folder (on Linux ` + "`~/.config`" + `), or the one named by ` + "`" + table.Environment("config") + "`" + `. An unknown name in the file is an error. Paths in the file may begin with
` + "`~/`" + ` and are relative to its folder. ` + "`cpar config`" + ` shows the effective settings and their origins.

| flag, and name in the file | environment | what | default |
|---|---|---|---|
`)
	for _, s := range table.Settings {
		what := s.What
		if len(s.Except) > 0 {
			what += "; not of `" + strings.Join(s.Except, "`, `") + "`"
		}
		fmt.Fprintf(&b, "| `--%s` | `%s` | %s | %s |\n", s.Name, table.Environment(s.Name), what, s.None)
	}
	b.WriteString(`
The token of a cloud comes from the flag's file, ` + "`$CPAR_TOKEN`, `$CPAR_TOKEN_FILE`" + ` or the configuration file, in this order, and is never an
argument. If the environment or the file names a cloud beside the token, cpar sends the token to this cloud only. Sending a token to another machine
needs ` + "`https://`" + `. In ` + "`vision-serve`" + `, whose own key is in ` + "`--token-file`" + `, the flag is ` + "`--cloud-token-file`" + `.
`)
	b.WriteString(`
## Exit codes

| code | name | what |
|---|---|---|
`)
	for _, c := range exitcode.All() {
		fmt.Fprintf(&b, "| %d | %s | %s |\n", c.Code, c.Name, c.Says)
	}
	b.WriteString(`
` + "`cpar annotate`" + ` exits with 3 if a photo cannot be used, although the others are done, because that photo has no keywords.
` + "`cpar build` and `cpar add`" + ` leave unusable photos out, count them, and exit with 0, because the index is complete without them. With
` + "`--strict`" + ` they stop with 3 at the first. ` + "`--json`" + ` lists these photos.
`)
	return b.String()
}

func TestDocumentedCommandsExist(t *testing.T) {
	typed := regexp.MustCompile(`(?m)^    cpar (.+?)(?: {2,}.*| #.*)?$`)
	quoted := regexp.MustCompile(`'[^']*'`)
	for _, page := range []string{"../../README.md", "../../docs/ENCODERS.md", "../../docs/album.md"} {
		b, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		found := typed.FindAllSubmatch(b, -1)
		if len(found) < 3 {
			t.Errorf("%s: only %d commands", page, len(found))
		}
		for _, m := range found {
			line := quoted.ReplaceAllString(string(m[1]), "WORDS")
			root := newRoot()
			c, rest, err := root.Find(strings.Fields(line))
			if err == nil {
				err = c.ParseFlags(rest)
			}
			if err == nil {
				err = c.ValidateArgs(c.Flags().Args())
			}
			if err != nil || c == root {
				t.Errorf("%s: cpar %s: %v", page, line, err)
			}
		}
	}
}

// The story album.txt types every command of docs/album.md.
func TestAlbumPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/album.md")
	if err != nil {
		t.Fatal(err)
	}
	story, err := os.ReadFile("testdata/album.txt")
	if err != nil {
		t.Fatal(err)
	}
	typed := regexp.MustCompile(`(?m)^    (cpar .+)$`).FindAllSubmatch(page, -1)
	if len(typed) < 10 {
		t.Errorf("docs/album.md has %d commands", len(typed))
	}
	for _, m := range typed {
		if !strings.Contains(string(story), "\nexits 0 "+string(m[1])+"\n") {
			t.Errorf("the story does not type %q", m[1])
		}
	}
}

func TestCommandsPage(t *testing.T) {
	want := commandsDoc()
	if *update {
		if err := os.WriteFile(commandsPage, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(commandsPage)
	if err != nil || string(got) != want {
		t.Errorf("docs/COMMANDS.md differs from the code (%v); regenerate it with: go test ./cmd/cpar -run TestCommandsPage -update", err)
	}
}
