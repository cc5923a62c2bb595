package cparhttp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cpar"
	"cpar/internal/hint"
)

// A script fails once per line, then succeeds. It needs no network.
type script struct {
	answers []http.Response
	asked   []time.Time
}

func (s *script) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		io.Copy(io.Discard, r.Body)
	}
	s.asked = append(s.asked, time.Now())
	if len(s.answers) == 0 {
		return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {TypeJSON}}, Body: io.NopCloser(strings.NewReader(`{"indexes":[]}`))}, nil
	}
	a := s.answers[0]
	s.answers = s.answers[1:]
	a.Request = r
	return &a, nil
}

func says(status int, code, after string) http.Response {
	h := http.Header{"Content-Type": {TypeProblem}}
	if after != "" {
		h.Set("Retry-After", after)
	}
	return http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(fmt.Sprintf(`{"title":"t","status":%d,"code":%q,"detail":"d"}`, status, code)))}
}

func TestBusyServersAreRetried(t *testing.T) {
	for name, k := range map[string]struct {
		answers []http.Response
		asked   int
		took    time.Duration
		say     string // error text, or ""
	}{
		"busy twice":             {[]http.Response{says(503, CodeBusy, "3"), says(503, CodeBusy, "5")}, 3, 8 * time.Second, ""},
		"asked too often":        {[]http.Response{says(429, CodeBusy, "1")}, 2, time.Second, ""},
		"its storage is away":    {[]http.Response{says(503, CodeAway, "10")}, 2, 10 * time.Second, ""},
		"in a hurry":             {[]http.Response{says(503, CodeBusy, "0")}, 2, time.Second, ""},
		"for ever":               {repeat("50", 9), 3, 100 * time.Second, "to 3 requests within 1m40s"},
		"longer than we wait":    {[]http.Response{says(503, CodeBusy, "121")}, 1, 0, `it says "d"`},
		"it does not say":        {[]http.Response{says(503, CodeBusy, "")}, 1, 0, `it says "d"`},
		"it does not say a time": {[]http.Response{says(503, CodeBusy, "soon")}, 1, 0, `it says "d"`},
		"it says a negative one": {[]http.Response{says(503, CodeBusy, "-5")}, 1, 0, `it says "d"`},
		"a wrong token":          {[]http.Response{says(429, CodeUnauthorized, "5")}, 1, 0, "token"},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &script{answers: k.answers}
			c, err := New("http://localhost:1", &http.Client{Transport: s})
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			_, err = c.List(t.Context())
			if took := time.Since(began); took != k.took || len(s.asked) != k.asked {
				t.Errorf("%s: asked %d times in %v; want %d in %v", name, len(s.asked), took, k.asked, k.took)
			}
			if (err == nil) != (k.say == "") || err != nil && (!errors.Is(err, cpar.ErrCloud) || !strings.Contains(err.Error(), k.say)) {
				t.Errorf("%s: %v", name, err)
			}
			if err != nil && k.say != "token" && hint.Of(err) != "try again later" {
				t.Errorf("%s: hint %q", name, hint.Of(err))
			}
		})
	}
}

func repeat(after string, n int) (out []http.Response) {
	for range n {
		out = append(out, says(503, CodeBusy, after))
	}
	return out
}

func TestCancelEndsBusyWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{answers: []http.Response{says(503, CodeBusy, "60")}}
		c, err := New("http://localhost:1", &http.Client{Transport: s})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		began := time.Now()
		if _, err := c.List(ctx); !errors.Is(err, context.Canceled) || time.Since(began) != time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

// An answer to HEAD has no body, so its problem follows from its status.
func TestAnswersToHeadAreTold(t *testing.T) {
	head := func(status int, header ...string) http.Response {
		a := says(status, "", "")
		a.Body = http.NoBody
		for i := 0; i < len(header); i += 2 {
			a.Header.Set(header[i], header[i+1])
		}
		return a
	}
	for name, k := range map[string]struct {
		answer http.Response
		want   error
		took   time.Duration
	}{
		"missing":         {head(404), ErrNotFound, 0},
		"without a token": {head(401, "WWW-Authenticate", "Bearer"), ErrToken, 0},
		"without a scope": {head(403, "WWW-Authenticate", `Bearer error="insufficient_scope"`), ErrToken, 0},
		"forbidden":       {head(403), cpar.ErrCloud, 0},
		"damaged":         {head(503), cpar.ErrCloud, 0},
		"full disk":       {head(507), cpar.ErrStorage, 0},
		"a bug":           {head(500), cpar.ErrCloud, 0},
		"busy":            {head(503, "Retry-After", "3"), nil, 3 * time.Second},
		"not cpard":       {head(404, "Content-Type", "text/html"), cpar.ErrCloud, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			there := head(200, "Content-Length", "5", "Last-Modified", time.Unix(0, 0).UTC().Format(http.TimeFormat), "ETag", `"`+cpar.Digest{}.String()+`"`)
			s := &script{answers: []http.Response{k.answer, there}}
			c, err := New("http://localhost:1", &http.Client{Transport: s})
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			info, err := c.StatBlob(t.Context(), "a", "p1")
			if !errors.Is(err, k.want) || time.Since(began) != k.took || (err == nil) != (info.Bytes == 5) {
				t.Errorf("%s: %+v, %v after %v", name, info, err, time.Since(began))
			}
			if strings.Contains(hint.Of(err), "cpard, and not") != (name == "not cpard") {
				t.Errorf("%s: hint %q", name, hint.Of(err))
			}
		})
	}
}
