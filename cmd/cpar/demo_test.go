package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"cpar/internal/testing/oracle"
)

// The image network of ../shared is in $MODEL.
func TestDemoWithModel(t *testing.T) {
	model := oracle.Path(t, "models/mobilenet_v2_1.0_224.onnx")
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "model"),
		Setup: func(e *testscript.Env) error {
			e.Setenv("MODEL", model)
			for _, v := range []string{"HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "LocalAppData", "AppData"} {
				e.Setenv(v, filepath.Join(e.WorkDir, "home"))
			}
			e.Setenv("TMPDIR", filepath.Join(e.WorkDir, "temp"))
			return os.MkdirAll(filepath.Join(e.WorkDir, "temp"), 0o700)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "scenes": scenes, "json": jsonPath, "emptydir": emptyDir,
		},
	})
}
