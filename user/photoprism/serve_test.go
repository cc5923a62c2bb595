package photoprism

import (
	"context"
	"crypto/tls"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"cpar"
	"cpar/model/rank"
	"cpar/user"
	"cpar/user/device"
)

func TestServeFinishesRunningRequests(t *testing.T) {
	donor := httptest.NewTLSServer(nil)
	donor.Close()
	quiet := slog.New(slog.DiscardHandler)
	h := Handler(Options{Token: token, Log: quiet, Label: func(context.Context, [][]byte) ([]Label, error) { return nil, nil }})
	for _, cert := range []*tls.Certificate{nil, &donor.TLS.Certificates[0]} {
		l, loopback, err := Listen("127.0.0.1:0", cert)
		if err != nil || !loopback {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- Serve(ctx, l, cert, h, quiet) }()
		client, scheme := http.DefaultClient, "http://"
		if cert != nil {
			client, scheme = donor.Client(), "https://"
		}
		resp, err := client.Get(scheme + l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusUnauthorized {
			t.Errorf("status %d", resp.StatusCode)
		}
		stop()
		if err := <-ended; err != nil {
			t.Errorf("stopped: %v", err)
		}
	}
}

func TestListenRequiresCertificateOffLoopback(t *testing.T) {
	if _, _, err := Listen("0.0.0.0:0", nil); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("without a certificate: %v", err)
	}
	l, loopback, err := Listen("0.0.0.0:0", &tls.Certificate{})
	if err != nil || loopback {
		t.Fatalf("%v, loopback %v", err, loopback)
	}
	l.Close()
	if _, _, err := Listen("nonsense", nil); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("nonsense: %v", err)
	}
}

func TestMadeTokenIsReused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "token")
	first, made, err := MadeToken(path)
	if err != nil || !made || CheckToken(first) != nil {
		t.Fatalf("%q, %v, %v", first, made, err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	again, made, err := MadeToken(path)
	if err != nil || made || again != first {
		t.Errorf("%q, %v, %v", again, made, err)
	}
	other, _, err := MadeToken(path + "2")
	if err != nil || other == first {
		t.Errorf("%q twice", other)
	}
	if _, err := ReadToken(path + "3"); !errors.Is(err, fs.ErrNotExist) || !errors.Is(err, cpar.ErrInput) {
		t.Error(err)
	}
	for _, bad := range []string{"", "short", "with a space in the middle of it", "with-a-letter-é-in-it", "line\nline\nline\nline\n"} {
		if err := CheckToken(bad); !errors.Is(err, cpar.ErrInput) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestMergedTakesHighestProbability(t *testing.T) {
	x := NewIndex(nil, device.AnnotateOptions{Ranking: user.Ranking{MaxKeywords: 3}})
	got, err := x.merged([]device.Annotated{
		{Keywords: []rank.Keyword{{Word: "sky", Probability: 0.6}, {Word: "dog", Probability: 0.51234567}}},
		{Keywords: []rank.Keyword{{Word: "sky", Probability: 0.9}, {Word: "cat", Probability: 0.55}, {Word: "ant", Probability: 0.55}}},
		{Keywords: []rank.Keyword{{Word: "sky", Probability: 0.7}}},
	})
	want := []Label{{"sky", "image", 0.9, 0.9}, {"ant", "image", 0.55, 0.55}, {"cat", "image", 0.55, 0.55}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	broken := errors.New("broken")
	if _, err := x.merged([]device.Annotated{{Err: broken}}); !errors.Is(err, broken) {
		t.Error(err)
	}
}

func TestWaitForIndexEndsWithRequest(t *testing.T) {
	x := NewIndex(nil, device.AnnotateOptions{})
	x.turn <- struct{}{}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := x.Label(ctx, [][]byte{{1}}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
