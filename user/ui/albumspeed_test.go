//go:build unix

package ui

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"

	"cpar/internal/testing/browser"
)

// worked returns the processor time of the page's main thread.
func worked(p *browser.Page) (sum time.Duration) {
	p.Do(chromedp.ActionFunc(func(ctx context.Context) error {
		all, err := performance.GetMetrics().Do(ctx)
		for _, m := range all {
			if m.Name == "TaskDuration" {
				sum = time.Duration(m.Value * float64(time.Second))
			}
		}
		return err
	}))
	return sum
}

// spent returns the processor time of this process.
func spent(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// The page of 100,000 photos has its first thumbnails soon after the start, and no
// task of the browser delays a frame by more than 100 ms while the user scrolls.
// Both bounds are checked in processor time, and the elapsed time is logged.
func TestAlbumScrollsSmoothly(t *testing.T) {
	m := newAlbum(t, 100_000)
	m.synced(t, "two")
	p := browser.New(t)
	p.Window("light", 1280, 860)
	began, before := time.Now(), spent(t)
	_, _, address := startAlbum(t, m.device(t, "two"))
	p.Do(performance.Enable().WithTimeDomain(performance.EnableTimeDomainThreadTicks))
	p.Open(address)
	p.Await(shown)
	page, program := worked(p), spent(t)-before
	t.Logf("first thumbnails after %v, %s ms after navigation; processor time: %v of the page, %v of the program", time.Since(began), p.Text(`Math.round(performance.now())`), page, program)
	if page+program > time.Second {
		t.Errorf("the first thumbnails took %v of processor time", page+program)
	}
	p.Text(`(() => {
		window.frames_ = []; let last = performance.now();
		const next = (now) => { window.frames_.push(now - last); last = now; requestAnimationFrame(next); };
		requestAnimationFrame(next);
	})()`)
	scroll := p.LongestTask(func() {
		for i := range 120 {
			p.Do(input.DispatchMouseEvent(input.MouseWheel, 400, 400).WithDeltaX(0).WithDeltaY([]float64{240, 900, 4000}[i/40]))
			time.Sleep(16 * time.Millisecond)
		}
		for i := range 20 {
			p.Text(fmt.Sprintf(`scrollTo(0, (document.documentElement.scrollHeight - innerHeight) * %d / 20)`, 20-i))
			time.Sleep(30 * time.Millisecond)
		}
		p.Await(shown)
	})
	t.Logf("scrolling: the longest task took %v of processor time (%v); %s frames, the longest %s ms", scroll.CPU, scroll.Wall,
		p.Text(`window.frames_.length`), p.Text(`Math.round(Math.max(...window.frames_))`))
	if scroll.CPU > 100*time.Millisecond {
		t.Errorf("a task of %v delays a frame: %q", scroll.CPU, scroll.Parts)
	}
	if got := append(p.Complaints(), p.Strangers()...); len(got) > 0 {
		t.Errorf("complaints: %q", got)
	}
}
