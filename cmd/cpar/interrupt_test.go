package main

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

var cloudLine = regexp.MustCompile(`start a server without the key: process ([0-9]+), (127\.0\.0\.1:[0-9]+) `)

// interrupt sends `cpar demo ARGS…` INT or KILL once its cloud serves, and
// waits for both processes to end.
func interrupt(ts *testscript.TestScript, _ bool, args []string) {
	for range 3 {
		code, stderr, address := interruptOnce(ts, args)
		for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
			c, err := net.Dial("tcp", address)
			if err != nil {
				break
			}
			c.Close()
			if time.Now().After(deadline) {
				ts.Fatalf("the cloud at %s outlives the demo", address)
			}
		}
		if code == 0 {
			continue // the demo finished before the signal
		}
		if args[0] == "INT" && (code != 130 || !strings.HasPrefix(stderr, "cpar: error: interrupted")) {
			ts.Fatalf("exit code %d, having said %q", code, stderr)
		}
		return
	}
	ts.Fatalf("the demo cannot be interrupted")
}

func interruptOnce(ts *testscript.TestScript, args []string) (code int, stderr, address string) {
	cmd := command(ts, "cpar", append([]string{"demo"}, args[1:]...)...)
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	var said strings.Builder
	cmd.Stderr = &said
	ts.Check(cmd.Start())
	defer cmd.Process.Kill()
	lines := bufio.NewScanner(out)
	for address == "" && lines.Scan() {
		if m := cloudLine.FindStringSubmatch(lines.Text()); m != nil {
			address = m[2]
			if env, err := os.ReadFile(filepath.Join("/proc", m[1], "environ")); err == nil && bytes.Contains(env, []byte("HOME=")) {
				ts.Fatalf("the cloud knows the owner's environment: %q", env)
			}
		}
	}
	if address == "" {
		ts.Fatalf("the demo starts no cloud: %s", said.String())
	}
	signal := os.Interrupt
	if args[0] == "KILL" {
		signal = os.Kill
	}
	cmd.Process.Signal(signal) // it may have ended
	io.Copy(io.Discard, out)
	return exitOf(ts, cmd.Wait()), said.String(), address
}
