package main

import (
	"bytes"
	"encoding/json"
	"regexp"
	"testing"

	"github.com/spf13/cobra"
)

func TestDoctorBenchPrintsEveryPackage(t *testing.T) {
	run := func(asJSON bool) []byte {
		t.Helper()
		var out bytes.Buffer
		c := &cobra.Command{}
		c.SetContext(t.Context())
		c.SetOut(&out)
		if err := benchKernels(c, 0, asJSON); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	var b benchmark
	if err := json.Unmarshal(run(true), &b); err != nil || b.System == "" || b.Cores < 1 {
		t.Fatalf("%+v, %v", b, err)
	}
	text := run(false)
	for _, name := range []string{"modq", "mod48", "fourier", "f32"} {
		found := false
		for _, r := range b.Rows {
			found = found || r.Package == name && r.Kernels == "plain Go" && r.Ns > 0
		}
		if line := regexp.MustCompile("(?m)^" + name + ` +plain Go +[0-9.]+ µs  \w`); !found || !line.Match(text) {
			t.Errorf("no time of %s in plain Go in %+v or %s", name, b.Rows, text)
		}
	}
}
