// Package inspect answers a request and reports everything that a server can
// record about it.
//
//	body of a request ─▶ handler of package api over the server's data folder ─▶ Report
package inspect

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"cpar"
	"cpar/cloud"
	"cpar/cloud/api"
	"cpar/cloud/store"
	"cpar/cloud/telemetry"
	"cpar/cloud/tenant"
	"cpar/cloud/trace"
	"cpar/cparhttp"
	"cpar/internal/hint"
	"cpar/internal/leakage"
)

// A Report lists what the server recorded about a request and what the server
// could record.
type Report struct {
	Status  int    `json:"status"`
	Index   string `json:"index"`
	Tenant  string `json:"tenant"`
	Scheme  string `json:"scheme"`
	Records uint32 `json:"records"`
	// Log has the attributes of the request's log line at level debug with
	// --log-clients.
	Log []Attribute `json:"log"`
	// Metrics lists the changed metrics.
	Metrics []telemetry.Change `json:"metrics"`
	// Spans has the names of the stages in the request's trace.
	Spans []string `json:"spans"`
	// Seen lists the parts of the request and what the server learns from each.
	Seen []leakage.Observation `json:"seen"`
	// Answered lists the same for the reply.
	Answered []leakage.Observation `json:"answered"`
	// Besides lists data that only a modified server could record.
	Besides []string `json:"besides"`
}

type Attribute struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	// Only, if not empty, is the condition for the attribute, such as "with
	// --log-clients".
	Only string `json:"only,omitempty"`
}

// besides is the same for every request, because a request file does not
// contain these data.
var besides = []string{
	"the client's address and port, the time, and the interval between two requests",
	"the versions of TLS and HTTP, the ciphers, the requested host name, and with mutual TLS the client's certificate",
	"the token; the registry has its SHA-256, its label and the tenant's name",
	"other headers, such as User-Agent: Go-http-client/1.1 of cpar",
	"all bytes of the request and the reply, as described above",
}

const client = "(the client's address)"

// Request answers the request in `body` from the server's data folder, `data`.
// A server may be using the folder, which stays unchanged. If several tenants
// have the index, `owner` selects one.
func Request(ctx context.Context, data, owner string, body []byte) (*Report, error) {
	q, err := cpar.DecodeRequest(body)
	if err != nil {
		return nil, hint.Add(fmt.Errorf("reading the request: %w", err), "name a file of cpar annotate --save-requests")
	}
	folder, err := store.OpenBeside(data)
	if err != nil {
		return nil, err
	}
	k, err := find(ctx, folder, owner, q.Index)
	if err != nil {
		return nil, err
	}
	c := cloud.Over(folder, store.Options{})
	defer c.Close()
	seen, metrics, line := &observer{}, telemetry.New(), &capture{}
	seen.Metrics = metrics
	handler, err := api.New(c.Store, c, api.Options{Log: slog.New(line), Observe: seen, LogClients: true, Auth: known(k.Tenant)})
	if err != nil {
		return nil, err
	}
	before, err := metrics.Series()
	if err != nil {
		return nil, err
	}
	w := &answer{header: http.Header{}}
	path := strings.Replace(cparhttp.PathAnnotate, "{id}", q.Index.String(), 1)
	handler.ServeHTTP(w, (&http.Request{Method: http.MethodPost, URL: &url.URL{Path: path}, Host: "localhost", Header: http.Header{}, RemoteAddr: client,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body))}).WithContext(ctx))
	after, err := metrics.Series()
	if err != nil {
		return nil, err
	}
	r := &Report{Status: w.status, Index: q.Index.String(), Tenant: k.Tenant, Scheme: q.Params.Scheme.String(),
		Log: line.attributes, Metrics: telemetry.Changes(before, after), Besides: besides}
	seen.record.Times(func(s trace.Stage, _ trace.Time) { r.Spans = append(r.Spans, s.String()) })
	if w.status != http.StatusOK {
		return nil, fmt.Errorf("answering the request: %w: status %d: %s", cpar.ErrInput, w.status, bytes.TrimSpace(w.body.Bytes()))
	}
	m, err := c.Active(ctx, k)
	if err != nil {
		return nil, err
	}
	r.Records = m.Records
	if r.Seen, err = leakage.Request(q, body); err != nil {
		return nil, fmt.Errorf("reading the request: %w", err)
	}
	reply, err := cpar.DecodeReply(w.body.Bytes())
	if err != nil {
		return nil, fmt.Errorf("reading the reply: %w", err)
	}
	if r.Answered, err = leakage.Reply(reply, w.body.Bytes()); err != nil {
		return nil, fmt.Errorf("reading the reply: %w", err)
	}
	return r, nil
}

func find(ctx context.Context, b store.Backend, owner string, id cpar.IndexID) (store.IndexRef, error) {
	list, err := store.List(ctx, b)
	if err != nil {
		return store.IndexRef{}, err
	}
	var found []string
	for _, x := range list {
		if x.ID == id && (owner == "" || x.Tenant == owner) {
			found = append(found, x.Tenant)
		}
	}
	switch len(found) {
	case 0:
		return store.IndexRef{}, hint.Add(fmt.Errorf("index %v: %w: %w", id, cpar.ErrInput, store.ErrNotFound), "cpard list shows the indexes")
	case 1:
		return store.IndexRef{Tenant: found[0], Index: id}, nil
	}
	return store.IndexRef{}, hint.Add(fmt.Errorf("index %v: %w: %d tenants have one with this id", id, cpar.ErrInput, len(found)), "name one: --tenant %s", found[0])
}

type known string

func (k known) Authenticate(*http.Request) (tenant.Principal, error) {
	return tenant.Principal{Tenant: string(k), Scopes: tenant.Annotate}, nil
}

type observer struct {
	*telemetry.Metrics
	record *trace.Request
}

func (o *observer) End(r *trace.Request) { o.Metrics.End(r); o.record = r }

type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *answer) Header() http.Header         { return a.header }
func (a *answer) WriteHeader(status int)      { a.status = status }
func (a *answer) Write(p []byte) (int, error) { return a.body.Write(p) }

type capture struct{ attributes []Attribute }

func (c *capture) Enabled(context.Context, slog.Level) bool { return true }
func (c *capture) WithAttrs([]slog.Attr) slog.Handler       { return c }
func (c *capture) WithGroup(string) slog.Handler            { return c }

func (c *capture) Handle(_ context.Context, r slog.Record) error {
	if r.Message != "request" {
		return nil
	}
	if r.Level != slog.LevelDebug {
		return errors.New("a request is logged above level debug")
	}
	r.Attrs(func(a slog.Attr) bool {
		only := ""
		if a.Value.String() == client {
			only = "with --log-clients"
		}
		c.attributes = append(c.attributes, Attribute{a.Key, a.Value.String(), only})
		return true
	})
	return nil
}

func (r *Report) Print(b *strings.Builder) {
	fmt.Fprintf(b, "request of scheme %s to index %s, %d records, tenant %s\n", r.Scheme, r.Index, r.Records, cmp.Or(r.Tenant, "none"))
	b.WriteString("\nthe log contains, at level debug\n")
	for _, a := range r.Log {
		fmt.Fprintf(b, "  %-8s  %s", a.Name, a.Value)
		if a.Only != "" {
			fmt.Fprintf(b, "  only %s", a.Only)
		}
		b.WriteByte('\n')
	}
	b.WriteString("\nthe metrics count\n")
	for _, m := range r.Metrics {
		fmt.Fprintf(b, "  %s  +%s\n", m.Series, strconv.FormatFloat(m.By, 'g', 6, 64))
	}
	fmt.Fprintf(b, "\na trace has spans of these stages, with their times: %s\n", strings.Join(r.Spans, ", "))
	for _, half := range []struct {
		what  string
		parts []leakage.Observation
	}{{"the request", r.Seen}, {"the reply", r.Answered}} {
		fmt.Fprintf(b, "\nthe server sees the following of %s, and keeps none of it\n", half.what)
		for _, p := range half.parts {
			fmt.Fprintf(b, "  %s: %d bytes\n    it learns: %s\n", p.What, p.Bytes, p.Learns)
		}
	}
	b.WriteString("\nthe following also reaches the server, and a modified program could record it\n")
	for _, s := range r.Besides {
		fmt.Fprintf(b, "  %s\n", s)
	}
}
