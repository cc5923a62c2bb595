package eval

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"

	"cpar"
)

// Machine is the line that stands beside every measured time.
func Machine() string {
	line := fmt.Sprintf("%s, %d cores, %s/%s", processor(), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH)
	if kb := procField("/proc/meminfo", "MemTotal"); kb > 0 {
		line += fmt.Sprintf(", %.0f GB of memory", float64(kb)/(1<<20))
	}
	return line + ", " + runtime.Version()
}

// processor is its name where the system tells.
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
				cache = fmt.Sprintf(" (%d MB of last-level cache, perhaps shared with others)", kb>>10)
			}
		}
	}
	return name + cache
}

// procField is a figure in kB from a file of /proc; 0 where there is none.
func procField(file, field string) int64 {
	b, _ := os.ReadFile(file)
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, field+":"); ok {
			kb, _ := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			return kb
		}
	}
	return 0
}

// programDigest is the digest of the running program: what it measured is
// measured again when its code has changed.
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

// resetPeakMemory starts a new measurement of peakMB, where the system can.
func resetPeakMemory() {
	runtime.GC()
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0o600) // not everywhere
}

// peakMB is the greatest resident memory since the last reset, in 2²⁰ bytes; 0 where
// the system does not tell.
func peakMB() float64 { return float64(procField("/proc/self/status", "VmHWM")) / (1 << 10) }
