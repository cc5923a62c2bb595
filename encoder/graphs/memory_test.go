package graphs

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cpar/encoder"
	"cpar/internal/testing/oracle"
)

// TestMemory: embedding with CLIP ViT-B/32 takes at most 1.2 GB of anonymous
// memory.
func TestMemory(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("reads /proc")
	}
	oracle.Named(t, "CPAR_GRAPHS")
	for _, file := range []string{"clip_openai_b32.onnx", "clip_openai_b32.fp16.onnx"} {
		c := exec.Command(os.Args[0], "-test.run=^TestMemoryOfProcess$", "-test.v")
		c.Env = append(os.Environ(), "CPAR_GRAPHS_MEMORY="+file)
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		var most int64
		for _, line := range strings.Split(string(out), "\n") {
			fmt.Sscanf(line, "anonymous memory at most %d kB", &most)
		}
		t.Logf("%s: %d MB at most", file, most>>10)
		if most == 0 || most > 1_200_000 {
			t.Errorf("%s: it took %d kB, 1,200,000 are accepted", file, most)
		}
	}
}

func TestMemoryOfProcess(t *testing.T) {
	file := os.Getenv("CPAR_GRAPHS_MEMORY")
	if file == "" {
		t.Skip("TestMemory starts it")
	}
	var most atomic.Int64
	stop := make(chan struct{})
	go func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
				if n := anonymous(); n > most.Load() {
					most.Store(n)
				}
			}
		}
	}()
	_, byFile := graphs(t)
	g := byFile[file]
	e, err := g.open(t, encoder.Go, "")
	if err != nil {
		t.Fatal(err)
	}
	image, _ := g.pictures()
	for range 3 {
		if _, err := e.Embed(image); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	fmt.Printf("anonymous memory at most %d kB\n", max(most.Load(), anonymous()))
}

func anonymous() (n int64) {
	status, _ := os.ReadFile("/proc/self/status")
	for _, line := range strings.Split(string(status), "\n") {
		fmt.Sscanf(line, "RssAnon: %d kB", &n)
	}
	return n
}
