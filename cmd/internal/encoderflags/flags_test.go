package encoderflags

import (
	"errors"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"cpar/encoder"
	"cpar/internal/exitcode"
)

func parsed(t *testing.T, line string) *Flags {
	t.Helper()
	f := new(Flags)
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.Add(set)
	if err := set.Parse(strings.Fields(line)); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestCommandLineRoundTrips(t *testing.T) {
	for _, line := range []string{
		"",
		" --preprocessing clip",
		" --embedding a/b --pool mean --side 256 --views 1 --runtime auto",
		" --runtime onnxruntime --limit-file 5 --limit-memory 4000000000 --limit-work 99",
	} {
		f := parsed(t, line)
		got := f.CommandLine(func(s string) string { return s })
		if got != line || *parsed(t, got) != *f {
			t.Errorf("%q, want %q", got, line)
		}
	}
	if got := new(Flags).CommandLine(func(s string) string { return s }); got != "" {
		t.Errorf("without any flags: %q", got)
	}
}

func TestOptions(t *testing.T) {
	if o := parsed(t, "").Options(); o.Runtime != encoder.Go || o.Limits.Work != 0 || o.Limits.Memory != encoder.DefaultLimits.Memory {
		t.Errorf("%+v", o)
	}
	o := parsed(t, "--limit-work 50 --limit-file 2GB --embedding e --pool class --side 7 --views 1 --preprocessing p").Options()
	if o.Limits.Work != 50e9 || o.Limits.FileBytes != 2e9 || o.Embedding != "e" || o.Pool != encoder.PoolClass || o.Side != 7 || o.Views != 1 || o.Preprocessing != "p" {
		t.Errorf("%+v", o)
	}
}

func TestCheck(t *testing.T) {
	for line, ok := range map[string]bool{
		"": true, "--runtime auto --pool class --side 3 --limit-work 1": true,
		"--runtime fast": false, "--pool best": false, "--side -1": false, "--views 3": false, "--views -1": false, "--limit-work -1": false,
	} {
		err := parsed(t, line).Check()
		if (err == nil) != ok || err != nil && !errors.Is(err, exitcode.ErrUsage) {
			t.Errorf("%s: %v", line, err)
		}
	}
}
