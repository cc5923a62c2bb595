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

// CloudCommand is the hidden subcommand by which the program starts itself as
// a cloud. It serves the folder --data on a free port of loopback, writes
// "listening on URL" to standard output and its log, at level debug, to
// standard error, and ends when its standard input does.
const CloudCommand = "demo-cloud"

// startPatience is how long a cloud may take to say where it listens.
const startPatience = 20 * time.Second

// A cloudProcess is the cloud. It dies with this process, however that ends:
// its standard input is a pipe that closes then.
type cloudProcess struct {
	cmd   *exec.Cmd
	alive io.Closer
	log   *os.File
	ended chan error
	url   string
}

func (s *session) startCloud(ctx context.Context) error {
	_, err := s.step(func() string {
		return fmt.Sprintf("start a cloud without the key: process %d, %s", s.cloud.cmd.Process.Pid, strings.TrimPrefix(s.cloud.url, "http://"))
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
		return nil, fmt.Errorf("starting the cloud's process: %w: %w", cpar.ErrCloud, err)
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
		return nil, fmt.Errorf("starting the cloud's process: %w: %w", cpar.ErrStorage, err)
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

// cleanEnvironment holds what a process cannot run without: nothing, except
// on Windows. Above all it names no folder of the owner's.
func cleanEnvironment() []string {
	env := []string{"LANG=C"} // an empty list would mean all of ours
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

// stopPatience is how long a cloud may take to end its requests.
const stopPatience = 5 * time.Second

// stop ends the process and waits for it. It may be called again, and for a
// process that was never started.
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
			return fmt.Errorf("ending the cloud's process: %w: %w; its log: %s", cpar.ErrCloud, err, lastLine(p.log.Name()))
		}
		return nil
	case <-time.After(stopPatience):
		p.cmd.Process.Kill()
		<-p.ended
		return nil
	}
}
