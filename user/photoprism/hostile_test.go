package photoprism

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"cpar"
)

func never(t *testing.T) func(context.Context, [][]byte) ([]Label, error) {
	return func(context.Context, [][]byte) ([]Label, error) {
		t.Error("a photo was looked at")
		return nil, nil
	}
}

func TestBadRequestsAreRefused(t *testing.T) {
	image := dataURL([]byte("x"))
	many := make([]string, 10_000)
	for i := range many {
		many[i] = image
	}
	for name, c := range map[string]struct {
		body   any
		status int
		says   string
	}{
		"an address":           {asPhotoPrism("https://photos.example/1.jpg"), 400, "fetches no addresses; set FileScheme: data"},
		"a file":               {asPhotoPrism("file:///etc/passwd"), 400, "fetches no addresses"},
		"a path":               {asPhotoPrism("/photoprism/originals/1.jpg"), 400, "image 1: unusable input: not base64"},
		"an address in url":    {map[string]any{"url": "https://photos.example/1.jpg"}, 400, "fetches no addresses"},
		"url and images":       {map[string]any{"url": "data:,x", "images": []string{image}}, 400, "fetches no addresses"},
		"ten thousand":         {asPhotoPrism(many...), 400, "more than 8 images"},
		"none":                 {map[string]any{"id": "1"}, 400, "no images"},
		"an empty list":        {map[string]any{"images": []string{}}, 400, "no images"},
		"not a list":           {map[string]any{"images": image}, 400, "images is not a list of strings"},
		"a list of numbers":    {map[string]any{"images": []int{1}}, 400, "images is not a list of strings"},
		"null":                 {map[string]any{"images": nil}, 400, "images is not a list of strings"},
		"no JSON":              {[]byte("hello"), 400, "not JSON"},
		"two":                  {[]byte(`{"images":["eA=="]}{}`), 400, "not JSON"},
		"deep":                 {[]byte(strings.Repeat("[", 100_000)), 400, "not JSON"},
		"nothing":              {[]byte{}, 400, "not JSON"},
		"a data URL of text":   {asPhotoPrism("data:image/jpeg,hello"), 400, "a data URL that is not base64"},
		"bad base64":           {asPhotoPrism("data:image/jpeg;base64,*"), 400, "not base64"},
		"an empty picture":     {asPhotoPrism("data:image/jpeg;base64,"), 400, "not base64"},
		"a very long type":     {asPhotoPrism("data:" + strings.Repeat("a", 300) + ";base64,eA=="), 400, "a data URL that is not base64"},
		"too large":            {bytes.Repeat([]byte(" "), MaxBody+1), 413, "too large"},
		"a second bad picture": {asPhotoPrism(image, "?"), 400, "image 2: "},
	} {
		t.Run(name, func(t *testing.T) {
			url, _ := service(t, Options{Label: never(t)})
			status, answer := post(t, url, token, c.body)
			var r response
			if err := json.Unmarshal(answer, &r); err != nil || status != c.status || r.Code != c.status || !strings.Contains(r.Error, c.says) {
				t.Errorf("status %d: %s; want %d and %q", status, answer, c.status, c.says)
			}
			if len(answer) > 400 {
				t.Errorf("%d bytes of answer", len(answer))
			}
		})
	}
}

func TestGuardRequiresKeyAndHost(t *testing.T) {
	good := asPhotoPrism(dataURL([]byte("x")))
	body, err := json.Marshal(good)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, host, auth string
		header           map[string]string
		o                Options
		status           int
	}{
		{"the key", "127.0.0.1:80", "Bearer " + token, nil, Options{}, 200},
		{"by name", "localhost", "bearer " + token, nil, Options{}, 200},
		{"by IPv6", "[::1]:80", "Bearer " + token, nil, Options{}, 200},
		{"no key", "localhost", "", nil, Options{}, 401},
		{"another", "localhost", "Bearer " + strings.Repeat("0", 32), nil, Options{}, 401},
		{"a part", "localhost", "Bearer " + token[:31], nil, Options{}, 401},
		{"an empty one", "localhost", "Bearer ", nil, Options{}, 401},
		{"another scheme", "localhost", "Basic " + token, nil, Options{}, 401},
		{"rebound", "evil.example:80", "Bearer " + token, nil, Options{}, 403},
		{"nearly", "localhost.evil.example", "Bearer " + token, nil, Options{}, 403},
		{"no host", "", "Bearer " + token, nil, Options{}, 403},
		{"an address", "192.0.2.1", "Bearer " + token, nil, Options{}, 403},
		{"an address off loopback", "192.0.2.1:80", "Bearer " + token, nil, Options{Addresses: true}, 200},
		{"a name off loopback", "evil.example", "Bearer " + token, nil, Options{Addresses: true}, 403},
		{"a name that was named", "CPAR:80", "Bearer " + token, nil, Options{Hosts: []string{"cpar"}}, 200},
		{"a page", "localhost", "Bearer " + token, map[string]string{"Origin": "https://evil.example"}, Options{}, 403},
		{"a page, new browsers", "localhost", "Bearer " + token, map[string]string{"Sec-Fetch-Site": "cross-site"}, Options{}, 403},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.o.Token, c.o.Log = token, slog.New(slog.DiscardHandler)
			c.o.Label = func(context.Context, [][]byte) ([]Label, error) { return nil, nil }
			if c.status != 200 {
				c.o.Label = never(t)
			}
			r := httptest.NewRequest(http.MethodPost, "/api/v1/vision/labels", bytes.NewReader(body))
			r.Host = c.host
			r.Header.Set("Authorization", c.auth)
			for k, v := range c.header {
				r.Header.Set(k, v)
			}
			w := httptest.NewRecorder()
			Handler(c.o).ServeHTTP(w, r)
			if w.Code != c.status {
				t.Errorf("status %d, want %d: %s", w.Code, c.status, w.Body)
			}
		})
	}
	t.Run("no token at all", func(t *testing.T) {
		r := httptest.NewRequest(http.MethodPost, "http://localhost/api/v1/vision/labels", bytes.NewReader(body))
		r.Header.Set("Authorization", "Bearer ")
		w := httptest.NewRecorder()
		Handler(Options{Label: never(t), Log: slog.New(slog.DiscardHandler)}).ServeHTTP(w, r)
		if w.Code != http.StatusUnauthorized {
			t.Errorf("status %d", w.Code)
		}
	})
}

func TestUnknownRoutesAreRefused(t *testing.T) {
	url, _ := service(t, Options{Label: never(t)})
	base := strings.TrimSuffix(url, "/labels")
	for _, path := range []string{"/caption", "/nsfw", "/face", "/labels/a/b/c", ""} {
		if status, answer := post(t, base+path, token, asPhotoPrism(dataURL([]byte("x")))); status != 404 || !strings.Contains(string(answer), `"code":404`) {
			t.Errorf("%s: status %d, %s", path, status, answer)
		}
	}
}

func TestSlowBodyTimesOut(t *testing.T) {
	s := httptest.NewServer(newServer(Options{Token: token, Label: never(t), Log: slog.New(slog.DiscardHandler)}, 20*time.Millisecond))
	defer s.Close()
	c, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "POST /api/v1/vision/labels HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Length: 1000\r\n\r\n{\"images\":[", token)
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusRequestTimeout {
		t.Errorf("status %d", resp.StatusCode)
	}
	if rest, err := io.ReadAll(resp.Body); err != nil || !strings.Contains(string(rest), "is incomplete") {
		t.Errorf("%q, %v", rest, err)
	}
}

// Requests above the limit are rejected. The others are processed a few at a
// time.
func TestExcessRequestsAreRejected(t *testing.T) {
	var mu sync.Mutex
	at, most := 0, 0
	full, open := make(chan struct{}), make(chan struct{})
	url, _ := service(t, Options{Label: func(context.Context, [][]byte) ([]Label, error) {
		mu.Lock()
		at++
		most = max(most, at)
		mu.Unlock()
		<-open
		mu.Lock()
		at--
		mu.Unlock()
		return nil, nil
	}})
	var once sync.Once
	var g sync.WaitGroup
	count := map[int]int{}
	for range 3 * (working + waiting) {
		g.Go(func() {
			status, _ := post(t, url, token, asPhotoPrism(dataURL([]byte("x"))))
			mu.Lock()
			defer mu.Unlock()
			if count[status]++; count[429] == 2*(working+waiting) {
				once.Do(func() { close(full) })
			}
		})
	}
	<-full
	close(open)
	g.Wait()
	if most != working || count[200] != working+waiting {
		t.Errorf("%d at once, %v", most, count)
	}
}

// The log has the error. PhotoPrism sees only its status.
func TestFailuresAreLoggedNotSent(t *testing.T) {
	for _, c := range []struct {
		err    error
		status int
		says   string
	}{
		{fmt.Errorf("image 1: %w: not a readable image", cpar.ErrInput), 400, "image 1: unusable input: not a readable image"},
		{fmt.Errorf("asking: %w: no route to cloud.example", cpar.ErrCloud), 503, "the log of cpar says why"},
		{errors.New("beach"), 503, "the log of cpar says why"},
	} {
		url, _ := service(t, Options{Label: func(context.Context, [][]byte) ([]Label, error) { return nil, c.err }})
		status, answer := post(t, url, token, asPhotoPrism(dataURL([]byte("x"))))
		if status != c.status || !strings.Contains(string(answer), c.says) || strings.Contains(string(answer), "cloud.example") {
			t.Errorf("%v: status %d, %s", c.err, status, answer)
		}
	}
}

func FuzzRequest(f *testing.F) {
	f.Add([]byte(`{"id":"1","images":["data:image/jpeg;base64,eA==","eA=="],"stream":false}`))
	f.Add([]byte(`{"images":["https://x"],"url":"y"}`))
	f.Add([]byte(`{"images":[[]]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		id, pictures, err := decodeRequest(body)
		if err != nil {
			if !errors.Is(err, cpar.ErrInput) || len(err.Error()) > 200 {
				t.Errorf("%v", err)
			}
			return
		}
		total := 0
		for _, p := range pictures {
			if len(p) == 0 || !bytes.Contains(body, []byte(base64.StdEncoding.EncodeToString(p)[:1])) {
				t.Errorf("picture %q of %q", p, body)
			}
			total += len(p)
		}
		if len(pictures) == 0 || len(pictures) > MaxImages || total > len(body) || len(id) > 64 {
			t.Errorf("%d pictures of %d bytes, id %q, of %d bytes", len(pictures), total, id, len(body))
		}
	})
}
