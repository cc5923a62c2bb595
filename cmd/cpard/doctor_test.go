package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"cpar/cloud/tenant"
	"cpar/internal/exitcode"
)

func TestDoctorFindsWhatIsWrong(t *testing.T) {
	for name, k := range map[string]struct {
		args  []string
		spoil func(*testing.T, *doctorFlags)
		check string
		says  string
		code  int
	}{
		"nothing, settings":    {nil, nil, "settings", "ok from flags", 0},
		"nothing, data":        {nil, nil, "data", "ok ", 0},
		"nothing, space":       {nil, nil, "space", "ok 1.0 TiB are free", 0},
		"nothing, tenants":     {nil, nil, "tenants", "ok none", 0},
		"nothing, listen":      {nil, nil, "listen", "ok 127.0.0.1:8080", 0},
		"nothing, files":       {nil, nil, "files", "ok 65536 may be open", 0},
		"nothing, clock":       {nil, nil, "clock", "ok it is synchronised", 0},
		"nothing, memory":      {nil, nil, "memory", "of 16 GiB that are free", 0},
		"no folder":            {nil, func(_ *testing.T, d *doctorFlags) { d.Data += "/absent" }, "data", "warn", 0},
		"a file":               {nil, func(t *testing.T, d *doctorFlags) { d.Data = writeFile(t, "file", "") }, "data", "fail unusable input", exitcode.Input},
		"open to others":       {nil, func(t *testing.T, d *doctorFlags) { os.Chmod(d.Data, 0o755) }, "data", "chmod 700", 0},
		"little space":         {nil, func(_ *testing.T, d *doctorFlags) { d.free = func(string) (int64, bool) { return 5 << 20, true } }, "space", "warn 5.0 MiB are free", 0},
		"few files":            {nil, func(_ *testing.T, d *doctorFlags) { d.descriptors = func() int { return 1024 } }, "files", "warn 1024 may be open", 0},
		"a clock of its own":   {nil, func(_ *testing.T, d *doctorFlags) { d.synchronised = func() (bool, bool) { return false, true } }, "clock", "warn", 0},
		"little memory":        {nil, func(_ *testing.T, d *doctorFlags) { d.memory = func() (uint64, bool) { return 300 << 20, true } }, "memory", "lower --max-memory", 0},
		"a bad value":          {[]string{"--max-memory", "1KB"}, nil, "settings", "fail --max-memory 1000", exitcode.Usage},
		"no data folder named": {[]string{"--data", ""}, nil, "settings", "fail which folder?", exitcode.Usage},
		"anybody could come":   {[]string{"--listen", ":443", "--insecure-http"}, nil, "listen", "there is no tenant", exitcode.Input},
		"a stranger's variable": {nil, func(t *testing.T, _ *doctorFlags) { t.Setenv("CPARD_LISTN", "x") },
			"settings", "warn $CPARD_LISTN is no setting", 0},
		"a broken registry": {nil, func(t *testing.T, d *doctorFlags) {
			if err := os.WriteFile(filepath.Join(d.Data, "tenants.json"), []byte("{"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, "tenants", "fail", exitcode.Corrupt},
		"a tenant": {nil, func(t *testing.T, d *doctorFlags) {
			if _, err := (&tenant.Editor{Data: d.Data}).Add(context.Background(), "anna", "phone", tenant.Annotate, tenant.Limits{}); err != nil {
				t.Fatal(err)
			}
		}, "tenants", "ok 1; every request needs a token", 0},
		"a broken certificate": {nil, func(t *testing.T, d *doctorFlags) {
			d.Network.Cert, d.Network.Key = writeFile(t, "cert", "junk"), writeFile(t, "key", "junk")
		}, "certificate", "fail", exitcode.Input},
		"nothing issued": {nil, func(t *testing.T, d *doctorFlags) {
			if _, err := (&tenant.Editor{Data: d.Data}).Add(context.Background(), "anna", "phone", tenant.Annotate, tenant.Limits{}); err != nil {
				t.Fatal(err)
			}
			d.Network.ACME.Domains = []string{"photos.example"}
		}, "certificate", "warn ACME has 1 more to issue", 0},
	} {
		t.Run(name, func(t *testing.T) {
			data := t.TempDir()
			os.Chmod(data, 0o700)
			d := &doctorFlags{now: time.Now, free: func(string) (int64, bool) { return 1 << 40, true }, memory: func() (uint64, bool) { return 16 << 30, true },
				descriptors: func() int { return 1 << 16 }, synchronised: func() (bool, bool) { return true, true }}
			c := new(cobra.Command)
			addFlags(c, &d.options)
			if err := c.ParseFlags(append([]string{"--data", data}, k.args...)); err != nil {
				t.Fatal(err)
			}
			if k.spoil != nil {
				k.spoil(t, d)
			}
			d.run(c, "none")
			var said strings.Builder
			for _, f := range d.List {
				if f.Check == k.check {
					said.WriteString(f.Result + " " + f.Says + " / " + f.Do + "\n")
				}
			}
			if !strings.Contains(said.String(), k.says) || exitcode.Of(d.Err()) != k.code {
				t.Errorf("%s says %q, not %q; exit code %d, want %d", k.check, said.String(), k.says, exitcode.Of(d.Err()), k.code)
			}
		})
	}
}

func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
