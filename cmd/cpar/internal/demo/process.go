package demo

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"cpar"
	"cpar/cparhttp"
)

// CloudCommand is the hidden subcommand that runs the cloud. It serves the
// folder --data on a free loopback port, writes "listening on URL" to standard
// output and its debug log to standard error, and ends at the end of standard
// input.
const CloudCommand = "demo-cloud"

const startPatience = 20 * time.Second

// A cloudProcess is the cloud. It ends with this process, however that happens,
// because the pipe to its standard input closes then.
type cloudProcess struct {
	cmd   *exec.Cmd
	alive io.Closer
	log   *os.File
	ended chan error
	url   string
}

func (s *session) startCloud(ctx context.Context) error {
	err := s.step(func() string {
		return fmt.Sprintf("start a server without the key: process %d, %s", s.cloud.cmd.Process.Pid, strings.TrimPrefix(s.cloud.url, "http://"))
	}, func() (err error) {
		s.cloud, err = startCloud(ctx, s.path("cloud"), s.path("cloud.log"))
		return err
	})
	if err != nil {
		return err
	}
	s.client, err = cparhttp.New(s.cloud.url, nil)
	return err
}

func startCloud(ctx context.Context, data, log string) (*cloudProcess, error) {
	fail := func(err error) (*cloudProcess, error) {
		return nil, fmt.Errorf("starting the server's process: %w: %w", cpar.ErrCloud, err)
	}
	program, err := os.Executable()
	if err != nil {
		return fail(err)
	}
	p := &cloudProcess{cmd: exec.Command(program, CloudCommand, "--data", data), ended: make(chan error, 1)}
	p.cmd.Env = cleanEnvironment()
	stdin, err := p.cmd.StdinPipe()
	if err != nil {
		return fail(err)
	}
	p.alive = stdin
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return fail(err)
	}
	if p.log, err = os.OpenFile(log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600); err != nil {
		return nil, fmt.Errorf("starting the server's process: %w: %w", cpar.ErrStorage, err)
	}
	p.cmd.Stderr = p.log
	if err := p.cmd.Start(); err != nil {
		p.log.Close()
		return fail(err)
	}
	said := make(chan string, 1)
	go func() {
		r := bufio.NewReader(stdout)
		line, _ := r.ReadString('\n')
		said <- line
		io.Copy(io.Discard, r)
		p.ended <- p.cmd.Wait()
	}()
	select {
	case line := <-said:
		url, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
		if !ok {
			p.stop()
			return fail(fmt.Errorf("it ended without serving; its log: %s", lastLine(log)))
		}
		p.url = url
		return p, nil
	case <-ctx.Done():
		p.stop()
		return nil, ctx.Err()
	case <-time.After(startPatience):
		p.stop()
		return fail(errors.New("it says nothing"))
	}
}

// cleanEnvironment returns a minimal environment, which above all names no
// folder of the owner.
func cleanEnvironment() []string {
	env := []string{"LANG=C"} // an empty list would inherit the environment
	if root := os.Getenv("SYSTEMROOT"); runtime.GOOS == "windows" && root != "" {
		env = append(env, "SYSTEMROOT="+root)
	}
	return env
}

func lastLine(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	return lines[len(lines)-1]
}

const stopPatience = 5 * time.Second

// stop ends the process and waits for it. It may be called repeatedly, and for
// a process that never started.
func (p *cloudProcess) stop() error {
	if p == nil || p.alive == nil {
		return nil
	}
	p.alive.Close()
	p.alive = nil
	defer p.log.Close()
	select {
	case err := <-p.ended:
		if err != nil {
			return fmt.Errorf("ending the server's process: %w: %w; its log: %s", cpar.ErrCloud, err, lastLine(p.log.Name()))
		}
		return nil
	case <-time.After(stopPatience):
		p.cmd.Process.Kill()
		<-p.ended
		return nil
	}
}
