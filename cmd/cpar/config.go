package main

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"cpar/internal/exitcode"
	"cpar/internal/untrusted"
)

// applied is a setting as cpar config prints it.
type applied struct {
	Name        string   `json:"name"`
	Environment string   `json:"environment"`
	Value       []string `json:"value"` // none where the default applies
	From        string   `json:"from"`  // environment, file or default
}

func configCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "config",
		Short: "show which settings apply, and from where",
		Long: `config shows what commands take for flags that are not given. In this order: the flag, the
environment, the configuration file, the default. The file is config.toml in the folder
cpar of your configuration folder, or what CPAR_CONFIG names; a setting that it
misspells is an error. Paths in it may begin with ~/, and count from its own folder.

` + settingsText(),
		Example: `  $ cat ~/.config/cpar/config.toml
  cloud = "http://127.0.0.1:8080"
  model = "~/models/mobilenet.onnx"
  $ cpar config
  cloud  http://127.0.0.1:8080  (file)`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			path, err := configFile()
			if err != nil {
				return err
			}
			found, err := sources()
			if err != nil {
				return err
			}
			var all []applied
			for _, s := range settings {
				a := applied{Name: s.flag, Environment: s.environment(), Value: []string{}, From: "default"}
				if v, ok := found[s.flag]; ok {
					a.Value, a.From = v.values, "file"
					if strings.HasPrefix(v.from, "$") {
						a.From = "environment"
					}
				}
				all = append(all, a)
			}
			return output(cmd, asJSON, map[string]any{"file": path, "settings": all}, func() {
				w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
				for i, a := range all {
					value := settings[i].none
					if len(a.Value) > 0 {
						value = untrusted.Text(strings.Join(a.Value, ", "))
					}
					fmt.Fprintf(w, "%s\t%s\t(%s)\n", a.Name, value, a.From)
				}
				w.Flush()
				fmt.Fprintf(cmd.OutOrStdout(), "\nthe file is %s\n", path)
			})
		},
	}
	jsonFlag(c, &asJSON)
	return c
}

// settingsText is the table of settings for a terminal.
func settingsText() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, s := range settings {
		fmt.Fprintf(w, "  %s\t%s\t%s\n", s.flag, s.environment(), s.what)
	}
	w.Flush()
	return strings.TrimSuffix(b.String(), "\n")
}

// exitCodesText is the table of exit codes for a terminal.
func exitCodesText() string {
	var b strings.Builder
	for _, c := range exitcode.All() {
		fmt.Fprintf(&b, "  %3d  %s: %s\n", c.Code, c.Name, c.Says)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// topics are pages of help that are no commands.
func topics() []*cobra.Command {
	return []*cobra.Command{{
		Use:   "exitcodes",
		Short: "what the exit codes mean",
		Long:  "Every command of cpar, cpard and cpar-eval ends with one of these:\n\n" + exitCodesText(),
	}}
}
