// Package oracle locates external test inputs: golden vectors from independent
// implementations, real photographs, programs and files.
//
// A test skips if its input is missing, and fails if the environment marks it
// as required, as CI does.
package oracle

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// Named returns the path in an environment variable, or skips the test. It
// fails the test if variable_TEST=required.
func Named(t testing.TB, variable string) string {
	t.Helper()
	path := os.Getenv(variable)
	if path == "" {
		if os.Getenv(variable+"_TEST") == "required" {
			t.Fatalf("%s is not set, and %s_TEST=required", variable, variable)
		}
		t.Skipf("%s is not set; CONTRIBUTING.md explains it", variable)
	}
	return path
}

// Port returns a port of 127.0.0.1 that was free a moment ago. Systems use
// larger ports for outgoing connections, which could take the port before the
// caller listens there.
func Port(t testing.TB) int {
	t.Helper()
	var err error
	for range 100 {
		port := 20_000 + rand.IntN(12_000)
		var l net.Listener
		if l, err = net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			l.Close()
			return port
		}
	}
	t.Fatal(err)
	return 0
}

// Serve starts a program, appends its output to the file `log`, and waits until
// the program listens at address.
func Serve(t testing.TB, c *exec.Cmd, address, log string) {
	t.Helper()
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	c.Stdout, c.Stderr = out, out
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if conn, err := net.Dial("tcp", address); err == nil {
			conn.Close()
			return
		}
		if time.Now().After(deadline) {
			said, _ := os.ReadFile(log)
			t.Fatalf("%s does not listen: %s", filepath.Base(c.Path), said)
		}
	}
}

// Path returns the path of a reference file in ../shared, such as
// "reference/golden.json", or skips the test. With CPAR_SHARED=required the
// test fails.
func Path(t testing.TB, name string) string {
	t.Helper()
	root := moduleRoot(t)
	path := filepath.Join(root, "..", "shared", filepath.FromSlash(name))
	if _, err := os.Stat(path); err != nil {
		if os.Getenv("CPAR_SHARED") == "required" {
			t.Fatalf("shared/%s is missing beside the checkout, and CPAR_SHARED=required", name)
		}
		t.Skipf("needs shared/%s beside the checkout", name)
	}
	return path
}

// moduleRoot returns the nearest folder with a go.mod at or above the test's.
func moduleRoot(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Fatal("no go.mod in any folder above the test")
		}
		dir = up
	}
}
