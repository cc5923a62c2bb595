// Package encoderflags parses the flags that configure an image network.
//
//	--embedding, --pool, --side, --preprocessing, --views, --runtime, --limit-… ─▶ Flags ─▶ encoder.OpenOptions
//
// Only commands import it.
package encoderflags

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/spf13/pflag"

	"cpar/encoder"
	"cpar/encoder/prepare"
	"cpar/internal/exitcode"
	"cpar/internal/settings"
)

// Flags configure how a network is opened. The zero value selects all defaults.
type Flags struct {
	Preprocessing, Runtime string
	Embedding, Pool        string
	Side, Views            int
	Limits                 encoder.Limits
	WorkBillions           int64 // multiply-adds per photo, for Limits.Work
}

// Runtimes and Pools are the values of --runtime and --pool. The default
// runtime is first.
var (
	Runtimes = []string{encoder.Go, encoder.ONNXRuntime, encoder.Auto}
	Pools    = []string{encoder.PoolClass, encoder.PoolMean}
)

// The defaults of --limit-file, --limit-memory and --limit-work.
var (
	DefaultFileBytes    = humanize.IBytes(uint64(encoder.DefaultLimits.FileBytes))
	DefaultMemory       = humanize.IBytes(uint64(encoder.DefaultLimits.Memory))
	DefaultWorkBillions = encoder.DefaultLimits.Work / 1e9
)

func (f *Flags) Add(to *pflag.FlagSet) {
	to.StringVar(&f.Preprocessing, "preprocessing", "", "the preprocessing of images for the network: "+strings.Join(prepare.Presets(), ", ")+" or a `file` (default: the configuration beside the network, its metadata, or its known digest)")
	to.StringVar(&f.Runtime, "runtime", Runtimes[0], "the runtime of the network: go, onnxruntime (C++ in this process, for files that you trust), or auto (ONNX Runtime if CPAR_ONNXRUNTIME names its library)")
	to.StringVar(&f.Embedding, "embedding", "", "`name` of the network's tensor by which photos are compared (default: chosen and reported)")
	to.StringVar(&f.Pool, "pool", "", "the pooling of a grid of tokens: class (the first token) or mean (default: chosen and reported)")
	to.IntVar(&f.Side, "side", 0, "height and width in `pixels` of the network's input if the file leaves them open (default: from its configuration)")
	to.IntVar(&f.Views, "views", 0, fmt.Sprintf("number of `views` of each image that the network embeds: 1, or 2, which finds more and takes twice as long (default: %d)", prepare.MostViews))
	to.Var(settings.Size(&f.Limits.FileBytes, DefaultFileBytes), "limit-file", "maximum size of a network's file, such as 2GB")
	to.Var(settings.Size(&f.Limits.Memory, DefaultMemory), "limit-memory", "maximum memory for a network's weights, and again for each photo being processed")
	to.Int64Var(&f.WorkBillions, "limit-work", DefaultWorkBillions, "maximum multiply-adds of a network per photo, in `billion`s")
}

// Check refuses values that are invalid for every network.
func (f *Flags) Check() error {
	switch {
	case f.Runtime != "" && !slices.Contains(Runtimes, f.Runtime):
		return exitcode.UsageError(fmt.Errorf("--runtime %q; there are %s", f.Runtime, strings.Join(Runtimes, ", ")))
	case f.Pool != "" && !slices.Contains(Pools, f.Pool):
		return exitcode.UsageError(fmt.Errorf("--pool %q; there are %s", f.Pool, strings.Join(Pools, ", ")))
	case f.Side < 0:
		return exitcode.UsageError(fmt.Errorf("--side %d; it must be a number of pixels", f.Side))
	case prepare.Views(f.Views).Check() != nil:
		return exitcode.UsageError(fmt.Errorf("--views: %w", prepare.Views(f.Views).Check()))
	case f.WorkBillions < 0 || f.WorkBillions > 1e9:
		return exitcode.UsageError(fmt.Errorf("--limit-work %d; it must be a number of billions", f.WorkBillions))
	}
	return nil
}

func (f *Flags) Options() encoder.OpenOptions {
	o := encoder.OpenOptions{Runtime: f.Runtime, Preprocessing: f.Preprocessing, Views: prepare.Views(f.Views)}
	o.Embedding, o.Pool, o.Side, o.Limits = f.Embedding, f.Pool, f.Side, f.Limits
	if f.WorkBillions != DefaultWorkBillions { // the default is rounded to billions
		o.Limits.Work = f.WorkBillions * 1e9
	}
	return o
}

// CommandLine formats the flags for a command to type next. quote quotes a word
// for the shell.
func (f *Flags) CommandLine(quote func(string) string) string {
	var again strings.Builder
	add := func(flag, value string) {
		if value != "" {
			again.WriteString(" --" + flag + " " + quote(value))
		}
	}
	number := func(flag string, n, usual int64) {
		if n != 0 && n != usual {
			add(flag, fmt.Sprint(n))
		}
	}
	d := encoder.DefaultLimits
	add("preprocessing", f.Preprocessing)
	add("embedding", f.Embedding)
	add("pool", f.Pool)
	number("side", int64(f.Side), 0)
	number("views", int64(f.Views), 0)
	if f.Runtime != Runtimes[0] {
		add("runtime", f.Runtime)
	}
	number("limit-file", f.Limits.FileBytes, d.FileBytes)
	number("limit-memory", f.Limits.Memory, d.Memory)
	number("limit-work", f.WorkBillions, DefaultWorkBillions)
	return again.String()
}
