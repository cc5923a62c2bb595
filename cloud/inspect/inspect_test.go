package inspect_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"cpar"
	"cpar/cloud"
	"cpar/cloud/inspect"
	"cpar/cloud/store"
	"cpar/internal/lattice"
	"cpar/internal/testing/indexsample"
)

func served(t *testing.T, tenants ...string) (data string, c *cloud.Cloud, request []byte) {
	t.Helper()
	data = t.TempDir()
	c, err := cloud.New(data, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	m := &cpar.Manifest{Scheme: cpar.SchemeCAPIA, ID: indexsample.Manifest(1).ID, Records: 50, Dim: 1347, KeywordBytes: 92}
	kinds, segments := indexsample.Segments(m, 1)
	for i, b := range segments {
		m.Segments = append(m.Segments, cpar.Segment{Kind: kinds[i], Bytes: uint64(len(b)), Digest: sha256.Sum256(b)})
	}
	manifest, err := m.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	for _, tenant := range tenants {
		k := store.IndexRef{Tenant: tenant, Index: m.ID}
		for i, s := range m.Segments {
			if err := c.PutSegment(context.Background(), k, s.Digest, -1, bytes.NewReader(segments[i])); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.PutManifest(context.Background(), k, manifest); err != nil {
			t.Fatal(err)
		}
	}
	q := &cpar.Request{Index: m.ID, Params: cpar.Params{Scheme: cpar.SchemeCAPIA, L: 10, Approx: 1000}, Vector: make([]uint64, 1347)}
	for i := range q.Vector {
		q.Vector[i] = 0x0123456789abcdef * uint64(i)
	}
	if request, err = q.MarshalBinary(); err != nil {
		t.Fatal(err)
	}
	return data, c, request
}

const one, two = "00112233445566aa", "00112233445566bb"

// vary matches what differs between requests: ids and times.
var vary = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\b[0-9.]+(ns|µs|ms|s)\b|(_(seconds_sum|seconds_total)(\{[^}]*\})?  \+)[0-9.e-]+`)

func alike(s string) string { return vary.ReplaceAllString(s, "$3~") }

// docs/security/operators.md shows the program's output.
func TestSecurityQuotesIt(t *testing.T) {
	data, _, request := served(t, one)
	r, err := inspect.Request(t.Context(), data, "", request)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	r.Print(&b)
	doc, err := os.ReadFile(filepath.Join("..", "..", "docs", "security", "operators.md"))
	if err != nil {
		t.Fatal(err)
	}
	quoted := ""
	for line := range strings.Lines(alike(b.String())) {
		quoted += strings.TrimRight("    "+line, " \n") + "\n"
	}
	if !strings.Contains(alike(string(doc)), quoted) {
		t.Errorf("docs/security/operators.md does not quote this:\n%s", b.String())
	}
}

// The same lines are logged, and nothing is learnt about the photo. The groups
// are random, because encrypted groups look random.
func TestSealed(t *testing.T) {
	data := t.TempDir()
	c, err := cloud.New(data, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	p, err := lattice.Params{LogN: lattice.Fast.LogN, Dim: 40, Block: 16, LogT: 16, RecordNorm: 150, RequestNorm: 150, Addend: 1000}.Balance()
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	elements := func(n int) []byte {
		x := make([]uint64, n)
		for i := range x {
			x[i] = r.Uint64N(p.Ring().Q)
		}
		return lattice.AppendWords(nil, x)
	}
	params, err := p.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	id := cpar.IndexID{9}
	group := (&lattice.Group{Index: id, Count: 7, Addends: elements(p.Records()), Matrix: elements(p.Words())}).AppendBinary(nil)
	m := &cpar.Manifest{Scheme: cpar.SchemeSealed, ID: id, Dim: 40, Records: 7, KeywordBytes: cpar.KeywordPageBytes(8)}
	k := store.IndexRef{Index: id}
	for _, s := range []struct {
		kind cpar.SegmentKind
		b    []byte
	}{{cpar.SegmentVectors, group}, {cpar.SegmentKeywords, make([]byte, cpar.KeywordTailBytes(m.KeywordBytes))}, {cpar.SegmentLedger, []byte("ledger")}, {cpar.SegmentParams, params},
		{cpar.SegmentHints, []byte("hints")}, {cpar.SegmentProfile, []byte("profile")}, {cpar.SegmentIdentities, make([]byte, 28+7*cpar.IdentityBytes)}} {
		m.Segments = append(m.Segments, cpar.Segment{Kind: s.kind, Bytes: uint64(len(s.b)), Digest: sha256.Sum256(s.b)})
		if err := c.PutSegment(t.Context(), k, sha256.Sum256(s.b), -1, bytes.NewReader(s.b)); err != nil {
			t.Fatal(err)
		}
	}
	manifest, err := m.MarshalBinary()
	if err == nil {
		err = c.PutManifest(t.Context(), k, manifest)
	}
	if err != nil {
		t.Fatal(err)
	}
	request := (&lattice.Request{Index: id, Matrix: elements(p.Words())}).AppendBinary(nil)
	report, err := inspect.Request(t.Context(), data, "", request)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	report.Print(&b)
	for _, want := range []string{"scheme    sealed\n", "cpar_records_visited_total{scheme=\"sealed\"}  +7\n", "tenant none\n",
		"it learns: nothing: every request has its own secret", "it learns: the cloud made them, and can read none"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, b.String())
		}
	}
}

func TestReport(t *testing.T) {
	data, c, request := served(t, one, two)
	before := c.Stats().Loads
	if _, err := inspect.Request(t.Context(), data, "", request); !errors.Is(err, cpar.ErrInput) || !strings.Contains(err.Error(), "2 tenants") {
		t.Errorf("two tenants: %v", err)
	}
	r, err := inspect.Request(t.Context(), data, two, request)
	if err != nil {
		t.Fatal(err)
	}
	// SECURITY.md lists every attribute of the log line.
	var names []string
	for _, a := range r.Log {
		names = append(names, a.Name)
		if (a.Name == "client") != (a.Only != "") {
			t.Errorf("%+v", a)
		}
	}
	if got := strings.Join(names, " "); got != "request method route index status tenant scheme requests received sent took body queue load search encode send client" {
		t.Errorf("the log has %s", got)
	}
	if r.Tenant != two || r.Status != 200 || r.Scheme != "capia" || r.Records != 50 || len(r.Seen) != 2 || len(r.Answered) != 1 || strings.Join(r.Spans, " ") != "body queue load search encode send" {
		t.Errorf("%+v", r)
	}
	encoded, err := json.Marshal(r)
	if err != nil || bytes.Contains(encoded, []byte("null")) {
		t.Errorf("%v: %s", err, encoded)
	}
	for _, m := range r.Metrics {
		if strings.Contains(m.Series, r.Index) {
			t.Errorf("an index in %s", m.Series)
		}
	}
	if c.Stats().Loads != before {
		t.Error("the served cloud was asked")
	}
	for what, body := range map[string][]byte{"nothing": nil, "half": request[:100], "another index": replaced(request)} {
		if _, err := inspect.Request(t.Context(), data, two, body); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
	if _, err := inspect.Request(t.Context(), t.TempDir(), "", request); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("no data folder: %v", err)
	}
}

func replaced(request []byte) []byte {
	q, err := cpar.DecodeRequest(request)
	if err != nil {
		return nil
	}
	q.Index = cpar.IndexID{9}
	b, _ := q.MarshalBinary()
	return b
}
