package memory

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"cpar"
	"cpar/eval/measure"
	"cpar/internal/hint"
)

// newGroup makes a control group with a limit. The caller removes the folder.
func newGroup(limitMB int) (folder string, err error) {
	root, limit := "/sys/fs/cgroup/memory", "memory.limit_in_bytes" // version 1
	if _, err := os.Stat(filepath.Join(root, limit)); err != nil {
		root, limit = "/sys/fs/cgroup", "memory.max"
	}
	if folder, err = os.MkdirTemp(root, "cpar-eval-"); err == nil {
		if err = os.WriteFile(filepath.Join(folder, limit), fmt.Append(nil, limitMB<<20), 0o600); err == nil {
			return folder, nil
		}
		os.Remove(folder)
	}
	return "", hint.Add(fmt.Errorf("limiting memory: %w: %w", cpar.ErrInput, err), "it needs Linux and the right to make memory control groups, as root has")
}

// Available reports why this system cannot limit the memory of a process, or
// nil.
func Available() error {
	folder, err := newGroup(1)
	if err == nil {
		err = os.Remove(folder)
	}
	return err
}

// A child is a process in a control group.
type child struct {
	cmd    *exec.Cmd
	group  string
	output bytes.Buffer
	url    string
	err    error // set once `ended` is closed
	ended  chan struct{}
}

// start starts a program. A shell enters the control group and becomes the
// program.
func (m *measurement) start(ctx context.Context, limitMB int, stdout io.Writer, args []string) (c *child, err error) {
	c = &child{ended: make(chan struct{})}
	if c.group, err = newGroup(limitMB); err != nil {
		return nil, err
	}
	c.cmd = exec.CommandContext(ctx, "/bin/sh", append([]string{"-c", `echo $$ >"$0/cgroup.procs" && exec "$@"`, c.group}, args...)...)
	c.cmd.Env = []string{"LANG=C", "HOME=" + m.Work, "PATH=" + os.Getenv("PATH")} // makes the process independent of the user's settings
	c.cmd.Stdout, c.cmd.Stderr = stdout, &c.output
	if stdout == nil {
		c.cmd.Stdout = &c.output
	}
	if err := c.cmd.Start(); err != nil {
		os.Remove(c.group)
		return nil, fmt.Errorf("starting %s: %w: %w", args[0], cpar.ErrInput, err)
	}
	go func() {
		c.err = c.cmd.Wait()
		close(c.ended)
	}()
	return c, nil
}

// pollEvery is the interval at which a process's peak memory is read. The
// figure of getrusage would include the memory of the parent.
const pollEvery = 10 * time.Millisecond

// wait waits for the end of the process and returns its peak memory in 2²⁰
// bytes, mapped files included.
func (c *child) wait() (peak float64, err error) {
	defer os.Remove(c.group)
	for {
		select {
		case <-c.ended:
			if c.err != nil {
				return peak, fmt.Errorf("%w: %s: %w after %.0f MB: %s", cpar.ErrInput, filepath.Base(c.cmd.Args[4]), c.err, peak, bytes.TrimSpace(c.output.Bytes()))
			}
			return peak, nil
		case <-time.After(pollEvery):
			peak = max(peak, c.peakMB())
		}
	}
}

func (c *child) peakMB() float64 {
	return float64(measure.ProcField(fmt.Sprintf("/proc/%d/status", c.cmd.Process.Pid), "VmHWM")) / (1 << 10)
}

func (m *measurement) run(ctx context.Context, args ...string) (peak float64, err error) {
	c, err := m.start(ctx, m.LimitMB, nil, args)
	if err != nil {
		return 0, err
	}
	return c.wait()
}

// serve starts cpard with its default limits and an empty data folder.
func (m *measurement) serve(ctx context.Context, data string) (*child, error) {
	from, to, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	c, err := m.start(ctx, m.ServerLimitMB, to, []string{m.Cpard, "serve", "--data", data, "--listen", "127.0.0.1:0", "--log-level", "error"})
	to.Close()
	if err != nil {
		return nil, err
	}
	r := bufio.NewReader(from)
	line, _ := r.ReadString('\n')
	go func() { _, _ = io.Copy(io.Discard, r) }()
	var ok bool
	if c.url, ok = strings.CutPrefix(strings.TrimSpace(line), "listening on "); !ok {
		c.kill()
		return nil, fmt.Errorf("%w: cpard does not serve: %s", cpar.ErrCloud, bytes.TrimSpace(c.output.Bytes()))
	}
	return c, nil
}

// stop ends a server and returns its peak memory.
func (c *child) stop() (peak float64, err error) {
	peak = c.peakMB()
	_ = c.cmd.Process.Signal(os.Interrupt)
	_, err = c.wait()
	return peak, err
}

// kill ends a server that may have ended.
func (c *child) kill() {
	_ = c.cmd.Process.Kill()
	_, _ = c.wait()
}
