package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"cpar"
	"cpar/cloud/tenant"
	"cpar/cparhttp"
	"cpar/internal/bearer"
	"cpar/internal/indexdir"
	"cpar/internal/testing/buckettest"
	"cpar/internal/testing/indexsample"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"cpard": func() { os.Exit(run()) }})
}

// TestStories runs the stories of testdata, which have additional commands:
//
//	sample N FOLDER [scan]  make an index of random bytes, of scheme capia with scan
//	start ARGS…      start `cpard serve ARGS…` and set $URL to its address
//	certify DIR NAME…  make cert.pem and key.pem for names, and ca.pem if missing
//	signal SIGNAL    send it HUP
//	logs REGEXP      wait for a line of its log
//	shutdown SIGNAL  send it INT or TERM and expect exit code 0 without further output
//	push FOLDER      push an index to $URL
//	get PATH         print a response of $URL
//	$CA              file with the authority that signs for $URL, if set
//	$TOKEN           file with the token of push and get, if set
//	mkdata DIR NAME  put a file into the folder of a tenant
//	upload ID TEXT   put TEXT to $URL as a segment of index ID
//	blob put NAME TEXT, blob get NAME, blob delete NAME   a blob of the story's album
//	undelete FILE ARGS…  cpard album undelete to the time in a JSON file of undelete
//	spoil FOLDER     flip a bit in one segment below FOLDER, or in one blob p-…
//	storage          start object storage and set $STORE and the file credentials
//	exits N COMMAND  run a command that must exit with code N
func TestStories(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(e *testscript.Env) error {
			e.Values["daemon"] = new(process)
			e.Setenv("CPARD_CONFIG", "none") // ignore the machine's
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"sample": makeSample, "start": start, "shutdown": shutdown, "push": push, "get": get, "mkdata": mkdata, "storage": storage, "exits": exits,
			"certify": certify, "signal": sendSignal, "logs": logs,
			"upload": upload, "spoil": spoil, "blob": blob, "undelete": undelete,
		},
	})
}

type process struct {
	cmd  *exec.Cmd
	rest io.Reader
	log  book
}

func command(ts *testscript.TestScript, name string, args []string) *exec.Cmd {
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		if path := filepath.Join(dir, name); exec.Command(path).Err == nil {
			cmd := exec.Command(path, args...)
			cmd.Dir = ts.MkAbs(".")
			names := []string{"HOME", "XDG_CONFIG_HOME", "PATH", "TMPDIR", "SYSTEMROOT", "LocalAppData", "AppData", "CPARD_CONFIG", "CPARD_SERVICE_HOST"}
			for _, s := range table.Settings {
				names = append(names, table.Environment(s.Name))
			}
			for _, name := range names {
				if v := ts.Getenv(name); v != "" {
					cmd.Env = append(cmd.Env, name+"="+v)
				}
			}
			return cmd
		}
	}
	ts.Fatalf("%s is not on the path", name)
	return nil
}

func start(ts *testscript.TestScript, _ bool, args []string) {
	cmd := command(ts, "cpard", append([]string{"serve"}, args...))
	p := ts.Value("daemon").(*process)
	p.log.reset()
	cmd.Stderr = &p.log
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	ts.Defer(func() { cmd.Process.Kill() })
	r := bufio.NewReader(out)
	p.cmd, p.rest = cmd, r
	line, err := r.ReadString('\n')
	ts.Check(err)
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if !ok || !strings.HasPrefix(url, "http://127.0.0.1:") && !strings.HasPrefix(url, "https://127.0.0.1:") {
		ts.Fatalf("it says %q", line)
	}
	ts.Setenv("URL", url)
	line, err = r.ReadString('\n')
	ts.Check(err)
	if !strings.HasPrefix(line, "bodies, requests and replies take at most ") {
		ts.Fatalf("it says %q", line)
	}
}

func shutdown(ts *testscript.TestScript, _ bool, args []string) {
	p := ts.Value("daemon").(*process)
	ts.Check(p.cmd.Process.Signal(map[string]os.Signal{"INT": os.Interrupt, "TERM": syscall.SIGTERM}[args[0]]))
	rest, err := io.ReadAll(p.rest)
	ts.Check(err)
	if err := p.cmd.Wait(); err != nil || len(rest) > 0 {
		ts.Fatalf("stopped with %v, having said %q", err, rest)
	}
}

func makeSample(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.ParseUint(args[0], 10, 64)
	ts.Check(err)
	if len(args) > 2 {
		_, err = scan(ts.MkAbs(args[1]), n, n, 5, 7)
	} else {
		_, err = indexsample.Build(ts.MkAbs(args[1]), n, n)
	}
	ts.Check(err)
}

// scan makes an index of scheme capia, because a cloud refuses a forest of
// random bytes.
func scan(folder string, id, seed uint64, records, dim uint32) (*cpar.Manifest, error) {
	m := &cpar.Manifest{Scheme: cpar.SchemeCAPIA, ID: indexsample.Manifest(id).ID, Records: records, Dim: dim, Shift: 10, KeywordBytes: 16}
	w, err := indexdir.Create(folder, indexdir.Options{})
	if err != nil {
		return nil, err
	}
	defer w.Close()
	return m, indexsample.Write(w, m, seed)
}

func push(ts *testscript.TestScript, neg bool, args []string) {
	c, err := cparhttp.New(ts.Getenv("URL"), client(ts))
	ts.Check(err)
	ts.Check(c.SetToken(token(ts)))
	_, err = c.Push(context.Background(), ts.MkAbs(args[0]), nil)
	if neg {
		if err == nil {
			ts.Fatalf("pushed")
		}
		fmt.Fprintln(ts.Stdout(), err)
		return
	}
	ts.Check(err)
}

func mkdata(ts *testscript.TestScript, _ bool, args []string) {
	all, err := tenant.List(ts.MkAbs(args[0]))
	ts.Check(err)
	for _, t := range all {
		if t.Name == args[1] {
			folder := filepath.Join(ts.MkAbs(args[0]), tenant.Folder, t.ID, "indexes")
			ts.Check(os.MkdirAll(folder, 0o700))
			ts.Check(os.WriteFile(filepath.Join(folder, "some"), []byte("data"), 0o600))
		}
	}
}

func upload(ts *testscript.TestScript, _ bool, args []string) {
	sum := sha256.Sum256([]byte(args[1]))
	r, err := http.NewRequest(http.MethodPut, fmt.Sprintf("%s/v1/indexes/%s/segments/%x", ts.Getenv("URL"), args[0], sum), strings.NewReader(args[1]))
	ts.Check(err)
	resp, err := http.DefaultClient.Do(r)
	ts.Check(err)
	resp.Body.Close()
	if resp.StatusCode != http.StatusNoContent {
		ts.Fatalf("status %s", resp.Status)
	}
}

func blob(ts *testscript.TestScript, _ bool, args []string) {
	c, err := cparhttp.New(ts.Getenv("URL"), nil)
	ts.Check(err)
	ts.Check(c.SetToken(token(ts)))
	const album = "0123456789abcdef0123456789abcdef"
	switch args[0] {
	case "put":
		ts.Check(c.PutBlob(context.Background(), album, args[1], []byte(args[2]), nil))
	case "delete":
		ts.Check(c.DeleteBlob(context.Background(), album, args[1]))
	case "get":
		b, err := c.GetBlob(context.Background(), album, args[1], 0, -1)
		ts.Check(err)
		fmt.Fprintf(ts.Stdout(), "%s\n", b)
	}
}

func undelete(ts *testscript.TestScript, _ bool, args []string) {
	var out struct {
		Albums []struct{ Back string }
	}
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &out))
	ts.Check(ts.Exec("cpard", append([]string{"album", "undelete", "--data", "data", "--tenant", "anna", "--before", out.Albums[0].Back}, args[1:]...)...))
}

func spoil(ts *testscript.TestScript, _ bool, args []string) {
	done := errors.New("done")
	err := filepath.WalkDir(ts.MkAbs(args[0]), func(path string, d fs.DirEntry, err error) error {
		if err != nil || len(d.Name()) != 64 && !strings.HasPrefix(d.Name(), "p-") || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		ts.Check(err)
		b[len(b)/2] ^= 1
		ts.Check(os.WriteFile(path, b, 0o600)) // in place
		return done
	})
	if err != done {
		ts.Fatalf("nothing to spoil: %v", err)
	}
}

func token(ts *testscript.TestScript) (t bearer.Token) {
	if file := ts.Getenv("TOKEN"); file != "" {
		var err error
		t, err = bearer.Parse(strings.TrimSpace(ts.ReadFile(file)))
		ts.Check(err)
	}
	return t
}

func get(ts *testscript.TestScript, _ bool, args []string) {
	req, err := http.NewRequest("GET", ts.Getenv("URL")+args[0], nil)
	ts.Check(err)
	if !token(ts).IsZero() {
		token(ts).SetHeader(req.Header)
	}
	resp, err := client(ts).Do(req)
	ts.Check(err)
	defer resp.Body.Close()
	fmt.Fprintln(ts.Stdout(), resp.Status)
	_, err = io.Copy(ts.Stdout(), resp.Body)
	ts.Check(err)
}

func storage(ts *testscript.TestScript, _ bool, _ []string) {
	s := httptest.NewServer(&buckettest.Memory{})
	ts.Defer(s.Close)
	ts.Setenv("STORE", "s3://photos/cloud?endpoint="+s.URL)
	ts.Check(os.WriteFile(ts.MkAbs("credentials"), []byte("AWS_ACCESS_KEY_ID=example\nAWS_SECRET_ACCESS_KEY=example\n"), 0o600))
}

func exits(ts *testscript.TestScript, _ bool, args []string) {
	cmd := command(ts, args[1], args[2:])
	cmd.Stdout, cmd.Stderr = ts.Stdout(), ts.Stderr()
	err := cmd.Run()
	code := 0
	if e := (*exec.ExitError)(nil); errors.As(err, &e) {
		code = e.ExitCode()
	} else {
		ts.Check(err)
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("exit code %d, want %s", code, args[0])
	}
}
