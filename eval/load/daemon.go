package load

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"cpar"
	"cpar/eval/measure"
	"cpar/internal/hint"
)

const (
	startPatience = time.Minute
	stopPatience  = 15 * time.Second
	logKept       = 4 << 10
)

// Build builds a program of the module, "cpard" or "cpar", into folder.
func Build(ctx context.Context, folder, name string) (string, error) {
	program := filepath.Join(folder, name)
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", program, "cpar/cmd/"+name).CombinedOutput(); err != nil {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		err = fmt.Errorf("building %s: %w: %w: %s", name, cpar.ErrInput, err, bytes.TrimSpace(out))
		return "", hint.Add(err, "run it inside the module, or pass --%s FILE", name)
	}
	return program, nil
}

type daemon struct {
	url, address string
	cmd          *exec.Cmd
	cancel       context.CancelFunc
	log          *logTail
	ended        chan error
	// stop ends the process and waits for it. It returns an error if the
	// process failed or had already ended.
	stop func() error
}

func start(ctx context.Context, program, folder string, flags ...string) (*daemon, error) {
	ctx, cancel := context.WithCancel(ctx)
	d := &daemon{cancel: cancel, log: new(logTail), ended: make(chan error, 1)}
	d.stop = sync.OnceValue(d.end)
	args := append([]string{"serve", "--data", dataFolder(folder), "--listen", "127.0.0.1:0", "--log-level", "error"}, flags...)
	d.cmd = exec.CommandContext(ctx, program, args...)
	d.cmd.Stderr = d.log
	d.cmd.Env = []string{"LANG=C"} // makes the process independent of the user's settings
	if root := os.Getenv("SYSTEMROOT"); runtime.GOOS == "windows" && root != "" {
		d.cmd.Env = append(d.cmd.Env, "SYSTEMROOT="+root)
	}
	d.cmd.Cancel = func() error {
		if d.cmd.Process.Signal(os.Interrupt) == nil {
			return nil
		}
		return d.cmd.Process.Kill() // some systems have no interrupt signal
	}
	d.cmd.WaitDelay = stopPatience
	stdout, err := d.cmd.StdoutPipe()
	if err == nil {
		err = d.cmd.Start()
	}
	if err != nil {
		cancel()
		return nil, fmt.Errorf("starting %s: %w: %w", program, cpar.ErrInput, err)
	}
	said := make(chan string, 1)
	go func() {
		r := bufio.NewReader(stdout)
		line, _ := r.ReadString('\n')
		said <- line
		_, _ = io.Copy(io.Discard, r)
		d.ended <- d.cmd.Wait()
	}()
	select {
	case line := <-said:
		url, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
		if ok {
			d.url, d.address = url, strings.TrimPrefix(url, "http://")
			return d, nil
		}
		err = errors.New("it ended without serving")
	case <-ctx.Done():
		err = ctx.Err()
	case <-time.After(startPatience):
		err = errors.New("it printed no address in time")
	}
	d.stop()
	return nil, d.explain(fmt.Errorf("starting %s: %w: %w", program, cpar.ErrCloud, err))
}

func (d *daemon) end() error {
	defer d.cancel()
	select {
	case err := <-d.ended:
		return fmt.Errorf("%w: cpard ended by itself: %v", cpar.ErrCloud, err)
	default:
	}
	d.cancel()
	// Wait returns the error of ctx unless the program exits first.
	if err := <-d.ended; err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("%w: stopping cpard: %w", cpar.ErrCloud, err)
	}
	return nil
}

func (d *daemon) explain(err error) error {
	if log := d.log.String(); err != nil && log != "" && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("%w; its log ends: %s", err, log)
	}
	return err
}

// anonymousMB returns the anonymous memory of the process in 2²⁰ bytes. It
// returns 0 on systems that do not report it.
func (d *daemon) anonymousMB() float64 {
	return float64(measure.ProcField(fmt.Sprintf("/proc/%d/status", d.cmd.Process.Pid), "RssAnon")) / (1 << 10)
}

// processorSeconds returns the processor time of the process. It returns 0 on
// systems that do not report it.
func (d *daemon) processorSeconds() float64 {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", d.cmd.Process.Pid))
	_, rest, _ := strings.Cut(string(b), ") ")
	fields, ticks := strings.Fields(rest), 0
	for _, f := range fields[min(11, len(fields)):min(13, len(fields))] { // in user mode and in the kernel
		n, _ := strconv.Atoi(f)
		ticks += n
	}
	return float64(ticks) / 100 // USER_HZ
}

type logTail struct {
	mu sync.Mutex
	b  []byte
}

func (t *logTail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, p...)
	t.b = t.b[max(0, len(t.b)-logKept):]
	return len(p), nil
}

func (t *logTail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.b))
}
