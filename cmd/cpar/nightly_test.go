package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"cpar/cparhttp"
	"cpar/internal/parallel"
	"cpar/internal/testing/oracle"
	"cpar/model/feature"
	"cpar/photo/dataset"
	"cpar/photo/decode"
	"cpar/user"
	"cpar/user/device"
)

// Annotating a large library takes bounded memory and no more time than its
// features and requests.
func TestThirtyThousandPhotos(t *testing.T) {
	if os.Getenv("CPAR_NIGHTLY") != "required" || runtime.GOOS != "linux" {
		t.Skip("takes many minutes; CPAR_NIGHTLY=required runs it")
	}
	n := 30_000
	if s := os.Getenv("CPAR_NIGHTLY_PHOTOS"); s != "" {
		n, _ = strconv.Atoi(s)
	}
	corel, err := dataset.Open(t.Context(), oracle.Path(t, "data/corel5k"), dataset.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const files, learnt = 2000, 300
	h := newHome(t, corel.Photos[files:files+learnt])
	for i := range n {
		it := corel.Photos[i%files]
		folder := strconv.Itoa(i / 500)
		h.link(it.Path, filepath.Join(h.tree, folder, strconv.Itoa(i)+filepath.Ext(it.Path)))
	}
	features, requests := h.costs(corel.Photos[:500])

	// The tree has several copies of each photo, and --again annotates them
	// all.
	annotate := h.command("cpar", "annotate", "tree", "--write", "sidecar", "--min-probability", "0.2", "--again")
	begun := time.Now()
	if err := annotate.Start(); err != nil {
		t.Fatal(err)
	}
	peak := watch(annotate.Process.Pid)
	err = annotate.Wait()
	took := time.Since(begun)
	if err != nil {
		t.Fatal(err)
	}
	cost := time.Duration(n) * (features + requests)
	t.Logf("%d photos in %.0f s, %.1f a second; features %.2f ms and requests %.2f ms a photo on %d cores make %.0f s; at most %d MB",
		n, took.Seconds(), float64(n)/took.Seconds(), ms(features), ms(requests), runtime.GOMAXPROCS(0), cost.Seconds(), peak>>20)
	if peak > 500<<20 {
		t.Errorf("at most %d MB", peak>>20)
	}
	if took > cost*6/5 {
		t.Errorf("%.0f s, where features and requests cost %.0f s", took.Seconds(), cost.Seconds())
	}
	begun = time.Now()
	h.cpar(0, "annotate", "tree", "--write", "sidecar", "--min-probability", "0.2")
	again := time.Since(begun)
	t.Logf("once more in %.1f s", again.Seconds())
	if again > took/10 {
		t.Errorf("the second run took %.1f s, the first %.1f s", again.Seconds(), took.Seconds())
	}
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func (h *home) costs(items []dataset.Photo) (features, requests time.Duration) {
	h.t.Helper()
	all := make([]device.Photo, len(items))
	begun := time.Now()
	parallel.Each(len(items), func() func(int) {
		e := feature.NewExtractor()
		return func(i int) {
			data, err := decode.ReadFile(items[i].Path)
			if err != nil {
				h.t.Error(err)
				return
			}
			f, err := e.Photo(data, feature.Options{})
			if err != nil {
				h.t.Error(err)
				return
			}
			all[i] = device.Extracted(items[i].Name, f)
		}
	})
	features = time.Since(begun) / time.Duration(len(items))
	key, err := user.ReadKeyFile(filepath.Join(h.dir, "k"), user.Unlock{})
	if err != nil {
		h.t.Fatal(err)
	}
	client, err := cparhttp.New(h.url, nil)
	if err != nil {
		h.t.Fatal(err)
	}
	d := &device.Device{State: filepath.Join(h.dir, "other"), Cache: filepath.Join(h.dir, "othercache")}
	x, err := d.Open(h.t.Context(), client, key, device.OpenOptions{})
	if err != nil {
		h.t.Fatal(err)
	}
	begun = time.Now()
	if _, err := x.Annotate(h.t.Context(), all, device.AnnotateOptions{Ranking: user.Ranking{MaxKeywords: 12}}); err != nil {
		h.t.Fatal(err)
	}
	return features, time.Since(begun) / time.Duration(len(items))
}

// watch polls the peak memory, because the figure at the end of a process
// includes its parent.
func watch(pid int) (peak int64) {
	for {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		_, line, found := strings.Cut(string(b), "VmHWM:")
		if err != nil || !found {
			return peak
		}
		var kB int64
		_, _ = fmt.Sscan(line, &kB)
		peak = kB << 10
		time.Sleep(100 * time.Millisecond)
	}
}
