// Package bar shows people how far long work has come.
package bar

import (
	"io"
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"cpar/internal/progress"
)

// showAfter is how long a stage may take in silence.
const showAfter = 2 * time.Second

// On shows a bar with rate and time left for every stage that takes longer than
// showAfter. It is for people: where w is no terminal it returns nil.
func On(w io.Writer) progress.Func {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	var (
		mu    sync.Mutex
		stage string
		bar   *progressbar.ProgressBar
	)
	return func(name string, done, total int) {
		mu.Lock()
		defer mu.Unlock()
		if name != stage {
			if bar != nil {
				bar.Clear()
			}
			// The bar counts its rate from the start of the stage, unseen at first.
			stage = name
			bar = progressbar.NewOptions(total,
				progressbar.OptionSetWriter(&late{w: w, from: time.Now().Add(showAfter)}),
				progressbar.OptionSetDescription(name),
				progressbar.OptionShowCount(),
				progressbar.OptionShowIts(),
				progressbar.OptionSetPredictTime(true),
				progressbar.OptionThrottle(100*time.Millisecond),
				progressbar.OptionClearOnFinish(),
			)
		}
		bar.Set(done)
	}
}

// late drops what is written to it before a time.
type late struct {
	w    io.Writer
	from time.Time
}

func (l *late) Write(p []byte) (int, error) {
	if time.Now().Before(l.from) {
		return len(p), nil
	}
	return l.w.Write(p)
}
