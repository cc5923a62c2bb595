//go:build linux

// Package instructions counts the instructions that a function executes under
// qemu-user with the plugin in testdata.
package instructions

import (
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"syscall"
	"testing"
)

type Counter struct {
	t    testing.TB
	file string
	own  int
}

// New returns a counter, or skips the test if the plugin is not running. Until
// the test ends, it stays on one thread without garbage collections.
func New(t testing.TB) *Counter {
	t.Helper()
	c := &Counter{t: t, file: os.Getenv("CPAR_INSTRUCTIONS")}
	if c.file == "" {
		t.Skip("CPAR_INSTRUCTIONS is not set; CONTRIBUTING.md explains it")
	}
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	percent := debug.SetGCPercent(-1)
	t.Cleanup(func() { debug.SetGCPercent(percent) })
	c.own = c.Count(func() {})
	return c
}

// Count returns the smallest number of instructions in three calls of f. Larger
// numbers may include work of Go's scheduler.
func (c *Counter) Count(f func()) int {
	c.t.Helper()
	return min(c.between(f), c.between(f), c.between(f)) - c.own
}

func (c *Counter) between(f func()) int {
	c.t.Helper()
	const writeCount = 5000 // a system call that only the plugin knows
	syscall.RawSyscall(writeCount, 0, 0, 0)
	f()
	syscall.RawSyscall(writeCount, 0, 0, 0)
	text, err := os.ReadFile(c.file)
	if err != nil {
		c.t.Fatal("the plugin is not running: ", err)
	}
	n, err := strconv.Atoi(string(text))
	if err != nil {
		c.t.Fatal(err)
	}
	return n
}
