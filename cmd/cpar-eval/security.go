package main

import (
	"github.com/spf13/cobra"

	"cpar/eval/attack"
)

func securityCommand() *cobra.Command {
	return resultCommand(&cobra.Command{
		Use:   "security",
		Short: "compute security, failure rates and bytes of scheme sealed",
		Long: `security only computes: it measures nothing, needs no collection and prints the same everywhere.

Bits of security are estimates: of the primal attack (unique SVP) and the dual attack on ring-LWE,
priced by core-SVP and by the models of the Homomorphic Encryption Standard of 2018. They make the
usual assumptions of the literature, and leave out attacks on sparse secrets, because these secrets are
dense. Failure rates are upper bounds for all vectors within the norms.`,
		Example: `  $ cpar-eval security
  $ cpar-eval security --json`,
	}, func(*cobra.Command, bool) (*attack.Security, error) { return attack.ComputeSecurity() })
}
