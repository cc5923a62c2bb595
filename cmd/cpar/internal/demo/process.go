package demo

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"cpar"
	"cpar/cparhttp"
)

// CloudCommand is the hidden subcommand that runs the cloud. It serves the
// folder --data on a free loopback port. It writes "listening on URL" to
// standard output, and its debug log to standard error. It ends when its
// standard input is closed.
const CloudCommand = "demo-cloud"

// patience is the time limit for the process to start serving, and again for it
// to end.
const patience = 20 * time.Second

// A cloudProcess is the server's process. It ends whenever the demo's process
// ends, because that closes the pipe to its standard input.
type cloudProcess struct {
	cmd *exec.Cmd
	end context.CancelFunc
	log string
	url string
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

func startCloud(ctx context.Context, data, log string) (p *cloudProcess, err error) {
	fail := func(err error) (*cloudProcess, error) {
		return nil, fmt.Errorf("starting the server's process: %w: %w", cpar.ErrCloud, err)
	}
	program, err := os.Executable()
	if err != nil {
		return fail(err)
	}
	file, err := os.OpenFile(log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("starting the server's process: %w: %w", cpar.ErrStorage, err)
	}
	defer file.Close()
	p = &cloudProcess{log: log}
	ctx, p.end = context.WithCancel(ctx)
	p.cmd = exec.CommandContext(ctx, program, CloudCommand, "--data", data)
	p.cmd.Env, p.cmd.Stderr, p.cmd.WaitDelay = cleanEnvironment(), file, patience
	stdin, err := p.cmd.StdinPipe()
	if err != nil {
		return fail(err)
	}
	p.cmd.Cancel = stdin.Close
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return fail(err)
	}
	if err := p.cmd.Start(); err != nil {
		return fail(err)
	}
	late := time.AfterFunc(patience, p.end)
	defer late.Stop()
	line, _ := bufio.NewReader(stdout).ReadString('\n')
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if !ok {
		_ = p.stop() // the error below gives the reason
		return fail(fmt.Errorf("it ended without serving; its log: %s", lastLine(log)))
	}
	p.url = url
	return p, nil
}

// cleanEnvironment returns a minimal environment, so that the server learns no
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

// stop ends the process and waits for it. It may be called repeatedly, and for
// a process that never started.
func (p *cloudProcess) stop() error {
	if p == nil || p.cmd.ProcessState != nil {
		return nil
	}
	p.end()
	// Check the exit state, because Wait also returns an error after p.end has
	// cancelled the context.
	if err := p.cmd.Wait(); p.cmd.ProcessState == nil || !p.cmd.ProcessState.Success() {
		return fmt.Errorf("ending the server's process: %w: %w; its log: %s", cpar.ErrCloud, err, lastLine(p.log))
	}
	return nil
}
