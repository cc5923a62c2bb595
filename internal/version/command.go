package version

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"cpar/internal/exitcode"
)

// Add adds the command version and the flag --version, and returns the command.
func Add(root *cobra.Command) *cobra.Command {
	info := Of(root.Name())
	addFlag(root, info)
	var asJSON bool
	c := &cobra.Command{
		Use:   "version",
		Short: "print the version",
		Long: `version prints which build this is: its version, its revision and the date of
that, the version of the format of indexes and messages, and the Go version that it was
built with.`,
		Example: "  $ " + root.Name() + " version",
		Args:    func(c *cobra.Command, args []string) error { return exitcode.UsageError(cobra.NoArgs(c, args)) },
		RunE: func(c *cobra.Command, _ []string) error {
			if !asJSON {
				_, err := fmt.Fprintln(c.OutOrStdout(), info)
				return err
			}
			e := json.NewEncoder(c.OutOrStdout())
			e.SetIndent("", "  ")
			return e.Encode(info)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON instead of text")
	root.AddCommand(c)
	return c
}

// addFlag adds the flag --version. cobra's own flag would need a template for
// this output (see usage in cmd/cpar).
func addFlag(root *cobra.Command, info Info) {
	shorthand := "v"
	if root.PersistentFlags().ShorthandLookup(shorthand) != nil {
		shorthand = ""
	}
	root.Flags().BoolFuncP("version", shorthand, "version for "+root.Name(), func(string) error {
		return root.Flags().Set("help", "true") // then cobra calls only the help function
	})
	root.Flags().Lookup("version").DefValue = "false" // for the manual page
	help := root.HelpFunc()
	root.SetHelpFunc(func(c *cobra.Command, args []string) {
		if root.Flags().Changed("version") {
			fmt.Fprintln(c.OutOrStdout(), info)
			return
		}
		help(c, args)
	})
}
