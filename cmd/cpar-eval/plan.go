package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"cpar"
	"cpar/eval/cost"
	"cpar/eval/measure"
	"cpar/eval/simulate"
	"cpar/internal/durable"
	"cpar/internal/progress"
	"cpar/internal/progress/bar"
	"cpar/internal/settings"
	"cpar/model/profile"
)

func planCommand() *cobra.Command {
	var n cost.Need
	var docs string
	var memory, network int64
	cores := 0
	c := resultCommand(&cobra.Command{
		Use:   "plan --records N --tenants T --qps Q",
		Short: "plan the machines of a cluster from costs measured here",
		Long: `plan builds indexes of 5,000 and 25,000 synthetic photos, searches them on one core, measures memory
bandwidth on all cores, and computes the machines, memory, network and time that a load needs, and the
resource that limits it. Linear growth with the records is measured up to a million and assumed
beyond. Machines are planned to be busy half of the time, to fill three quarters of their memory,
and to hold two copies of every shard.

--cores, --memory and --network describe other machines, with this machine's memory bandwidth per core.`,
		Example: `  $ cpar-eval plan --records 100000 --tenants 5000 --qps 50
  $ cpar-eval plan --records 1000000 --tenants 1 --qps 1 --scheme capia --profile paper --json`,
	}, func(cmd *cobra.Command, _ bool) (*cost.Capacity, error) {
		report := bar.On(cmd.ErrOrStderr())
		if docs != "" {
			return nil, writePlans(cmd, docs, report)
		}
		if err := n.Check(); err != nil {
			return nil, err
		}
		h := cost.ThisHost()
		if cores > 0 {
			h.Read *= float64(cores) / float64(h.Cores)
			h.Cores = cores
		}
		if memory > 0 {
			h.Memory = float64(memory)
		}
		if network > 0 {
			h.Network = float64(network)
		}
		costs, err := cost.MeasureUnitCosts(cmd.Context(), n, report)
		if err != nil {
			return nil, err
		}
		p := cost.PlanCapacity(n, h, costs)
		return &p, nil
	})
	c.Flags().IntVar(&n.Records, "records", 0, "`photos` of each tenant (required)")
	c.Flags().IntVar(&n.Tenants, "tenants", 1, "`number` of tenants")
	c.Flags().Float64Var(&n.Rate, "qps", 1, "`requests` a second of all tenants together")
	c.Flags().Var(settings.Parsed("sealed", "scheme", func(s string) (err error) { n.Scheme, err = cpar.ParseScheme(s); return err }), "scheme", "scheme of the indexes")
	c.Flags().Var(settings.Parsed("network", "profile", func(s string) (err error) { n.Profile, err = profile.ParseKind(s); return err }), "profile", "profile of the indexes")
	c.Flags().IntVar(&cores, "cores", 0, "`cores` of a machine; 0 means as many as here")
	c.Flags().Var(settings.Size(&memory, "0"), "memory", "memory of a machine; 0 means as much as here")
	c.Flags().Var(settings.Size(&network, "0"), "network", "bytes a second of a machine's connection; 0 means ten gigabits")
	c.Flags().StringVar(&docs, "docs", "", "instead, write the page of all schemes to this `file`")
	return c
}

func writePlans(cmd *cobra.Command, file string, report progress.Func) error {
	h := cost.ThisHost()
	var tables []measure.Table
	for _, n := range cost.Planned {
		t, err := cost.CapacityTable(func(n cost.Need) (cost.UnitCosts, error) { return cost.MeasureUnitCosts(cmd.Context(), n, report) }, n, h)
		if err != nil {
			return err
		}
		tables = append(tables, t)
	}
	r, err := simulated(cmd, simulate.Default)
	if err != nil {
		return err
	}
	page, err := cost.ScalePage(h, time.Now(), tables, r.Tables())
	if err != nil {
		return err
	}
	if err := durable.WriteFile(file, []byte(page), 0o644); err != nil {
		return err
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), file)
	return err
}
