package cparhttp

import (
	"errors"
	"io"
	"net"
	"net/url"
	"strings"
	"testing"

	"cpar"
	"cpar/internal/hint"
)

// A missing client certificate may show in several ways.
func TestExplain(t *testing.T) {
	for _, k := range []struct {
		scheme string
		err    error
		want   []string
	}{
		{"https", &net.OpError{Op: "dial", Err: errors.New("refused")}, []string{"is cpard running"}},
		{"http", io.ErrUnexpectedEOF, []string{"is cpard running"}},
		{"https", &net.OpError{Op: "remote error", Err: errors.New("tls: certificate required")}, []string{"does the cloud want a client certificate", "--cloud-cert and"}},
		{"https", &net.OpError{Op: "write", Err: errors.New("broken pipe")}, []string{"is cpard running", "--cloud-cert and"}},
		{"https", errors.New("http2: client conn could not be established"), []string{"is cpard running", "--cloud-cert and"}},
	} {
		c := &Client{base: &url.URL{Scheme: k.scheme, Host: "photos.example"}}
		err := c.explain(t.Context(), k.err)
		for _, want := range k.want {
			if !errors.Is(err, cpar.ErrCloud) || !strings.Contains(hint.Of(err), want) {
				t.Errorf("%v: %v, hint %q lacks %q", k.err, err, hint.Of(err), want)
			}
		}
	}
}
