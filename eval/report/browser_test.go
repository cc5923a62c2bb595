package report

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"cpar/internal/testing/browser"
)

// browsed is a browser's view of a page.
type browsed struct {
	console []string // lines that the page or the browser wrote to the console
	asked   []string // network requests
	dom     string
}

var consoleLine = regexp.MustCompile(`CONSOLE[:(].*`)

// browsersOwn are hosts that the browser contacts on its own (time, updates), whatever
// the page and the flags. If the page contacted them, its own policy would block it, with
// a message on the console.
var browsersOwn = regexp.MustCompile(`(^|\.)(google\.com|googleapis\.com|gvt1\.com|gstatic\.com)(:\d+)?$`)

// browse opens a page in a headless browser whose only access to the network is a proxy
// that records and refuses requests.
func browse(t *testing.T, program, page string) browsed {
	t.Helper()
	var b browsed
	var mu sync.Mutex
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if !browsersOwn.MatchString(r.Host) {
			b.asked = append(b.asked, r.Method+" "+r.Host+r.URL.Path)
		}
		http.Error(w, "there is no network here", http.StatusForbidden)
	}))
	defer proxy.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
		"--disable-default-apps", "--disable-domain-reliability", "--disable-features=OptimizationHints,MediaRouter,Translate",
		"--user-data-dir="+t.TempDir(), "--proxy-server="+proxy.URL, "--proxy-bypass-list=<-loopback>",
		"--enable-logging=stderr", "--v=0", "--dump-dom", "file://"+page)
	var out, log strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &log
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", program, err, log.String())
	}
	b.dom = out.String()
	for line := range strings.Lines(log.String()) {
		if m := consoleLine.FindString(line); m != "" {
			b.console = append(b.console, m)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	return b
}

// The report opens in a browser without network access and without errors on its console.
// The same check must find each fault in faulty pages: a test that cannot fail would mean
// nothing.
func TestReportInBrowser(t *testing.T) {
	program := browser.Program(t)
	folder := t.TempDir()
	if _, err := Write(folder, testCollection(t), syntheticResults()); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(filepath.Join(folder, PageName))
	if err != nil {
		t.Fatal(err)
	}
	b := browse(t, program, filepath.Join(folder, PageName))
	if len(b.console) > 0 || len(b.asked) > 0 {
		t.Errorf("console %q\nnetwork %q", b.console, b.asked)
	}
	if got := strings.Count(b.dom, "<svg"); got != len(syntheticResults().Figures()) {
		t.Errorf("%d figures are on the page, want %d", got, len(syntheticResults().Figures()))
	}
	if !strings.Contains(b.dom, `content="default-src 'none'; img-src data:; style-src 'unsafe-inline'"`) {
		t.Error("the page has no policy: what it asks of the browser's own hosts would go unnoticed")
	}
	if !strings.Contains(b.dom, `<img src="data:image/jpeg`) || !strings.Contains(b.dom, "</footer>") {
		t.Error("the page is incomplete")
	}

	for i, fault := range []string{
		`<img src="http://pictures.invalid/a.png">`,
		`<style>body { background: url(http://pictures.invalid/b.png) }</style>`,
		`<img src="https://fonts.googleapis.com/c.png">`,
		`<script>nothing.there()</script>`,
		`<link rel="stylesheet" href="other.css">`,
	} {
		path := filepath.Join(folder, fmt.Sprintf("fault%d.html", i))
		if err := os.WriteFile(path, []byte(strings.Replace(string(whole), "</body>", fault+"</body>", 1)), 0o644); err != nil {
			t.Fatal(err)
		}
		if b := browse(t, program, path); len(b.console) == 0 && len(b.asked) == 0 {
			t.Errorf("%s was not noticed", fault)
		}
	}
	// Without its own policy, the page would reach the proxy: so the proxy works.
	path := filepath.Join(folder, "open.html")
	if err := os.WriteFile(path, []byte(`<img src="http://pictures.invalid/c.png">`), 0o644); err != nil {
		t.Fatal(err)
	}
	if b := browse(t, program, path); len(b.asked) == 0 {
		t.Error("a request to the network was not noticed")
	}
}
