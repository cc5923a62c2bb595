package measure

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"

	"cpar"
	"cpar/eval/checkpoint"
	"cpar/internal/version"
)

func Machine() string {
	line := fmt.Sprintf("%s, %d cores, %s/%s", processor(), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH)
	if kb := ProcField("/proc/meminfo", "MemTotal"); kb > 0 {
		line += fmt.Sprintf(", %.0f GB of memory", float64(kb)/(1<<20))
	}
	return line + ", " + runtime.Version()
}

func processor() string {
	b, _ := os.ReadFile("/proc/cpuinfo")
	cache := ""
	name := "processor of unknown name"
	for line := range strings.Lines(string(b)) {
		key, value, _ := strings.Cut(line, ":")
		switch strings.TrimSpace(key) {
		case "model name":
			name = strings.TrimSpace(value)
		case "cache size":
			if kb, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(value), " KB")); err == nil {
				cache = fmt.Sprintf(" (%d MB of last-level cache, perhaps shared with other virtual machines)", kb>>10)
			}
		}
	}
	return name + cache
}

// ProcField returns a value in kB from a file in /proc, or 0 if there is none.
func ProcField(file, field string) int64 {
	b, _ := os.ReadFile(file)
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, field+":"); ok {
			kb, _ := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			return kb
		}
	}
	return 0
}

// ThisOrigin returns the origin of the steps that this program measures.
func ThisOrigin() (checkpoint.Origin, error) {
	program, err := programDigest()
	return checkpoint.Origin{Program: program, Commit: commit(), Machine: Machine()}, err
}

// commit returns the commit of the program, or "unknown". Programs of go run do
// not contain it, so the checkout in the current folder then provides it.
// Changed results and documents do not count, because the run itself may write
// them.
func commit() string {
	v := version.Of("cpar-eval")
	if v.Revision == "" {
		head, _ := exec.Command("git", "rev-parse", "HEAD").Output()
		changes, err := exec.Command("git", "status", "--porcelain", "--untracked-files=no", "--", ":!eval/results", ":!*.md").Output()
		v.Revision, v.Modified = strings.TrimSpace(string(head)), err == nil && len(changes) > 0
	}
	if v.Modified {
		v.Revision += " with changes"
	}
	return cmp.Or(v.Revision, "unknown")
}

// programDigest returns the digest of the running program. A program with
// changed code thus ignores all stored results.
func programDigest() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("finding the running program: %w", err)
	}
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("reading the running program: %w: %w", cpar.ErrStorage, err)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("reading the running program: %w: %w", cpar.ErrStorage, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// ResetPeakMemory resets PeakMB where the system supports it.
func ResetPeakMemory() {
	runtime.GC()
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0o600)
}

// PeakMB returns the peak resident memory since the last reset in 2²⁰ bytes, or
// 0 if the system does not report it.
func PeakMB() float64 { return float64(ProcField("/proc/self/status", "VmHWM")) / (1 << 10) }
