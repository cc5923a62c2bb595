package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/rogpeppe/go-internal/testscript"

	"cpar/internal/scene"
	"cpar/photo/dataset"
)

const versionAt = 6

type process struct {
	cmd *exec.Cmd
	log *os.File
}

func serve(ts *testscript.TestScript, _ bool, args []string) {
	startCloud(ts, command(ts, "cpard", append([]string{"-data", args[0]}, args[2:]...)...), args[1])
}

func serveLimited(ts *testscript.TestScript, _ bool, args []string) {
	startCloud(ts, underLimit(args[0], command(ts, "cpard", "-data", args[1])), args[2])
}

func startCloud(ts *testscript.TestScript, cmd *exec.Cmd, log string) {
	// Drop the story's environment, because its folders may be canaries.
	cmd.Env = []string{"LANG=C"}
	ts.Setenv("CLOUD", ts.Value("cloud").(*process).start(ts, cmd, log))
}

func (p *process) start(ts *testscript.TestScript, cmd *exec.Cmd, log string) (address string) {
	p.cmd = cmd
	var err error
	p.log, err = os.Create(ts.MkAbs(log))
	ts.Check(err)
	cmd.Stderr = p.log
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	ts.Defer(func() {
		if p.cmd != nil {
			p.cmd.Process.Kill()
			p.cmd.Wait()
		}
	})
	line, _ := bufio.NewReader(out).ReadString('\n')
	address, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if !ok {
		ts.Fatalf("%s says %q and %s", filepath.Base(cmd.Path), line, ts.ReadFile(log))
	}
	return address
}

func (p *process) stop(ts *testscript.TestScript) {
	ts.Check(p.cmd.Process.Signal(os.Interrupt))
	ts.Check(p.cmd.Wait())
	ts.Check(p.log.Close())
	p.cmd = nil
}

func shutdown(ts *testscript.TestScript, _ bool, _ []string) { ts.Value("cloud").(*process).stop(ts) }

// The stories share their scenes, because painting is slow.
var painted = struct {
	sync.Mutex
	jpegs    map[int][]byte
	keywords map[int][]string
}{jpegs: map[int][]byte{}, keywords: map[int][]string{}}

func paintOnce(i int) ([]byte, []string, error) {
	painted.Lock()
	defer painted.Unlock()
	if painted.jpegs[i] == nil {
		jpg, words, err := scene.RenderJPEG(7, i)
		if err != nil {
			return nil, nil, err
		}
		painted.jpegs[i], painted.keywords[i] = jpg, words
	}
	return painted.jpegs[i], painted.keywords[i], nil
}

func scenes(ts *testscript.TestScript, _ bool, args []string) {
	dir := ts.MkAbs(args[0])
	n, first := number(ts, args[1]), 0
	if len(args) > 2 {
		first = number(ts, args[2])
	}
	ts.Check(os.MkdirAll(dir, 0o755))
	var items []dataset.Photo
	for i := first; i < first+n; i++ {
		jpg, words, err := paintOnce(i)
		ts.Check(err)
		name := fmt.Sprintf("%02d.jpg", i)
		ts.Check(os.WriteFile(filepath.Join(dir, name), jpg, 0o644))
		items = append(items, dataset.Photo{Name: name, Keywords: words})
	}
	ts.Check(dataset.WriteManifestFile(dir, items))
}

func plant(ts *testscript.TestScript, _ bool, args []string) {
	const odd = "\x1b[31m\nhint: all is well"
	ts.Check(os.MkdirAll(ts.MkAbs(args[0]), 0o755))
	for name, content := range map[string]string{"good" + odd + ".jpg": ts.ReadFile(args[1]), "junk" + odd + ".jpg": "junk", "film" + odd + ".mts": "film"} {
		ts.Check(os.WriteFile(ts.MkAbs(filepath.Join(args[0], name)), []byte(content), 0o644))
	}
	ts.Setenv("GOOD", args[0]+"/good"+odd+".jpg")
	ts.Setenv("JUNK", args[0]+"/junk"+odd+".jpg")
}

func number(ts *testscript.TestScript, s string) int {
	n, err := strconv.Atoi(s)
	ts.Check(err)
	return n
}

func flip(ts *testscript.TestScript, _ bool, args []string) {
	path := only(ts, args[0])
	b, err := os.ReadFile(path)
	ts.Check(err)
	at := 1
	if len(args) > 1 {
		at = number(ts, args[1])
	}
	b[len(b)-at] ^= 0x10
	ts.Check(os.WriteFile(path, b, 0o600))
}

func cut(ts *testscript.TestScript, _ bool, args []string) {
	path := only(ts, args[0])
	info, err := os.Stat(path)
	ts.Check(err)
	ts.Check(os.Truncate(path, info.Size()-int64(number(ts, args[1]))))
}

func only(ts *testscript.TestScript, pattern string) string {
	all, err := filepath.Glob(ts.MkAbs(pattern))
	ts.Check(err)
	var largest string
	var size int64 = -1
	for _, path := range all {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Size() > size {
			largest, size = path, info.Size()
		}
	}
	if largest == "" {
		ts.Fatalf("no file is called %s", pattern)
	}
	return largest
}

func claim(ts *testscript.TestScript, _ bool, args []string) {
	head := []byte("IHDR")
	head = binary.BigEndian.AppendUint32(head, uint32(number(ts, args[1])))
	head = binary.BigEndian.AppendUint32(head, uint32(number(ts, args[2])))
	head = append(head, 8, 2, 0, 0, 0)
	b := append([]byte("\x89PNG\r\n\x1a\n"), 0, 0, 0, 13)
	b = append(b, head...)
	b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(head))
	b = append(b, 0, 0, 0, 4, 'I', 'D', 'A', 'T', 1, 2, 3, 4, 0, 0, 0, 0)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), b, 0o644))
}

func answers(ts *testscript.TestScript, _ bool, args []string) {
	real := ts.Getenv("CLOUD")
	var questions atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked := r.Method == http.MethodPost && strings.Contains(r.URL.Path, "/annotate")
		switch {
		case !asked:
			if args[0] == "stale" && questions.Load() == 0 && strings.HasPrefix(r.URL.Path, "/v1/indexes/") {
				http.ServeFile(binaryWriter{w}, r, ts.MkAbs(filepath.Join(args[1], filepath.FromSlash(strings.TrimPrefix(r.URL.Path, "/v1/")))))
				return
			}
		case questions.Add(1) > 1 && args[0] == "liar-once", questions.Load() == 1 && args[0] == "tired", args[0] == "stale":
			relay(w, r, real+r.URL.Path, func([]byte) {})
			return
		case args[0] == "liar" || args[0] == "liar-once":
			relay(w, r, real+r.URL.Path, func(b []byte) { b[len(b)-9] ^= 0x10 })
			return
		}
		if args[0] == "silent" {
			<-r.Context().Done()
			return
		}
		if !asked || strings.HasSuffix(r.URL.Path, "-batch") && args[0] != "tired" {
			if args[0] == "html" {
				io.WriteString(w, "<html>welcome</html>")
				return
			}
			passOn(w, real+r.URL.Path)
			return
		}
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/octet-stream")
		switch args[0] {
		case "garbage", "tired":
			io.WriteString(w, strings.Repeat("garbage ", 100))
		case "half":
			w.Header().Set("Content-Length", "1000")
			io.WriteString(w, "CPAR")
		}
	}))
	ts.Defer(s.Close)
	ts.Setenv("BROKEN", s.URL)
	if args[0] == "nobody" {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		ts.Check(err)
		ts.Setenv("BROKEN", "http://"+l.Addr().String())
		ts.Check(l.Close())
	}
}

type binaryWriter struct{ http.ResponseWriter }

func (w binaryWriter) WriteHeader(status int) {
	w.Header().Set("Content-Type", "application/octet-stream")
	w.ResponseWriter.WriteHeader(status)
}

func relay(w http.ResponseWriter, r *http.Request, url string, alter func(answer []byte)) {
	resp, err := http.Post(url, r.Header.Get("Content-Type"), r.Body)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	alter(b)
	w.Header().Set("Content-Type", resp.Header.Get("Content-Type"))
	w.WriteHeader(resp.StatusCode)
	w.Write(b)
}

func copyTree(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(os.CopyFS(ts.MkAbs(args[1]), os.DirFS(ts.MkAbs(args[0]))))
}

func was(ts *testscript.TestScript, _ bool, args []string) {
	var v struct{ Was string }
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &v))
	ts.Setenv("WAS", v.Was)
}

func idOf(ts *testscript.TestScript, _ bool, args []string) {
	var v struct{ ID string }
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[1])), &v))
	if v.ID == "" {
		ts.Fatalf("no id in %s", args[1])
	}
	ts.Setenv(args[0], v.ID)
}

// runIn sets a variable to the id of the last run in a list.
func runIn(ts *testscript.TestScript, _ bool, args []string) {
	var all []struct{ Run string }
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[1])), &all))
	ts.Setenv(args[0], all[len(all)-1].Run)
}

func passOn(w http.ResponseWriter, url string) {
	resp, err := http.Get(url)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	defer resp.Body.Close()
	w.Header().Set("Content-Type", resp.Header.Get("Content-Type"))
	w.WriteHeader(resp.StatusCode)
	io.Copy(w, resp.Body)
}

func limited(ts *testscript.TestScript, _ bool, args []string) {
	cmd := underLimit(args[0], command(ts, args[1], args[2:]...))
	cmd.Stdout, cmd.Stderr = ts.Stdout(), ts.Stderr()
	if code := exitOf(ts, cmd.Run()); code != 8 {
		ts.Fatalf("exit code %d, want 8", code)
	}
}

func fullDisk(ts *testscript.TestScript, _ bool, args []string) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	ts.Check(err)
	defer full.Close()
	cmd := command(ts, args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr = full, ts.Stderr()
	if code := exitOf(ts, cmd.Run()); code != 8 {
		ts.Fatalf("exit code %d, want 8", code)
	}
}

func underLimit(blocks string, cmd *exec.Cmd) *exec.Cmd {
	sh := exec.Command("/bin/sh", append([]string{"-c", `ulimit -f "$0" && exec "$@"`, blocks, cmd.Path}, cmd.Args[1:]...)...)
	sh.Dir, sh.Env = cmd.Dir, cmd.Env
	return sh
}

// setVersion also corrects the digest of a manifest, so that only the version
// is wrong.
func setVersion(ts *testscript.TestScript, _ bool, args []string) {
	path := ts.MkAbs(args[0])
	b, err := os.ReadFile(path)
	ts.Check(err)
	b[versionAt] = byte(number(ts, args[1]))
	if filepath.Base(path) == "manifest" {
		sum := sha256.Sum256(b[:len(b)-sha256.Size])
		copy(b[len(b)-sha256.Size:], sum[:])
	}
	ts.Check(os.WriteFile(path, b, 0o600))
}

// leaks searches all bytes and names of files for each word of a file, ignoring
// case, and for the hexadecimal, base64 and UTF-16 forms of long words.
func leaks(ts *testscript.TestScript, neg bool, args []string) {
	words := strings.Fields(ts.ReadFile(args[0]))
	if len(words) == 0 {
		ts.Fatalf("no canaries")
	}
	var found []string
	searched := 0
	look := func(where string, b []byte) {
		searched += len(b)
		low := bytes.ToLower(b)
		for _, w := range words {
			for _, form := range forms(w) {
				if bytes.Contains(low, form) {
					found = append(found, fmt.Sprintf("%q in %s", w, where))
				}
			}
		}
	}
	for _, arg := range args[1:] {
		root := ts.MkAbs(arg)
		ts.Check(filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			name, _ := filepath.Rel(root, path)
			look("the name "+name, []byte(name))
			if !d.Type().IsRegular() {
				return nil
			}
			b, err := os.ReadFile(path)
			look(filepath.Join(arg, name), b)
			return err
		}))
	}
	switch {
	case searched < 500:
		ts.Fatalf("only %d bytes to search in", searched)
	case neg && len(found) > 0:
		ts.Fatalf("leaked:\n%s", strings.Join(found, "\n"))
	case !neg && len(found) == 0:
		ts.Fatalf("no canary is there")
	}
	ts.Logf("searched %d bytes for %d words", searched, len(words))
}

func manifests(ts *testscript.TestScript, _ bool, args []string) {
	all, err := filepath.Glob(filepath.Join(ts.MkAbs(args[0]), "indexes", "*", "manifest"))
	ts.Check(err)
	if len(all) == 0 {
		ts.Fatalf("no manifest in %s", args[0])
	}
	for i, path := range all {
		b, err := os.ReadFile(path)
		ts.Check(err)
		ts.Check(os.WriteFile(filepath.Join(ts.MkAbs(args[1]), fmt.Sprint("manifest", i)), b, 0o600))
	}
}

func emptyDir(ts *testscript.TestScript, _ bool, args []string) {
	entries, err := os.ReadDir(ts.MkAbs(args[0]))
	ts.Check(err)
	for _, e := range entries {
		ts.Fatalf("%s holds %s", args[0], e.Name())
	}
}

// forms returns the spellings of a word in lower case. Base64 covers all three
// alignments without the digits that depend on neighbours.
func forms(word string) [][]byte {
	w := []byte(strings.ToLower(word))
	if len(w) < 12 {
		return [][]byte{w} // fragments of a short word occur everywhere
	}
	out := [][]byte{w, []byte(hex.EncodeToString([]byte(word)))}
	var wide []byte
	for _, c := range w {
		wide = append(wide, c, 0)
	}
	out = append(out, wide[:len(wide)-1])
	for shift := range 3 {
		text := base64.RawStdEncoding.EncodeToString(append(make([]byte, shift), word...))
		skip := (shift*8 + 5) / 6
		out = append(out, []byte(strings.ToLower(text[skip:len(text)-1])))
	}
	return out
}

func otherKey(ts *testscript.TestScript, _ bool, args []string) {
	text := "# the same key in another file\n" + ts.ReadFile(args[0])
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(text), 0o600))
}

func byName(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Setenv("CLOUD", strings.Replace(ts.Getenv("CLOUD"), "127.0.0.1", "localhost", 1))
}

func wordOf(ts *testscript.TestScript, _ bool, args []string) {
	ts.Setenv(args[0], strings.TrimSpace(ts.ReadFile(args[1])))
}
