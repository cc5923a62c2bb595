package telemetry

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

func TestServerLogHasNoAddresses(t *testing.T) {
	for text, want := range map[string]string{
		"http: TLS handshake error from 192.0.2.7:51234: EOF":                           "http: TLS handshake error from (address): EOF",
		"http2: server connection error from [2001:db8::1%eth0]:443: x":                 "http2: server connection error from (address): x",
		"read tcp 10.0.0.1:8443->198.51.100.9:1: connection reset":                      "read tcp (address)->(address): connection reset",
		"http: Accept error: accept4: too many open files; retrying in 5ms after 1.25s": "",
	} {
		for _, clients := range []bool{false, true} {
			var b bytes.Buffer
			l := ServerLog(slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{Level: slog.LevelDebug})), clients)
			l.Print(text)
			wanted := want
			if clients || want == "" {
				wanted = text
			}
			if !strings.Contains(b.String(), "msg=\""+wanted+"\"") {
				t.Errorf("clients %v: %s; want %q", clients, &b, wanted)
			}
		}
	}
}
