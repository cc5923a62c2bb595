package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"cpar"
	"cpar/cparhttp"
)

// TestAskAlone: a cloud that does not take batches, or refuses one, is asked for
// each photo alone; only the first is remembered.
func TestAskAlone(t *testing.T) {
	for code, alone := range map[string]bool{cparhttp.CodeNotFound: true, cparhttp.CodeInput: false} {
		batches, singles := 0, 0
		srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if strings.HasSuffix(r.URL.Path, "-batch") {
				batches++
				rw.Header().Set("Content-Type", cparhttp.TypeProblem)
				rw.WriteHeader(http.StatusNotFound)
				io.WriteString(rw, `{"code":"`+code+`"}`)
				return
			}
			singles++
			q, err := cpar.DecodeRequest(body)
			if err != nil {
				t.Error(err)
				return
			}
			b, _ := (&cpar.Reply{Index: q.Index, Visited: uint32(q.Params.L)}).MarshalBinary()
			rw.Header().Set("Content-Type", cparhttp.TypeBinary)
			rw.Write(b)
		}))
		defer srv.Close()
		client, err := cparhttp.New(srv.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		w := walk{client: client, manifest: new(cpar.Manifest)}
		for range 2 {
			var all []*photoWalk
			for l := range uint16(3) {
				q := &cpar.Request{Params: cpar.Params{Scheme: cpar.SchemeCAPIA, L: l + 1, Approx: 100}, Vector: []uint64{1}}
				all = append(all, &photoWalk{request: q})
			}
			if err := w.ask(t.Context(), all); err != nil {
				t.Fatal(err)
			}
			for i, p := range all {
				if p.err != nil || p.reply.Visited != uint32(i+1) || p.Sent == 0 {
					t.Errorf("%s: photo %d got %+v, %v", code, i, p.reply, p.err)
				}
			}
		}
		if want := map[bool]int{true: 1, false: 2}[alone]; batches != want || singles != 6 || w.alone != alone {
			t.Errorf("%s: %d batches, %d single requests", code, batches, singles)
		}
	}
}
