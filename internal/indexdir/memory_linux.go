package indexdir

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

const hugePage = 2 << 20

// Allocate returns n bytes that start at a huge-page boundary, and a function that frees them. It falls back to
// ordinary pages.
func Allocate(n uint64) ([]byte, func(), error) {
	if n == 0 || n > math.MaxInt-2*hugePage {
		return nil, nil, fmt.Errorf("allocating %d bytes: %w", n, unix.EINVAL)
	}
	// Use whole huge pages, because the system does not use a huge page for less
	// than 2 MB.
	size := (int(n) + hugePage - 1) / hugePage * hugePage
	all, err := unix.Mmap(-1, 0, size+hugePage, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return nil, nil, fmt.Errorf("allocating %d bytes: %w", n, err)
	}
	first := int(-uintptr(unsafe.Pointer(&all[0])) % hugePage)
	_ = unix.Madvise(all[first:first+size], unix.MADV_HUGEPAGE)
	return all[first : first+int(n) : first+int(n)], func() { _ = unix.Munmap(all) }, nil
}

// AvailableMemory returns the number of bytes that the process can allocate
// without taking memory from other processes. This is the smaller of the
// system's available memory and the unused part of the control group's limit.
// Result `known` is false if the system does not report its available memory.
func AvailableMemory() (n uint64, known bool) {
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		return 0, false
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if word := strings.Fields(s.Text()); len(word) >= 2 && word[0] == "MemAvailable:" {
			kb, err := strconv.ParseUint(word[1], 10, 53)
			n, known = kb<<10, err == nil
		}
	}
	limit, err1 := number("/sys/fs/cgroup/memory.max")
	used, err2 := number("/sys/fs/cgroup/memory.current")
	if err1 == nil && err2 == nil {
		n = min(n, limit-min(used, limit))
	}
	return n, known
}

func number(path string) (uint64, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64)
}
