package daemon_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cpar"
	"cpar/cloud/daemon"
	"cpar/cparhttp"
	"cpar/internal/hint"
	"cpar/internal/indexdir"
)

func TestRun(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	for range 2 {
		ctx, stop := context.WithCancel(t.Context())
		ready, done := make(chan string, 1), make(chan error, 1)
		go func() {
			done <- daemon.Run(ctx, daemon.Options{Data: data, Listen: "localhost:0", Ready: func(url string) { ready <- url }})
		}()
		var url string
		select {
		case url = <-ready:
		case err := <-done:
			t.Fatal(err)
		}
		c, err := cparhttp.New(url, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.List(ctx); err != nil {
			t.Error(err)
		}
		err = daemon.Run(ctx, daemon.Options{Data: data, Listen: "127.0.0.1:0"})
		if !errors.Is(err, indexdir.ErrLocked) || hint.Of(err) == "" {
			t.Errorf("a second daemon: %v", err)
		}
		err = daemon.Run(ctx, daemon.Options{Data: t.TempDir(), Listen: strings.TrimPrefix(url, "http://")})
		if !errors.Is(err, cpar.ErrInput) {
			t.Errorf("a port in use: %v", err)
		}
		stop()
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(5 * time.Second):
			t.Fatal("the daemon does not stop")
		}
		if _, err := c.List(t.Context()); !errors.Is(err, cpar.ErrCloud) || hint.Of(err) != "is cpard running at "+url+"?" {
			t.Errorf("after the stop: %v (hint %q)", err, hint.Of(err))
		}
	}
}

func TestLoopbackOnly(t *testing.T) {
	for _, listen := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:80", "photos.example:80", "127.0.0.1", "", "localhost.example:1"} {
		data := filepath.Join(t.TempDir(), "d")
		err := daemon.Run(t.Context(), daemon.Options{Data: data, Listen: listen})
		if _, e := os.Stat(data); e == nil {
			t.Errorf("%q: the data folder was created", listen)
		}
		if !errors.Is(err, cpar.ErrInput) || hint.Of(err) == "" {
			t.Errorf("%q: %v", listen, err)
		}
	}
}
