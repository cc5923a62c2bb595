//go:build unix

package main

import (
	"bytes"
	"fmt"
	"strings"
	"syscall"

	"github.com/creack/pty"
	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/term"
)

// terminal answers each prompt of a command with a line, then checks the exit
// code and that the terminal is restored. A line that explains ^C counts as a
// prompt.
func terminal(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: terminal CODE ANSWERS COMMAND…")
	}
	ours, theirs, err := pty.Open()
	ts.Check(err)
	defer ours.Close()
	before, err := term.GetState(int(theirs.Fd()))
	ts.Check(err)
	cmd := command(ts, args[2], args[3:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs, theirs, theirs
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true} // makes ^C a signal
	ts.Check(cmd.Start())
	screen := make(chan []byte)
	go func() {
		defer close(screen)
		for {
			b := make([]byte, 4096)
			n, err := ours.Read(b)
			if err != nil {
				return
			}
			screen <- b[:n]
		}
	}()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	answers := strings.Split(strings.TrimSuffix(ts.ReadFile(args[1]), "\n"), "\n")
	var shown, line []byte
	for {
		select {
		case b := <-screen:
			shown, line = append(shown, b...), append(line, b...)
			asks := bytes.HasSuffix(line, []byte(": ")) || bytes.HasSuffix(line, []byte("^C stops"))
			if !asks || len(answers) == 0 {
				continue
			}
			answer := strings.ReplaceAll(answers[0]+"\n", "^C\n", "\x03")
			answers, line = answers[1:], nil
			_, err := ours.Write([]byte(answer))
			ts.Check(err)
		case err := <-ended:
			after, e := term.GetState(int(theirs.Fd()))
			ts.Check(e)
			if *after != *before {
				ts.Fatalf("the terminal is not as it was: %+v, was %+v", *after, *before)
			}
			theirs.Close()
			for b := range screen {
				shown = append(shown, b...)
			}
			fmt.Fprint(ts.Stdout(), strings.ReplaceAll(string(shown), "\r\n", "\n"))
			if code := exitOf(ts, err); fmt.Sprint(code) != args[0] {
				ts.Fatalf("exit code %d, want %s; it says %q", code, args[0], shown)
			}
			if len(answers) > 0 {
				ts.Fatalf("it did not ask for %q; it says %q", answers, shown)
			}
			return
		}
	}
}
