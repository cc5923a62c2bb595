package api_test

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"cpar"
	"cpar/cloud/admission"
	"cpar/cloud/api"
	"cpar/cloud/tenant"
	"cpar/cparhttp"
)

// Manifests of the largest size that arrive slowly from two tenants leave room
// for the small requests of a third, and for its own large manifest.
func TestSlowManifestsLeaveRoom(t *testing.T) {
	c := startTown(t)
	registry, err := tenant.Open(c.data, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	slow := []string{c.issue(t, "berta", "b", tenant.Admin).Reveal(), c.issue(t, "clara", "c", tenant.Admin).Reveal()}
	third := c.issue(t, "dora", "d", tenant.Admin)
	gate := admission.New(admission.Limits{Wait: time.Second})
	h, err := api.New(c.store, new(fake), api.Options{Auth: registry, Gate: gate, StallTimeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(h)
	defer srv.Close()
	for i := range 12 {
		conn, err := net.Dial("tcp", strings.TrimPrefix(srv.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "POST /v1/indexes/%v/missing HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s",
			cpar.IndexID{1}, slow[i%2], cparhttp.MaxManifestBytes, make([]byte, 100<<10))
	}
	for gate.Stats().Bodies.Used < 12*(100<<10) {
		time.Sleep(time.Millisecond)
	}
	ask := func(path string, body []byte) int {
		q, _ := http.NewRequest("POST", srv.URL+"/v1/indexes/"+cpar.IndexID{1}.String()+path, bytes.NewReader(body))
		third.SetHeader(q.Header)
		resp, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	small, err := request(cpar.IndexID{1}, 1).MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	if got := ask("/annotate", small); got != http.StatusOK {
		t.Errorf("a small request: %d", got)
	}
	// The body is not a manifest, but the server notices only when all of it
	// has arrived.
	if got := ask("/missing", make([]byte, cparhttp.MaxManifestBytes)); got != http.StatusUnprocessableEntity {
		t.Errorf("a large manifest: %d", got)
	}
}

// Replies that clients do not read count until they are sent.
func TestUnreadRepliesCount(t *testing.T) {
	gate := admission.New(admission.Limits{})
	c := start(t, api.Options{Gate: gate, StallTimeout: time.Minute})
	folder, m := build(t, 1, 1)
	if _, err := c.Push(t.Context(), folder, nil); err != nil {
		t.Fatal(err)
	}
	b, err := m.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	h, err := api.New(c.store, c.fake, api.Options{Gate: gate})
	if err != nil {
		t.Fatal(err)
	}
	for path, least := range map[string]int{"/v1/indexes": 100, "/v1/indexes/" + m.ID.String() + "/manifest": len(b)} {
		w := &held{ResponseRecorder: httptest.NewRecorder(), writing: make(chan struct{}), taken: make(chan struct{})}
		done := make(chan struct{})
		go func() {
			defer close(done)
			h.ServeHTTP(w, httptest.NewRequest("GET", "http://localhost"+path, nil))
		}()
		<-w.writing
		if used := gate.Stats().Replies.Used; used < int64(least) {
			t.Errorf("%s: %d bytes are counted while the client takes none of %d", path, used, least)
		}
		close(w.taken)
		<-done
		eventually(t, gate, path)
	}
}

// held accepts no body until taken is closed.
type held struct {
	*httptest.ResponseRecorder
	writing, taken chan struct{}
}

func (h *held) Write(p []byte) (int, error) {
	select {
	case <-h.taken:
	default:
		close(h.writing)
		<-h.taken
	}
	return h.ResponseRecorder.Write(p)
}
