// Package bar draws progress bars on a terminal.
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

const showAfter = 2 * time.Second

// On returns a Func that shows rate and remaining time of stages longer than
// showAfter. It returns nil if w is not a terminal.
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
			// Create the invisible bar now, because it measures the rate from
			// its creation.
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
