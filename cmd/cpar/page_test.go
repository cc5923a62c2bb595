package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

type started struct {
	cmd     *exec.Cmd
	address string

	mu     sync.Mutex
	out    bytes.Buffer
	closed chan struct{}
}

func startAt(cmd *exec.Cmd, before string) (*started, error) {
	s := &started{cmd: cmd, closed: make(chan struct{})}
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	found := make(chan string, 1)
	go func() {
		defer close(s.closed)
		for r := bufio.NewReader(pipe); ; {
			line, err := r.ReadString('\n')
			s.mu.Lock()
			s.out.WriteString(line)
			s.mu.Unlock()
			if _, address, ok := strings.Cut(line, before); ok {
				address, _, _ = strings.Cut(strings.TrimSpace(address), `"`)
				found <- address
			}
			if err != nil {
				return
			}
		}
	}()
	select {
	case s.address = <-found:
		return s, nil
	case <-s.closed:
	case <-time.After(time.Minute):
		cmd.Process.Kill()
		<-s.closed
	}
	return nil, fmt.Errorf("it says no address but %q: %v", s.out.String(), cmd.Wait())
}

func (s *started) interrupt() error {
	if err := s.cmd.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	<-s.closed
	return s.cmd.Wait()
}

// page checks that cpar ui serves the page to everyone and photos to no one.
func page(ts *testscript.TestScript, _ bool, args []string) {
	cmd := command(ts, "cpar", append([]string{"ui"}, args...)...)
	cmd.Stderr = ts.Stderr()
	before := "open "
	if args[len(args)-1] == "--json" {
		before = `"address": "`
	}
	s, err := startAt(cmd, before)
	ts.Check(err)
	defer cmd.Process.Kill()
	base, token, _ := strings.Cut(s.address, "#token=")
	for path, want := range map[string]int{"": http.StatusOK, "api/photos": http.StatusUnauthorized} {
		resp, err := http.Get(base + path)
		ts.Check(err)
		resp.Body.Close()
		if resp.StatusCode != want {
			ts.Fatalf("%s is answered with %s", base+path, resp.Status)
		}
	}
	settings, err := http.NewRequest("GET", base+"api/settings", nil)
	ts.Check(err)
	settings.Header.Set("X-Cpar-Token", token)
	resp, err := http.DefaultClient.Do(settings)
	ts.Check(err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs("settings.json"), b, 0o600))
	if args[len(args)-1] == "--open" {
		for range 500 {
			if b, err := os.ReadFile(ts.MkAbs("opened")); err == nil && len(b) > 0 {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	ts.Check(s.interrupt())
	io.WriteString(ts.Stdout(), s.out.String())
	if _, err := net.Dial("tcp", strings.Trim(strings.TrimPrefix(base, "http://"), "/")); err == nil {
		ts.Fatalf("%s still answers", base)
	}
}

func taken(ts *testscript.TestScript, _ bool, _ []string) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	ts.Check(err)
	ts.Defer(func() { l.Close() })
	ts.Setenv("TAKEN", fmt.Sprint(l.Addr().(*net.TCPAddr).Port))
}

type programs struct {
	t   *testing.T
	dir string
}

func (p programs) command(name string, args ...string) *exec.Cmd {
	p.t.Helper()
	self, err := os.Executable()
	if err != nil {
		p.t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Args[0] = name // TestMain selects the program by this name
	cmd.Dir = p.dir
	home := filepath.Join(p.dir, "home")
	cmd.Env = []string{"HOME=" + home, "XDG_CACHE_HOME=" + home, "XDG_CONFIG_HOME=" + home, "TMPDIR=" + p.dir, "PATH=" + os.Getenv("PATH")}
	return cmd
}

func (p programs) run(name string, args ...string) string {
	p.t.Helper()
	out, err := p.command(name, args...).CombinedOutput()
	if err != nil {
		p.t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}

func (p programs) serve(before, name string, args ...string) *started {
	p.t.Helper()
	cmd := p.command(name, args...)
	var errors bytes.Buffer
	cmd.Stderr = &errors
	s, err := startAt(cmd, before)
	if err != nil {
		p.t.Fatalf("%s: %v\n%s", name, err, errors.String())
	}
	p.t.Cleanup(func() {
		if cmd.ProcessState == nil {
			cmd.Process.Kill()
			<-s.closed
			cmd.Wait()
		}
	})
	return s
}
