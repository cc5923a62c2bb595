package indexdir

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

const hugePage = 2 << 20

// Allocate returns n bytes that start at a huge-page boundary, and a function
// that frees them. It falls back to ordinary pages.
func Allocate(n uint64) ([]byte, func(), error) {
	if n == 0 || n > math.MaxInt-2*hugePage {
		return nil, nil, fmt.Errorf("allocating %d bytes: %w", n, unix.EINVAL)
	}
	// Use whole huge pages, because the system uses none for less than 2 MB.
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
// without taking memory from other processes. This is the smallest of the
// system's available memory and the unused parts of the limits of its control
// groups. Result `known` is false if the system does not report its available
// memory.
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
	groups, _ := os.ReadFile("/proc/self/cgroup")
	return min(n, unusedByGroups(string(groups), "/sys/fs/cgroup")), known
}

// unusedByGroups returns the smallest unused part of the limits of some control
// groups and of the groups that contain them. Parameter `groups` has the form of
// /proc/self/cgroup. A container may see only its own group, at the top of the
// folder `mounted`, although `groups` names a path below it.
func unusedByGroups(groups, mounted string) uint64 {
	n := uint64(math.MaxUint64)
	for line := range strings.Lines(groups) {
		_, line, _ = strings.Cut(strings.TrimSpace(line), ":")
		controllers, path, _ := strings.Cut(line, ":")
		root, limit, usage := mounted, "memory.max", "memory.current"
		switch {
		case slices.Contains(strings.Split(controllers, ","), "memory"): // version 1
			root, limit, usage = filepath.Join(mounted, "memory"), "memory.limit_in_bytes", "memory.usage_in_bytes"
		case controllers != "": // version 1, without memory
			continue
		}
		for path = filepath.Join("/", path); ; path = filepath.Dir(path) {
			most, err1 := number(filepath.Join(root, path, limit))
			used, err2 := number(filepath.Join(root, path, usage))
			if err1 == nil && err2 == nil { // otherwise there is no limit
				n = min(n, most-min(used, most))
			}
			if path == "/" {
				break
			}
		}
	}
	return n
}

func number(path string) (uint64, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64)
}
