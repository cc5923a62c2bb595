package browser

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
)

// TestFaultsOfAPageAreDetected checks that package browser detects faults.
// Otherwise passing page tests would mean nothing.
func TestFaultsOfAPageAreDetected(t *testing.T) {
	const good = `<!doctype html><html lang="en"><head><title>a page</title><link rel="icon" href="data:,"></head><body><main><h1>a page</h1>FAULT</main></body></html>`
	for _, c := range []struct{ fault, where string }{
		{``, ""},
		{`<script>console.error("oh")</script>`, "complaints"},
		{`<script>nothing.there()</script>`, "complaints"},
		{`<script>Promise.reject(new Error("oh"))</script>`, "complaints"},
		{`<script src="/missing.js"></script>`, "complaints"},
		{`<style>h1 { color: red }</style>`, "complaints"}, // violates the content security policy
		{`<script>fetch("http://127.0.0.1:9/").catch(() => {})</script>`, "strangers"},
		{`<form><input type="text"></form>`, "broken"},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/" {
				http.NotFound(w, r)
				return
			}
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			w.Header().Set("Content-Security-Policy", "style-src 'self'")
			io.WriteString(w, strings.Replace(good, "FAULT", c.fault, 1))
		}))
		p := New(t)
		p.Open(server.URL + "/")
		p.Await(`document.readyState === 'complete'`)
		p.Text(`new Promise((done) => setTimeout(done, 200))`)
		found := map[string][]string{"complaints": p.Complaints(), "strangers": p.Strangers(), "broken": p.Broken()}
		for where, list := range found {
			if where == "broken" && os.Getenv("CPAR_AXE") == "" {
				continue
			}
			if where == c.where && len(list) == 0 {
				t.Errorf("%q is not noticed among %s", c.fault, where)
			}
			if c.where == "" && len(list) > 0 {
				t.Errorf("a good page has %s %q", where, list)
			}
		}
		server.Close()
	}
}

func TestLongestTaskIsFound(t *testing.T) {
	p := New(t)
	p.Open("about:blank")
	var short Task
	for _, sums := range []string{"1e5", "2e7"} {
		task := p.LongestTask(func() {
			p.Text(`(() => { let x = 0; for (let i = 0; i < ` + sums + `; i++) x += Math.sqrt(i) % 3; return x; })()`)
		})
		if task.CPU <= 4*short.CPU || len(task.Parts) == 0 {
			t.Errorf("%s sums: %+v, after %+v", sums, task, short)
		}
		short = task
	}
}
