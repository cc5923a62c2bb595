package cparhttp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"cpar"
	"cpar/internal/bearer"
	"cpar/internal/testing/indexsample"
)

func TestGarbageReplies(t *testing.T) {
	good := encoded(t, reply(2))
	other := reply(1)
	other.Index[0] = 2
	twice := reply(2)
	twice.Matches[1].Record = 0
	long := &cpar.Reply{Index: cpar.IndexID{1}, Matches: []cpar.Match{{Keywords: make([]byte, 44+2*(12+1<<16))}}}
	newer := bytes.Clone(good)
	newer[6]++
	problem := func(code string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", TypeProblem)
			w.WriteHeader(422)
			fmt.Fprintf(w, `{"title":"t","status":200,"code":%q,"detail":"a\u001b[31mred\nline%s"}`, code, strings.Repeat("x", 5000))
		}
	}
	hijack := func(answer string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			io.WriteString(conn, answer)
			conn.Close()
		}
	}
	for what, k := range map[string]struct {
		h    http.HandlerFunc
		want error
	}{
		"html":             {answers("text/html", []byte("<html>")), cpar.ErrCloud},
		"html as binary":   {answers(TypeBinary, []byte("<html>")), cpar.ErrCloud},
		"nothing":          {answers(TypeBinary, nil), cpar.ErrCloud},
		"no type":          {answers("", good), cpar.ErrCloud},
		"cut":              {answers(TypeBinary, good[:len(good)-1]), cpar.ErrCloud},
		"one more":         {answers(TypeBinary, append(bytes.Clone(good), 0)), cpar.ErrCloud},
		"another version":  {answers(TypeBinary, newer), cpar.ErrVersion},
		"another index":    {answers(TypeBinary, encoded(t, other)), cpar.ErrCloud},
		"too many":         {answers(TypeBinary, encoded(t, reply(3))), cpar.ErrCloud},
		"a record twice":   {answers(TypeBinary, encoded(t, twice)), cpar.ErrCloud},
		"oversized":        {answers(TypeBinary, encoded(t, long)), cpar.ErrCloud},
		"a bare 500":       {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "x", 500) }, cpar.ErrCloud},
		"a problem of 1MB": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(400); w.Write(make([]byte, 1<<20)) }, cpar.ErrCloud},
		"input":            {problem(CodeInput), cpar.ErrInput},
		"corrupt":          {problem(CodeCorrupt), cpar.ErrCorrupt},
		"version":          {problem(CodeVersion), cpar.ErrVersion},
		"storage":          {problem(CodeStorage), cpar.ErrStorage},
		"quota":            {problem(CodeQuota), cpar.ErrStorage},
		"not found":        {problem(CodeNotFound), ErrNotFound},
		"internal":         {problem(CodeInternal), cpar.ErrCloud},
		"no code of ours":  {problem("fire"), cpar.ErrCloud},
		"closed at once":   {hijack(""), cpar.ErrCloud},
		"no HTTP":          {hijack("SSH-2.0-x\r\n"), cpar.ErrCloud},
		"closed half way":  {hijack("HTTP/1.1 200 OK\r\nContent-Type: " + TypeBinary + "\r\nContent-Length: 100\r\n\r\nCPAR"), cpar.ErrCloud},
		"chunks cut":       {hijack("HTTP/1.1 200 OK\r\nContent-Type: " + TypeBinary + "\r\nTransfer-Encoding: chunked\r\n\r\n10\r\nCPAR"), cpar.ErrCloud},
		"endless headers":  {hijack("HTTP/1.1 200 OK\r\n" + strings.Repeat("X: "+strings.Repeat("y", 1000)+"\r\n", 20000)), cpar.ErrCloud},
	} {
		c := client(t, k.h)
		_, _, err := c.Annotate(t.Context(), request(2))
		if !errors.Is(err, k.want) {
			t.Errorf("%s: %v; want %v", what, err, k.want)
			continue
		}
		if k.want == cpar.ErrCloud && errors.Is(err, cpar.ErrCorrupt) {
			t.Errorf("%s: the cloud's garbage is reported as our damage: %v", what, err)
		}
		if what == "oversized" && !strings.Contains(err.Error(), "longer than") {
			t.Errorf("%s: %v", what, err)
		}
		if s := err.Error(); len(s) > 700 || strings.ContainsAny(s, "\x1b\n") || !strings.Contains(s, c.URL()) {
			t.Errorf("%s: %d bytes: %.200q", what, len(s), s)
		}
	}
	c := client(t, answers(TypeBinary, good))
	if got, _, err := c.Annotate(t.Context(), request(2)); err != nil || len(got.Matches) != 2 {
		t.Errorf("a good reply: %v", err)
	}
}

func TestOtherAnswersAreChecked(t *testing.T) {
	m, err := indexsample.Build(t.TempDir(), 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	b := encoded(t, m)
	if _, err := client(t, answers(TypeBinary, b)).Manifest(t.Context(), cpar.IndexID{9}); !errors.Is(err, cpar.ErrCloud) {
		t.Errorf("the manifest of another index: %v", err)
	}
	if _, err := client(t, answers(TypeBinary, b[:50])).Manifest(t.Context(), m.ID); !errors.Is(err, cpar.ErrCloud) {
		t.Errorf("half a manifest: %v", err)
	}
	if _, err := client(t, answers(TypeJSON, []byte(`{"indexes":[{"id":"x"}]}`))).List(t.Context()); !errors.Is(err, cpar.ErrCloud) {
		t.Errorf("a list with an invalid id: %v", err)
	}
}

func TestListsOfBlobsAreChecked(t *testing.T) {
	var many []string
	for i := range MaxBlobPage + 1 {
		many = append(many, fmt.Sprintf("p1%04d", i))
	}
	for _, c := range []struct {
		names []string
		next  string
	}{
		{names: []string{"p../../x"}},
		{names: []string{"p\n"}},
		{names: []string{"p" + strings.Repeat("x", 128)}},
		{names: []string{"q1"}},
		{names: []string{"p2", "p1"}},
		{names: []string{"p2"}, next: "p3"},
		{next: "p0"}, // an empty page that would be repeated for ever
		{names: many},
	} {
		page := BlobList{Blobs: []BlobInfo{}, Next: c.next}
		for _, name := range c.names {
			page.Blobs = append(page.Blobs, BlobInfo{Name: name})
		}
		b, err := json.Marshal(page)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := client(t, answers(TypeJSON, b)).ListBlobs(t.Context(), "a", "p", "p0"); !errors.Is(err, cpar.ErrCloud) {
			t.Errorf("%d blobs, next %q: %v", len(c.names), c.next, err)
		}
	}
}

func FuzzReply(f *testing.F) {
	f.Add(encoded(f, reply(2)))
	f.Add([]byte("<html>"))
	var b []byte
	c := client(f, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { answers(TypeBinary, b)(w, r) }))
	f.Fuzz(func(t *testing.T, body []byte) {
		b = body
		a, _, err := c.Annotate(t.Context(), request(2))
		if err == nil && (a.Index != cpar.IndexID{1} || len(a.Matches) > 2) {
			t.Errorf("taken: %+v", a)
		}
		if err != nil && !errors.Is(err, cpar.ErrCloud) && !errors.Is(err, cpar.ErrVersion) {
			t.Errorf("%v", err)
		}
	})
}

func FuzzProblem(f *testing.F) {
	f.Add([]byte(`{"title":"t","status":409,"code":"incomplete","detail":"d"}`))
	f.Add([]byte(`{"code":5}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		r := &http.Response{StatusCode: 400, Header: http.Header{"Content-Type": {TypeProblem}}}
		if err := statusError(r, body, bearer.Token{}); err == nil || strings.ContainsAny(err.Error(), "\x1b\n\r") || len(err.Error()) > 8000 {
			t.Errorf("%v", err)
		}
	})
}
