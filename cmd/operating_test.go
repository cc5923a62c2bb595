//go:build unix

// Package cmd contains the commands, and tests that follow the newcomer's path
// in docs/operating.md with both of them.
package cmd

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"cpar/internal/scene"
	"cpar/photo/dataset"
)

const patience = 3 * time.Minute

type step struct {
	line     int // of the page
	section  string
	machine  string
	commands string
	prints   []string
	names    string
}

var (
	atMachine = regexp.MustCompile(`^On (the server|your machine|the other machine|the second machine|the third machine|each of the three):$`)
	printed   = "    " // an indented block
)

func readPath(t *testing.T, page, mark string) (path []step) {
	t.Helper()
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	section, machine, inside, typing, naming := "", "", false, false, false
	n := 0
	for line := range strings.Lines(string(b)) {
		n++
		line = strings.TrimSuffix(line, "\n")
		switch m := atMachine.FindStringSubmatch(line); {
		case line == mark, line == "<!-- end of path -->":
			inside = line == mark
		case !inside:
		case strings.HasPrefix(line, "### "):
			section = line[4:]
		case line == "```dns":
			path, naming = append(path, step{line: n, section: section}), true
		case line == "```sh":
			if machine == "" {
				t.Fatalf("line %d: it is not said at which machine this is typed", n)
			}
			path, typing = append(path, step{line: n, section: section, machine: machine}), true
		case line == "```":
			machine, typing, naming = "", false, false
		case naming:
			path[len(path)-1].names += line + "\n"
		case typing:
			path[len(path)-1].commands += line + "\n"
		case m != nil:
			machine = m[1]
		case strings.HasPrefix(line, printed) && len(path) > 0:
			last := &path[len(path)-1]
			last.prints = append(last.prints, strings.TrimPrefix(line, printed))
		}
	}
	if len(path) == 0 {
		t.Fatalf("%s has no %s", page, mark)
	}
	return path
}

type machine struct {
	t     *testing.T
	name  string
	home  string
	keys  io.Writer
	wrote chan struct{}

	mu  sync.Mutex
	out bytes.Buffer
	off bool
}

const done = "@@ done @@"

// start reads commands from a descriptor other than standard input, so that no
// program consumes them.
func start(t *testing.T, name, home string, environment []string) *machine {
	t.Helper()
	typed, keys, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	shown, screen, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	sh := exec.Command("sh", "-e", "/dev/fd/3")
	sh.Dir, sh.Env, sh.ExtraFiles = home, append(environment, "HOME="+home), []*os.File{typed}
	sh.Stdout, sh.Stderr = screen, screen
	sh.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := sh.Start(); err != nil {
		t.Fatal(err)
	}
	typed.Close()
	screen.Close()
	ended := make(chan struct{})
	t.Cleanup(func() {
		keys.Close()
		_ = syscall.Kill(-sh.Process.Pid, syscall.SIGKILL) // the shell and the cloud started by it
		<-ended
		shown.Close()
	})
	m := &machine{t: t, name: name, keys: keys, wrote: make(chan struct{}, 1)}
	go func() {
		lines := bufio.NewReader(shown)
		for {
			line, err := lines.ReadString('\n')
			m.mu.Lock()
			m.out.WriteString(line)
			m.mu.Unlock()
			select {
			case m.wrote <- struct{}{}:
			default:
			}
			if err != nil {
				return
			}
		}
	}()
	go func() { // a failing command ends the shell, but not the cloud that holds its screen
		err := sh.Wait()
		m.mu.Lock()
		fmt.Fprintf(&m.out, "the shell has ended: %v\n", err)
		m.off = true
		m.mu.Unlock()
		close(ended)
		select {
		case m.wrote <- struct{}{}:
		default:
		}
	}()
	return m
}

func (m *machine) do(s step) {
	m.t.Helper()
	m.mu.Lock()
	m.out.Reset()
	m.mu.Unlock()
	fmt.Fprintf(m.keys, "%s\necho '%s'\n", s.commands, done)
	wants := []*regexp.Regexp{regexp.MustCompile("(?m)^" + regexp.QuoteMeta(done) + "$")}
	for _, p := range s.prints {
		wants = append(wants, regexp.MustCompile("(?m)^ *"+strings.ReplaceAll(regexp.QuoteMeta(strings.TrimSpace(p)), "…", ".*")+"$"))
	}
	limit := time.After(patience)
	for {
		m.mu.Lock()
		out, off := m.out.String(), m.off
		m.mu.Unlock()
		missing := ""
		for _, w := range wants {
			if !w.MatchString(out) {
				missing = w.String()
				break
			}
		}
		if missing == "" {
			m.t.Logf("%s:\n%s%s", m.name, s.commands, strings.ReplaceAll(out, done+"\n", ""))
			return
		}
		if off {
			m.t.Fatalf("docs/operating.md:%d: on %s\n%s\nended before %s; it printed\n%s", s.line, m.name, s.commands, missing, out)
		}
		select {
		case <-m.wrote:
		case <-limit:
			m.t.Fatalf("docs/operating.md:%d: on %s\n%s\nnever came to %s; it printed\n%s", s.line, m.name, s.commands, missing, out)
		}
	}
}

func programs(t *testing.T) (bin string) {
	t.Helper()
	// Read every file that the go command reads, so that the test cache notices
	// changes.
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err == nil && (strings.HasSuffix(path, ".go") || strings.HasSuffix(path, ".s") || d.Name() == "go.sum") {
			_, err = os.Stat(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	bin = t.TempDir()
	if out, err := exec.Command("go", "build", "-o", bin, "./cpar", "./cpard").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return bin
}

func paint(t *testing.T, dir string, first, n int) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	var items []dataset.Photo
	for i := first; i < first+n; i++ {
		jpg, words, err := scene.RenderJPEG(7, i)
		if err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprintf("%03d.jpg", i)
		if err := os.WriteFile(filepath.Join(dir, name), jpg, 0o644); err != nil {
			t.Fatal(err)
		}
		items = append(items, dataset.Photo{Name: name, Keywords: words})
	}
	if err := dataset.WriteManifestFile(dir, items); err != nil {
		t.Fatal(err)
	}
}

// ports replaces ports of the page that are in use on this machine.
func ports(t *testing.T, list ...string) *strings.Replacer {
	t.Helper()
	var pairs []string
	for _, port := range list {
		l, err := net.Listen("tcp", ":"+port)
		if err != nil {
			if l, err = net.Listen("tcp", ":0"); err != nil {
				t.Fatal(err)
			}
		}
		defer l.Close()
		_, free, _ := net.SplitHostPort(l.Addr().String())
		pairs = append(pairs, ":"+port, ":"+free)
	}
	return strings.NewReplacer(pairs...)
}

func (s step) with(free *strings.Replacer) step {
	s.commands, s.prints = free.Replace(s.commands), slices.Clone(s.prints)
	for i, p := range s.prints {
		s.prints[i] = free.Replace(p)
	}
	return s
}

var operating = filepath.Join("..", "docs", "operating.md")

// Only machines of users get photos.
func atHome(t *testing.T, bin []string, names ...string) map[string]*machine {
	t.Helper()
	homes := t.TempDir()
	stick := filepath.Join(homes, "stick")
	if err := os.Mkdir(stick, 0o700); err != nil {
		t.Fatal(err)
	}
	search := strings.Join(append(bin, os.Getenv("PATH")), string(filepath.ListSeparator))
	machines := map[string]*machine{}
	for _, name := range names {
		home := filepath.Join(homes, strings.ReplaceAll(name, " ", "-"))
		if err := os.MkdirAll(home, 0o700); err != nil {
			t.Fatal(err)
		}
		switch name {
		case "your machine":
			paint(t, filepath.Join(home, "photos"), 0, 120)
			paint(t, filepath.Join(home, "holiday"), 200, 10)
		case "the other machine":
			paint(t, filepath.Join(home, "new"), 300, 3)
		}
		machines[name] = start(t, name, home, []string{"PATH=" + search, "STICK=" + stick, "LANG=C.UTF-8"})
		machines[name].home = home
	}
	return machines
}

// The path of docs/operating.md works as written and prints the documented
// output. Its three machines are three home folders here.
func TestNewcomersPath(t *testing.T) {
	if _, err := exec.LookPath("openssl"); err != nil && os.Getenv("CPAR_OPENSSL") != "required" {
		t.Skip(err)
	}
	path := readPath(t, operating, "<!-- path -->")
	bin, free := programs(t), ports(t, "8443", "9090")
	machines := atHome(t, []string{bin}, "the server", "your machine", "the other machine")
	for _, s := range path {
		machines[s.machine].do(s.with(free))
	}
	namesWhatExists(t, bin)
}

func namesWhatExists(t *testing.T, bin string) {
	t.Helper()
	page, err := os.ReadFile(operating)
	if err != nil {
		t.Fatal(err)
	}
	metrics, err := os.ReadFile(filepath.Join("..", "docs", "METRICS.md"))
	if err != nil {
		t.Fatal(err)
	}
	settings, err := exec.Command(filepath.Join(bin, "cpard"), "config", "--config", "none").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`cpar_[a-z_]+`).FindAllString(string(page), -1) {
		if !strings.Contains(string(metrics), "`"+m+"`") {
			t.Errorf("there is no metric %s", m)
		}
	}
	named := regexp.MustCompile("(?m)(?:^ *|`)([a-z-]+) = ").FindAllSubmatch(page, -1)
	if len(named) < 10 {
		t.Errorf("only %d settings were found on the page", len(named))
	}
	for _, m := range named {
		if !regexp.MustCompile("(?m)^" + string(m[1]) + " ").Match(settings) {
			t.Errorf("there is no setting %s", m[1])
		}
	}
}
