// Package progress shows people how far long work has come.
package progress

import (
	"io"
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// showAfter is how long a stage may take in silence.
const showAfter = 2 * time.Second

// Bar returns a function that shows a bar with rate and time left for every stage that takes
// longer than showAfter, on a terminal only: it is for people.
func Bar(w io.Writer) func(stage string, done, total int) {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	var (
		mu    sync.Mutex
		stage string
		since time.Time
		bar   *progressbar.ProgressBar
	)
	return func(name string, done, total int) {
		mu.Lock()
		defer mu.Unlock()
		if name != stage {
			if bar != nil {
				bar.Clear()
			}
			stage, since, bar = name, time.Now(), nil
		}
		if bar == nil && done < total && time.Since(since) > showAfter {
			bar = progressbar.NewOptions(total,
				progressbar.OptionSetWriter(w),
				progressbar.OptionSetDescription(name),
				progressbar.OptionShowCount(),
				progressbar.OptionShowIts(),
				progressbar.OptionSetPredictTime(true),
				progressbar.OptionThrottle(100*time.Millisecond),
				progressbar.OptionClearOnFinish(),
			)
		}
		if bar != nil {
			bar.Set(done)
		}
	}
}
