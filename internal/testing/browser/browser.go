// Package browser drives a real browser in tests, through chromedp.
//
//	address ─▶ Page: keys, clicks, dropped files, downloads, screenshots
//	             ├ Complaints: console messages, exceptions, policy violations
//	             ├ Strangers: requests that left the page's origin
//	             └ Broken: accessibility rules of axe-core that the page breaks
//
// Without a browser, tests skip, or fail if CPAR_CHROMIUM=required. CPAR_AXE
// names the file of axe-core, and CPAR_AXE_TEST=required requires it.
package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

const patience = time.Minute

// Program returns the path of the browser named by CPAR_CHROMIUM, or of any
// installed browser.
func Program(t testing.TB) string {
	t.Helper()
	want := os.Getenv("CPAR_CHROMIUM")
	names := []string{"chromium", "chromium-browser", "google-chrome"}
	if want != "" && want != "required" {
		names = []string{want}
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if want != "" {
		t.Fatalf("no browser: %v", names)
	}
	t.Skip("no chromium on this machine")
	return ""
}

type Page struct {
	t         testing.TB
	ctx       context.Context
	origin    string
	downloads string

	mu         sync.Mutex
	complaints []string
	strangers  []string
}

// profile returns a temporary folder for the browser. Its removal is repeated,
// because the last processes may still write to it.
func profile(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "cpar-browser-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
			if err := os.RemoveAll(dir); err == nil || time.Now().After(deadline) {
				return
			}
		}
	})
	return dir
}

// New returns an empty page in its own browser, which ends with the test.
func New(t testing.TB) *Page {
	t.Helper()
	flags := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(Program(t)), chromedp.UserDataDir(profile(t)),
		chromedp.NoSandbox, chromedp.DisableGPU, // as root, in a container
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-domain-reliability", true),
		chromedp.Flag("force-color-profile", "srgb"), chromedp.Flag("hide-scrollbars", true), chromedp.Flag("lang", "en-GB"))
	all, stop := chromedp.NewExecAllocator(context.Background(), flags...)
	t.Cleanup(stop)
	ctx, cancel := chromedp.NewContext(all, chromedp.WithErrorf(func(string, ...any) {})) // ignore unknown events
	t.Cleanup(cancel)
	p := &Page{t: t, ctx: ctx, downloads: t.TempDir()}
	chromedp.ListenTarget(ctx, p.hear)
	p.Do(log.Enable(), network.Enable(), cdpbrowser.SetDownloadBehavior(cdpbrowser.SetDownloadBehaviorBehaviorAllow).WithDownloadPath(p.downloads))
	return p
}

func (p *Page) Open(address string) {
	p.t.Helper()
	if parts := strings.SplitAfterN(address, "/", 4); len(parts) == 4 {
		p.origin = parts[0] + parts[1] + parts[2]
	}
	p.Do(chromedp.Navigate(address))
}

func (p *Page) Downloaded(name string) []byte {
	p.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		b, err := os.ReadFile(filepath.Join(p.downloads, name))
		if err == nil {
			return b
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("nothing was downloaded: %v", err)
		}
	}
}

func (p *Page) hear(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.APITypeError || e.Type == runtime.APITypeWarning || e.Type == runtime.APITypeAssert {
			var said []string
			for _, a := range e.Args {
				said = append(said, string(a.Value)+a.Description)
			}
			p.complaints = append(p.complaints, strings.Join(said, " "))
		}
	case *runtime.EventExceptionThrown:
		p.complaints = append(p.complaints, e.ExceptionDetails.Error())
	case *log.EventEntryAdded:
		if e.Entry.Level == log.LevelError || e.Entry.Level == log.LevelWarning {
			p.complaints = append(p.complaints, e.Entry.Text+" "+e.Entry.URL)
		}
	case *network.EventRequestWillBeSent:
		// Chromium draws the icon of a date field from a data: address.
		if url := e.Request.URL; !strings.HasPrefix(url, p.origin) && !strings.HasPrefix(url, "blob:"+p.origin) && !strings.HasPrefix(url, "data:") {
			p.strangers = append(p.strangers, url)
		}
	}
}

func (p *Page) Complaints() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string{}, p.complaints...)
}

func (p *Page) Strangers() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string{}, p.strangers...)
}

func (p *Page) Do(actions ...chromedp.Action) {
	p.t.Helper()
	done := make(chan error, 1)
	go func() { done <- chromedp.Run(p.ctx, actions...) }()
	select {
	case err := <-done:
		if err != nil {
			p.t.Fatalf("the browser: %v; complaints %q", err, p.Complaints())
		}
	case <-time.After(patience):
		var text string
		chromedp.Run(p.ctx, chromedp.Text("body", &text))
		p.t.Fatalf("the page did not get that far; complaints %q; it shows %q", p.Complaints(), text)
	}
}

// named holds the keys that have a name instead of a letter.
var named = map[string]struct {
	text string
	code int64
}{"Enter": {"\r", 13}, "Escape": {"", 27}, "ArrowLeft": {"", 37}, "ArrowUp": {"", 38}, "ArrowRight": {"", 39}, "ArrowDown": {"", 40}}

// Press presses `keys` in order. A key whose event the page intercepts enters
// no letter.
func (p *Page) Press(keys ...string) {
	p.t.Helper()
	for _, key := range keys {
		k, ok := named[key]
		if !ok {
			k.text = key
		}
		event := func(kind input.KeyType) *input.DispatchKeyEventParams {
			return input.DispatchKeyEvent(kind).WithKey(key).WithWindowsVirtualKeyCode(k.code)
		}
		p.Do(event(input.KeyDown).WithText(k.text), event(input.KeyUp))
	}
}

func (p *Page) Await(expression string) {
	p.t.Helper()
	p.Do(chromedp.Poll(expression, nil, chromedp.WithPollingTimeout(patience)))
}

func (p *Page) Text(expression string) (text string) {
	p.t.Helper()
	p.Do(chromedp.Evaluate(fmt.Sprintf("String(%s)", expression), &text))
	return text
}

// Drop drops a file in the middle of the window, as a file manager does.
func (p *Page) Drop(path string) {
	p.t.Helper()
	data := &input.DragData{Items: []*input.DragDataItem{}, Files: []string{path}, DragOperationsMask: 1}
	for _, kind := range []input.DispatchDragEventType{input.DragEnter, input.DragOver, input.Drop} {
		p.Do(input.DispatchDragEvent(kind, 200, 300, data))
	}
}

// Window sets the theme, "light" or "dark", and the window size.
func (p *Page) Window(theme string, width, height int64) {
	p.t.Helper()
	p.Do(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: theme}, {Name: "prefers-reduced-motion", Value: "reduce"}}),
		emulation.SetDeviceMetricsOverride(width, height, 1, width < 600))
}

func (p *Page) Picture() []byte {
	p.t.Helper()
	return p.screenshot(page.CaptureScreenshot())
}

// Drawing returns a screenshot as a JPEG file, which is smaller than a PNG.
func (p *Page) Drawing() []byte {
	p.t.Helper()
	return p.screenshot(page.CaptureScreenshot().WithFormat(page.CaptureScreenshotFormatJpeg).WithQuality(86))
}

func (p *Page) screenshot(take *page.CaptureScreenshotParams) (file []byte) {
	p.t.Helper()
	p.Do(chromedp.ActionFunc(func(ctx context.Context) (err error) {
		file, err = take.Do(ctx)
		return err
	}))
	return file
}

// Broken returns the rules of axe-core that the page breaks, with locations.
func (p *Page) Broken() (rules []string) {
	p.t.Helper()
	script := axe(p.t)
	if script == "" {
		return nil
	}
	var out string
	p.Do(chromedp.Evaluate(script+";0", nil),
		chromedp.Evaluate(`axe.run(document, {resultTypes: ['violations']}).then((r) => JSON.stringify(
			r.violations.map((v) => v.id + ': ' + v.help + ': ' + v.nodes.map((n) => n.html + ' ' + n.any.map((a) => a.message)).join(' | '))))`, &out,
			func(e *runtime.EvaluateParams) *runtime.EvaluateParams { return e.WithAwaitPromise(true) }))
	if err := json.Unmarshal([]byte(out), &rules); err != nil {
		p.t.Fatalf("axe-core answers %q: %v", out, err)
	}
	return rules
}

func axe(t testing.TB) string {
	t.Helper()
	path := os.Getenv("CPAR_AXE")
	if path == "" {
		if os.Getenv("CPAR_AXE_TEST") == "required" {
			t.Fatal("CPAR_AXE names no file")
		}
		return ""
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
