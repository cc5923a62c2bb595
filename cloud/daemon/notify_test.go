//go:build unix

package daemon_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"cpar/cloud/daemon"
)

func TestSystemdIsNotified(t *testing.T) {
	// Socket paths must be short.
	dir, err := os.MkdirTemp("", "cpard")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "notify")
	c, err := net.ListenPacket("unixgram", path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	t.Setenv("NOTIFY_SOCKET", path)
	t.Setenv("WATCHDOG_USEC", "40000")
	hear := func(want string) {
		t.Helper()
		b := make([]byte, 1000)
		for {
			c.SetReadDeadline(time.Now().Add(20 * time.Second))
			n, _, err := c.ReadFrom(b)
			if err != nil {
				t.Fatalf("waiting for %s: %v", want, err)
			}
			if strings.HasPrefix(string(b[:n]), want) {
				return
			}
			if string(b[:n]) != "WATCHDOG=1" { // which may come at any time
				t.Fatalf("heard %q, want %s", b[:n], want)
			}
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	hangup, done := make(chan os.Signal), make(chan error, 1)
	go func() {
		done <- daemon.Run(ctx, daemon.Options{Data: filepath.Join(t.TempDir(), "data"), Listen: "127.0.0.1:0", Reload: hangup})
	}()
	hear("READY=1")
	hear("WATCHDOG=1")
	hear("WATCHDOG=1")
	hangup <- syscall.SIGHUP
	hear("RELOADING=1\nMONOTONIC_USEC=")
	hear("READY=1")
	stop()
	hear("STOPPING=1")
	if err := <-done; err != nil {
		t.Error(err)
	}
}
