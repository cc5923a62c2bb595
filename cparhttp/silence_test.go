package cparhttp

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// slowBody waits before each of its two halves.
type slowBody struct {
	*strings.Reader
	pause time.Duration
}

func (b slowBody) Read(p []byte) (int, error) {
	if b.Len() > 0 {
		time.Sleep(b.pause)
	}
	return b.Reader.Read(p[:min(len(p), 8)])
}

func (slowBody) Close() error { return nil }

type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

func TestSilenceIsReportedFromThreeSecondsOn(t *testing.T) {
	for _, c := range []struct {
		name        string
		head, pause time.Duration
		want        []time.Duration
	}{
		{"a server that answers", 2500 * time.Millisecond, 2500 * time.Millisecond, nil},
		{"silent before the answer", 5500 * time.Millisecond, 0, []time.Duration{3, 4, 5, 0}},
		{"silent within the answer", 0, 4700 * time.Millisecond, []time.Duration{3, 4, 0, 3, 4, 0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, err := New("https://cloud.example", &http.Client{Transport: transport(func(*http.Request) (*http.Response, error) {
					time.Sleep(c.head)
					body := slowBody{strings.NewReader(`{"status": "ok"}`), c.pause}
					return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {TypeJSON}}, Body: body}, nil
				})})
				if err != nil {
					t.Fatal(err)
				}
				var told []time.Duration
				client.Silent = func(d time.Duration) { told = append(told, d/time.Second) }
				if _, err := client.Health(t.Context()); err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(told, c.want) {
					t.Errorf("told %d, want %d", told, c.want)
				}
			})
		})
	}
}
