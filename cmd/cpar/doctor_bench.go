package main

import (
	"fmt"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"cpar/internal/humanfmt"
	"cpar/internal/kernelbench"
	"cpar/internal/version"
)

// benchEach is the time for one row of cpar doctor --bench, which has about 40.
const benchEach = 200 * time.Millisecond

// A benchmark is the output of cpar doctor --bench --json.
type benchmark struct {
	version.Info
	Cores int               `json:"cores"`
	Rows  []kernelbench.Row `json:"rows"`
}

func benchKernels(cmd *cobra.Command, each time.Duration, asJSON bool) error {
	b, w := benchmark{Info: version.Of("cpar"), Cores: runtime.NumCPU()}, cmd.OutOrStdout()
	if !asJSON {
		fmt.Fprintf(w, "%v, %d cores\n", b.Info, b.Cores)
	}
	err := kernelbench.Run(cmd.Context(), each, func(r kernelbench.Row) {
		b.Rows = append(b.Rows, r)
		if !asJSON {
			fmt.Fprintf(w, "%-7s  %-12s  %9s µs  %s\n", r.Package, r.Kernels, humanfmt.Digits(r.Ns/1000), r.Call)
		}
	})
	if err == nil && asJSON {
		err = writeJSON(w, b)
	}
	return err
}
