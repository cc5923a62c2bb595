package main

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"sync/atomic"

	"github.com/rogpeppe/go-internal/testscript"
)

func serveFiles(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: files FOLDER [BYTES]")
	}
	var cut atomic.Int64
	if len(args) == 2 {
		n, err := strconv.ParseInt(args[1], 10, 64)
		ts.Check(err)
		cut.Store(n)
	}
	folder := http.FileServer(http.Dir(ts.MkAbs(args[0])))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n := cut.Swap(0); n > 0 {
			w = &brokenOff{w, n}
		}
		folder.ServeHTTP(w, r)
	}))
	ts.Defer(s.Close)
	ts.Setenv("FILES", s.URL)
}

type brokenOff struct {
	http.ResponseWriter
	left int64
}

func (c *brokenOff) Write(p []byte) (int, error) {
	n := min(int64(len(p)), c.left)
	k, _ := c.ResponseWriter.Write(p[:n])
	if c.left -= n; c.left == 0 {
		c.ResponseWriter.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	return k, nil
}

func sumOf(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: sumof NAME FILE")
	}
	b, err := os.ReadFile(ts.MkAbs(args[1]))
	ts.Check(err)
	ts.Setenv(args[0], fmt.Sprintf("%x", sha256.Sum256(b)))
}
