package indexdir

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
)

func TestOpenWhileExchanged(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, manifestName)
	put := func() {
		next := filepath.Join(dir, "next")
		if err := os.WriteFile(next, []byte("manifest"), 0o600); err != nil {
			t.Error(err)
		}
		if err := os.Rename(next, path); err != nil {
			t.Error(err)
		}
	}
	put()
	var wg sync.WaitGroup
	stop := make(chan struct{})
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				put()
			}
		}
	})
	for range 5000 {
		f, _, err := openRegular(path)
		if err != nil {
			t.Error(err)
			break
		}
		f.Close()
	}
	close(stop)
	wg.Wait()
}
