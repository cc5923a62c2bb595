// Package buckettest gives tests object storage to run against:
//
//	Memory     the common part of S3 and Google's XML interface, in this process, with faults
//	Versity    versitygw, a real S3 server, as a process on loopback
//	Azurite    Microsoft's Azure emulator, likewise
//
// A process can be killed and restarted on the same port with the same objects.
package buckettest

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

type Endpoint struct {
	Address    string
	Credential func(name string) string
}

func credentials(pairs map[string]string) func(string) string {
	return func(name string) string { return pairs[name] }
}

// A Memory is a storage server that keeps one bucket in memory.
type Memory struct {
	Google bool // accepts only Google's signatures and conditions
	Page   int  // names per page of a list (0 means 1000)
	// Before, if set, gets every request first. It answers or returns false.
	Before func(w http.ResponseWriter, r *http.Request) bool

	mu      sync.Mutex
	objects map[string]object
}

type object struct {
	bytes    []byte
	modified time.Time
}

func (m *Memory) Serve(t testing.TB) Endpoint {
	s := httptest.NewServer(m)
	t.Cleanup(s.Close)
	if m.Google {
		return Endpoint{"gs://photos/some/where?endpoint=" + s.URL,
			credentials(map[string]string{"GS_ACCESS_KEY_ID": "GOOG1EXAMPLE", "GS_SECRET_ACCESS_KEY": "example"})}
	}
	return Endpoint{"s3://photos/some/where?endpoint=" + s.URL,
		credentials(map[string]string{"AWS_ACCESS_KEY_ID": "example", "AWS_SECRET_ACCESS_KEY": "example"})}
}

func (m *Memory) Age(by time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, o := range m.objects {
		o.modified = o.modified.Add(-by)
		m.objects[name] = o
	}
}

// Change replaces an object's bytes without the client's knowledge, or removes
// the object if b is nil.
func (m *Memory) Change(name string, b []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if b == nil {
		delete(m.objects, name)
		return
	}
	m.set(name, object{b, m.objects[name].modified})
}

func (m *Memory) set(name string, o object) {
	if m.objects == nil {
		m.objects = map[string]object{}
	}
	m.objects[name] = o
}

func (m *Memory) Names() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.objects))
}

func (m *Memory) Bytes(name string) []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.objects[name].bytes
}

func (m *Memory) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if m.Before != nil && m.Before(w, r) {
		return
	}
	if fault := m.unsigned(r); fault != "" {
		fail(w, http.StatusForbidden, fault)
		return
	}
	bucket, name, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	switch {
	case bucket != "photos":
		fail(w, http.StatusNotFound, "NoSuchBucket")
	case name == "" && r.Method == http.MethodGet:
		m.list(w, r)
	case r.Method == http.MethodPut:
		m.put(w, r, name)
	case r.Method == http.MethodDelete:
		m.Change(name, nil)
		w.WriteHeader(http.StatusNoContent)
	default:
		m.get(w, r, name)
	}
}

// unsigned returns the error code for a request with an invalid signature, or
// "".
func (m *Memory) unsigned(r *http.Request) string {
	house, other, algorithm := "X-Amz-", "X-Goog-", "AWS4-HMAC-SHA256"
	if m.Google {
		house, other, algorithm = "X-Goog-", "X-Amz-", "GOOG4-HMAC-SHA256"
	}
	authorization := r.Header.Get("Authorization")
	if !strings.HasPrefix(authorization, algorithm+" Credential=") || !strings.Contains(authorization, ", Signature=") {
		return "SignatureDoesNotMatch"
	}
	_, signed, _ := strings.Cut(authorization, "SignedHeaders=")
	signed, _, _ = strings.Cut(signed, ",")
	for name := range r.Header {
		if strings.HasPrefix(name, other) {
			return "ExcessHeaderValues"
		}
		if strings.HasPrefix(name, house) && !slices.Contains(strings.Split(signed, ";"), strings.ToLower(name)) {
			return "SignatureDoesNotMatch"
		}
	}
	// Google's front end rewrites this header.
	if m.Google && strings.Contains(signed, "accept-encoding") {
		return "SignatureDoesNotMatch"
	}
	return ""
}

func fail(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, "<Error><Code>%s</Code><Message>no</Message></Error>", code)
}

func (m *Memory) put(w http.ResponseWriter, r *http.Request, name string) {
	b, err := io.ReadAll(r.Body)
	if err != nil || int64(len(b)) != r.ContentLength {
		fail(w, http.StatusBadRequest, "IncompleteBody")
		return
	}
	sum := sha256.Sum256(b)
	want, ifAbsent := r.Header.Get("X-Amz-Content-Sha256"), r.Header.Get("If-None-Match") == "*"
	if m.Google {
		want, ifAbsent = r.Header.Get("X-Goog-Content-Sha256"), r.Header.Get("X-Goog-If-Generation-Match") == "0"
	}
	if want != hex.EncodeToString(sum[:]) {
		fail(w, http.StatusBadRequest, "XAmzContentSHA256Mismatch")
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, there := m.objects[name]; there && ifAbsent {
		fail(w, http.StatusPreconditionFailed, "PreconditionFailed")
		return
	}
	m.set(name, object{b, time.Now()})
}

func (m *Memory) get(w http.ResponseWriter, r *http.Request, name string) {
	m.mu.Lock()
	o, there := m.objects[name]
	m.mu.Unlock()
	if !there {
		fail(w, http.StatusNotFound, "NoSuchKey")
		return
	}
	http.ServeContent(w, r, "", o.modified, bytes.NewReader(o.bytes))
}

type listing struct {
	XMLName               xml.Name `xml:"ListBucketResult"`
	IsTruncated           bool
	NextContinuationToken string `xml:",omitempty"`
	Contents              []entry
	CommonPrefixes        []folder
}

type entry struct {
	Key          string
	Size         int
	LastModified string
}

type folder struct{ Prefix string }

func (m *Memory) list(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	q := r.URL.Query()
	from, _ := strconv.Atoi(q.Get("continuation-token"))
	most := cmp.Or(m.Page, 1000)
	var all []any
	last := ""
	for _, name := range slices.Sorted(maps.Keys(m.objects)) {
		rest, in := strings.CutPrefix(name, q.Get("prefix"))
		if !in {
			continue
		}
		if head, _, isFolder := strings.Cut(rest, "/"); isFolder && q.Get("delimiter") == "/" {
			if p := q.Get("prefix") + head + "/"; p != last {
				all, last = append(all, folder{p}), p
			}
			continue
		}
		o := m.objects[name]
		all = append(all, entry{name, len(o.bytes), o.modified.UTC().Format("2006-01-02T15:04:05.000Z")})
	}
	var out listing
	for i := from; i < len(all) && i < from+most; i++ {
		switch x := all[i].(type) {
		case entry:
			out.Contents = append(out.Contents, x)
		case folder:
			out.CommonPrefixes = append(out.CommonPrefixes, x)
		}
	}
	if from+most < len(all) {
		out.IsTruncated, out.NextContinuationToken = true, strconv.Itoa(from+most)
	}
	w.Header().Set("Content-Type", "application/xml")
	xml.NewEncoder(w).Encode(out)
}
