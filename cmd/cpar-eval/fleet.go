package main

import (
	"time"

	"github.com/spf13/cobra"

	"cpar/eval/simulate"
	"cpar/internal/progress/bar"
)

func simulateCommand() *cobra.Command {
	o, seconds := simulate.Default, simulate.Default.Length.Seconds()
	c := resultCommand(&cobra.Command{
		Use:   "fleet",
		Short: "simulate a cluster of hundreds of machines, with failures",
		Long: `fleet only simulates a cluster. Nodes hold shards of indexes in memory, requests arrive
at random, and nodes are killed, lose power, join, leave, stall or slow down. The router's own code decides
on placement, on the node for each request, on hedging and on timeouts. Nodes, network and storage are a
model. The same seed gives the same events.`,
		Example: `  $ cpar-eval fleet
  $ cpar-eval fleet --nodes 30 --per-rack 0 --indexes 2000 --json`,
	}, func(cmd *cobra.Command, _ bool) (*simulate.Result, error) {
		o.Length = time.Duration(seconds * float64(time.Second))
		if err := o.Check(); err != nil {
			return nil, err
		}
		return simulated(cmd, o)
	})
	c.Flags().IntVar(&o.Nodes, "nodes", o.Nodes, "`number` of nodes")
	c.Flags().IntVar(&o.PerRack, "per-rack", o.PerRack, "`nodes` in a rack, which may be lost together; 0 for no racks")
	c.Flags().IntVar(&o.Indexes, "indexes", o.Indexes, "`number` of indexes")
	c.Flags().IntVar(&o.Shards, "shards", o.Shards, "`shards` of an index")
	c.Flags().Float64Var(&o.Busy, "busy", o.Busy, "`share` of their time that nodes are busy without failures")
	c.Flags().Float64Var(&seconds, "seconds", seconds, "simulated `seconds` of each scenario")
	c.Flags().Uint64Var(&o.Seed, "seed", o.Seed, "`number` that seeds the random events")
	return c
}

func simulated(cmd *cobra.Command, o simulate.Options) (*simulate.Result, error) {
	rows, err := simulate.Simulate(cmd.Context(), o, bar.On(cmd.ErrOrStderr()))
	if err != nil {
		return nil, err
	}
	return &simulate.Result{Options: o, Rows: rows}, nil
}
