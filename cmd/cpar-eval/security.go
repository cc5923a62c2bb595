package main

import (
	"github.com/spf13/cobra"

	"cpar/eval"
	"cpar/internal/exitcode"
)

func securityCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "security",
		Short: "compute security, failure and bytes of scheme sealed for its ring and for others",
		Long: `security computes, and measures nothing: it needs no collection and prints the same everywhere.

Bits of security are estimates: of the primal attack (unique SVP) and the dual attack on ring-LWE,
priced by core-SVP and by the models of the Homomorphic Encryption Standard of 2018. They assume what
the literature assumes when it compares schemes, and leave out attacks on sparse secrets, which these
are not. Failures are bounds: no score is wrong more often, whatever the vectors within the norms.

What a format finds and how fast it is, is not said here.`,
		Example: `  $ cpar-eval security
  $ cpar-eval security --json`,
		Args: func(c *cobra.Command, args []string) error { return exitcode.UsageError(cobra.NoArgs(c, args)) },
		RunE: func(cmd *cobra.Command, _ []string) error {
			s := eval.ComputeSecurity()
			if asJSON {
				return printJSON(cmd.OutOrStdout(), s)
			}
			return eval.PrintTables(cmd.OutOrStdout(), s.Tables())
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON instead of text")
	return c
}
