package bundled

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cpar/internal/testing/oracle"
)

const source = "models/mobilenet_v2_1.0_224.onnx"

// The embedded file is the output of go generate, which fails if a weight
// differs from the source.
func TestGeneratedFromSource(t *testing.T) {
	from := oracle.Path(t, source)
	to := filepath.Join(t.TempDir(), "mobilenet_v2.onnx")
	if out, err := exec.Command("go", "run", "./gen", from, to).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	generated, err := os.ReadFile(to)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(generated, file) {
		t.Error("go generate writes another file")
	}
}

func TestSize(t *testing.T) {
	if len(file) > 4<<20 {
		t.Errorf("%d bytes", len(file))
	}
}

func TestDamageIsNamed(t *testing.T) {
	if _, err := Model(); err != nil {
		t.Fatal(err)
	}
	whole := file
	defer func() { file = whole }()
	for _, at := range []int{0, len(whole) / 2, len(whole) - 1} {
		file = slices.Clone(whole)
		file[at] ^= 1
		if _, err := Model(); err == nil || !strings.Contains(err.Error(), "mobilenet_v2.onnx") {
			t.Errorf("byte %d changed: %v", at, err)
		}
	}
}
