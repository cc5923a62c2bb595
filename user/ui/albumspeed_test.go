//go:build unix

package ui

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"

	"cpar/internal/scene"
	"cpar/internal/testing/browser"
	"cpar/photo/dataset"
	"cpar/user/album"
)

// A photo added to an album of 100,000 photos with thumbnails costs at most 128 KiB
// beyond its bytes, with its thumbnails, its row and the generation.
func TestPhotoAddedToLargeAlbumCostsLittle(t *testing.T) {
	m := newAlbum(t, 100_000)
	a := m.synced(t, "two")
	worst := int64(0)
	for i := range 6 {
		file, words, err := scene.RenderJPEG(7, i)
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(m.root, fmt.Sprintf("added %d", i))
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprintf("%d.jpg", i)
		file = dated(file, fmt.Sprintf("20%d:03:04 05:06:07", 14+2*i)) // among others, or of a new month
		if err := errors.Join(os.WriteFile(filepath.Join(dir, name), file, 0o600), dataset.WriteManifestFile(dir, []dataset.Photo{{Name: name, Keywords: words}})); err != nil {
			t.Fatal(err)
		}
		before := m.store.Sent
		sum, err := a.Add(t.Context(), []string{dir}, album.AddOptions{PlaceDigits: 2})
		if err != nil || sum.Photos != 1 || a.Usage().Photos != 100_000+realPhotos+i+1 {
			t.Fatalf("added %+v to %d photos, %v", sum, a.Usage().Photos, err)
		}
		worst = max(worst, m.store.Sent-before-int64(len(file)))
	}
	t.Logf("a photo sent at most %d bytes beyond its own", worst)
	if worst > 128<<10 {
		t.Error("want at most 128 KiB")
	}
}

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
	_, _, address := startSeeking(t, m.device(t, "two"), &fakeSeeker{})
	p.Do(performance.Enable().WithTimeDomain(performance.EnableTimeDomainThreadTicks))
	p.Open(address)
	p.Await(shown)
	page, program := worked(p), spent(t)-before
	t.Logf("first thumbnails after %v, %s ms after navigation; processor time: %v of the page, %v of the program", time.Since(began), p.Text(`Math.round(performance.now())`), page, program)
	if page+program > time.Second {
		t.Errorf("the first thumbnails took %v of processor time", page+program)
	}
	p.Text(`(() => {
		const make = URL.createObjectURL; window.urls_ = 0;
		URL.createObjectURL = (blob) => { window.urls_++; return make.call(URL, blob); };
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
	t.Logf("scrolling: the longest task took %v of processor time (%v); %s", scroll.CPU, scroll.Wall, p.Text("`${frames_.length} frames, ${frames_.filter((ms) => ms > 50).length} over 50 ms, ${frames_.filter((ms) => ms > 100).length} over 100 ms, the longest ${Math.round(Math.max(...frames_))} ms`"))
	if got := p.Text(`window.urls_`); got != "0" {
		t.Errorf("the page waited for another process of the browser %s times, because it made that many object URLs", got)
	}
	if scroll.CPU > 100*time.Millisecond {
		t.Errorf("a task of %v delays a frame: %q", scroll.CPU, scroll.Parts)
	}
	p.Text(`scrollTo(0, 0)`)
	p.Text(`document.getElementById('find').value = 'sea boat'`)
	before, page = spent(t), worked(p)
	p.Text(`(() => {
		const began = performance.now(), wait = () => {
			if (document.querySelector('#alike .wall img.there') && ` + shown + `) window.took_ = performance.now() - began;
			else setTimeout(wait, 5);
		};
		document.querySelector('.finding').requestSubmit();
		wait();
	})()`)
	p.Await(`window.took_`)
	page, program = worked(p)-page, spent(t)-before
	t.Logf("from Enter to the first thumbnails of both sections: %s ms; processor time: %v of the page, %v of the program", p.Text(`Math.round(window.took_)`), page, program)
	if page+program > 300*time.Millisecond {
		t.Errorf("a search took %v of processor time", page+program)
	}
	if got := append(p.Complaints(), p.Strangers()...); len(got) > 0 {
		t.Errorf("complaints: %q", got)
	}
}
