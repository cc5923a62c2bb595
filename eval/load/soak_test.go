package load

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	_ "cpar/cloud/daemon"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cpar"
	"cpar/cparhttp"
	"cpar/eval/measure"
	"cpar/internal/bearer"
	"cpar/internal/parallel"
	"cpar/model/feature"
	"cpar/user"
)

type soak struct {
	d        *daemon
	token    bearer.Token
	operator string
	indexes  []*index
	small    *index
	done     map[string]*atomic.Int64
	failed   chan error
}

func noise(seed uint64, n int) []user.Photo {
	rng := rand.New(rand.NewPCG(seed, 1))
	out := make([]user.Photo, n)
	for i := range out {
		v := feature.New()
		for _, block := range feature.Blocks() {
			part := block.Of(v)
			sum := float32(0)
			for j := range part {
				part[j] = rng.Float32()
				if block.Kind == feature.Quantised {
					part[j] = float32(rng.IntN(3) - 1)
				}
				sum += part[j]
			}
			for j := range part {
				if block.Kind == feature.Histogram {
					part[j] /= sum
				}
			}
		}
		out[i] = user.Photo{Vectors: v, Keywords: []string{fmt.Sprintf("word %d", i%7)}}
	}
	return out
}

func newSoak(t *testing.T, records int) *soak {
	t.Helper()
	folder := t.TempDir()
	program, err := Build(t.Context(), folder, "cpard")
	if err != nil {
		t.Fatal(err)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	free.Close()
	s := &soak{operator: "http://" + free.Addr().String(), failed: make(chan error, 1), done: map[string]*atomic.Int64{}}
	if s.token, err = token(t.Context(), folder, "soak"); err != nil {
		t.Fatal(err)
	}
	if s.d, err = start(t.Context(), program, folder, "--metrics-listen", free.Addr().String()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.d.stop() })
	b := new(builder)
	c := &measure.Corpus{Train: noise(1, records), Test: noise(2, 8)}
	for _, scheme := range DefaultSchemes {
		x, err := b.build(t.Context(), c, scheme)
		if err == nil {
			t.Cleanup(x.Close)
			err = x.push(t.Context(), s.d, s.token)
		}
		if err == nil {
			err = x.recordAnswers(t.Context(), s.d, s.token)
		}
		if err != nil {
			t.Fatal(err)
		}
		s.indexes = append(s.indexes, x)
	}
	c.Train = c.Train[:20]
	if s.small, err = b.build(t.Context(), c, cpar.SchemeCAPIA); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.small.Close)
	for name := range s.work() {
		s.done[name] = new(atomic.Int64)
	}
	return s
}

// work returns the activities, each for a goroutine with its own connection.
// Each f runs repeatedly, and done runs at the end.
func (s *soak) work() map[string]func() (f func(context.Context) error, done func()) {
	out := map[string]func() (func(context.Context) error, func()){
		"push and delete":      s.cycle,
		"list and missing":     s.ask,
		"wrong token":          s.wrongToken,
		"body broken off":      s.brokenOff,
		"silence":              s.silence,
		"not a request":        s.garbage,
		"segment that differs": s.falseSegment,
	}
	for _, x := range s.indexes {
		for k := range 2 {
			out[fmt.Sprintf("annotate %v %d", x.Files.Manifest().Scheme, k)] = func() (func(context.Context) error, func()) { return s.annotate(x) }
		}
	}
	return out
}

func (s *soak) annotate(x *index) (func(context.Context) error, func()) {
	c := newClient(s.d.address, x.route, s.token)
	k := 0
	return func(ctx context.Context) error {
		k++
		a := &x.pool[k%len(x.pool)]
		got, err := c.exchange(ctx, a)
		if err == nil && !got.overloaded() && !bytes.Equal(got.body, a.answer) {
			err = fmt.Errorf("status %d, another answer", got.status)
		}
		return err
	}, c.close
}

func (s *soak) owner() (*cparhttp.Client, func()) {
	// The client pins a copy of the transport to loopback, whose connections
	// could not be closed from here.
	c, err := cparhttp.New(s.d.url, &http.Client{Transport: &http.Transport{DisableKeepAlives: true}})
	if err == nil {
		err = c.SetToken(s.token)
	}
	if err != nil {
		panic(err) // the daemon's address is valid
	}
	return c, func() {}
}

func (s *soak) cycle() (func(context.Context) error, func()) {
	c, done := s.owner()
	return func(ctx context.Context) error {
		if _, err := c.Push(ctx, s.small.Path(), nil); err != nil {
			return err
		}
		return c.Delete(ctx, s.small.Files.Manifest().ID)
	}, done
}

func (s *soak) ask() (func(context.Context) error, func()) {
	c, done := s.owner()
	return func(ctx context.Context) error {
		list, err := c.List(ctx)
		if err == nil && len(list) < len(s.indexes) {
			err = fmt.Errorf("%d indexes are listed", len(list))
		}
		if err != nil {
			return err
		}
		_, err = c.Missing(ctx, s.indexes[0].Files.Manifest())
		return err
	}, done
}

// raw sends bytes on a connection of its own, and reads a response if read is
// set.
func (s *soak) raw(ctx context.Context, read bool, pause time.Duration, parts ...string) (*http.Response, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", s.d.address)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	for _, part := range parts {
		if _, err := io.WriteString(conn, part); err != nil {
			return nil, err
		}
		parallel.Sleep(ctx, pause)
	}
	if !read {
		return nil, nil
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return resp, err
}

func (s *soak) head(method, route string, length int, token string) string {
	return fmt.Sprintf("%s %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n", method, route, s.d.address, token, cparhttp.TypeBinary, length)
}

func nothing() {}

func (s *soak) wrongToken() (func(context.Context) error, func()) {
	k := 0
	return func(ctx context.Context) error {
		k++
		resp, err := s.raw(ctx, true, 0, s.head("GET", cparhttp.PathIndexes, 0, fmt.Sprintf("wrong-%d", k)))
		return refused(resp, err, 401, 429)
	}, nothing
}

func refused(resp *http.Response, err error, statuses ...int) error {
	if err == nil && !slices.Contains(append(statuses, http.StatusServiceUnavailable), resp.StatusCode) {
		err = fmt.Errorf("status %d", resp.StatusCode)
	}
	return err
}

func (s *soak) brokenOff() (func(context.Context) error, func()) {
	k := 0
	return func(ctx context.Context) error {
		x := s.indexes[k%len(s.indexes)]
		k++
		body := string(x.pool[0].body)
		_, err := s.raw(ctx, false, time.Duration(k%3)*5*time.Millisecond, s.head("POST", x.route, len(body), s.token.Reveal()), body[:len(body)/2])
		return err
	}, nothing
}

func (s *soak) silence() (func(context.Context) error, func()) {
	return func(ctx context.Context) error {
		_, err := s.raw(ctx, false, 50*time.Millisecond, "", "POST /v1/ind")
		return err
	}, nothing
}

func (s *soak) garbage() (func(context.Context) error, func()) {
	rng := rand.New(rand.NewPCG(3, 1))
	return func(ctx context.Context) error {
		x := s.indexes[rng.IntN(len(s.indexes))]
		body := bytes.Clone(x.pool[0].body)
		for range 8 {
			body[rng.IntN(64)] ^= byte(1 + rng.IntN(255))
		}
		resp, err := s.raw(ctx, true, 0, s.head("POST", x.route, len(body), s.token.Reveal()), string(body))
		return refused(resp, err, 200, 400, 404, 413, 422)
	}, nothing
}

func (s *soak) falseSegment() (func(context.Context) error, func()) {
	route := strings.NewReplacer("{id}", s.small.Files.Manifest().ID.String(), "{digest}", cpar.Digest{1}.String()).Replace(cparhttp.PathSegment)
	return func(ctx context.Context) error {
		resp, err := s.raw(ctx, true, 0, s.head("PUT", route, 1000, s.token.Reveal()), strings.Repeat("x", 1000))
		return refused(resp, err, 400, 404, 409, 422)
	}, nothing
}

// run repeats all activities until ctx ends, or runs each once.
func (s *soak) run(ctx context.Context, pause time.Duration, once bool) {
	var all sync.WaitGroup
	for name, begin := range s.work() {
		all.Go(func() {
			f, done := begin()
			defer done()
			for ctx.Err() == nil {
				if err := f(ctx); err != nil {
					if ctx.Err() == nil {
						select {
						case s.failed <- fmt.Errorf("%s: %w", name, err):
						default:
						}
					}
					return
				}
				s.done[name].Add(1)
				if once || parallel.Sleep(ctx, pause) != nil {
					return
				}
			}
		})
	}
	all.Wait()
}

type reading struct {
	minutes                 float64
	goroutines, descriptors int
	memory                  float64
}

func (s *soak) read(t *testing.T) (r reading) {
	t.Helper()
	transport := &http.Transport{DisableKeepAlives: true}
	resp, err := (&http.Client{Transport: transport}).Get(s.operator + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	found := 0
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), " ")
		to, wanted := map[string]*int{"go_goroutines": &r.goroutines, "process_open_fds": &r.descriptors}[name]
		if wanted {
			x, err := strconv.ParseFloat(value, 64)
			if err != nil {
				t.Fatal(err)
			}
			*to = int(x)
			found++
		}
	}
	if found != 2 {
		t.Fatalf("%d of the metrics are there", found)
	}
	r.memory = s.d.anonymousMB()
	return r
}

// TestSoak queries, pushes, deletes and misbehaves for some seconds, or
// CPAR_SOAK_MINUTES under CPAR_NIGHTLY=required. Goroutines and descriptors
// must return to their initial numbers, and memory must not grow. CPAR_SOAK_OUT
// receives the figures.
func TestSoak(t *testing.T) {
	if _, err := os.Stat("/proc/self/fd"); err != nil {
		t.Skip("reading the resources of a process needs /proc")
	}
	length, records, nightly := 3*time.Second, 100, os.Getenv("CPAR_NIGHTLY") == "required"
	if nightly {
		minutes, err := strconv.ParseFloat(cmp.Or(os.Getenv("CPAR_SOAK_MINUTES"), "10"), 64)
		if err != nil {
			t.Fatal(err)
		}
		length, records = time.Duration(minutes*float64(time.Minute)), 2000
	}
	s := newSoak(t, records)
	s.run(t.Context(), 0, true)
	before := s.settled(t, reading{goroutines: 1 << 30, descriptors: 1 << 30})
	ctx, cancel := context.WithCancel(t.Context()) // see ask
	defer cancel()
	defer time.AfterFunc(length, cancel).Stop()
	var readings []reading
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		begun := time.Now()
		for parallel.Sleep(ctx, length/60) == nil {
			r := s.read(t)
			r.minutes = time.Since(begun).Minutes()
			readings = append(readings, r)
		}
	}()
	s.run(ctx, 20*time.Millisecond, false)
	<-watched
	select {
	case err := <-s.failed:
		t.Fatal(s.d.explain(err))
	default:
	}
	after := s.settled(t, before)
	t.Logf("before %+v, after %+v", before, after)
	for _, name := range slices.Sorted(maps.Keys(s.done)) {
		n := s.done[name].Load()
		t.Logf("%-22s %d", name, n)
		if n == 0 {
			t.Errorf("%s was not done", name)
		}
	}
	if nightly {
		s.grown(t, readings)
		s.keep(t, readings)
	}
	if err := s.d.stop(); err != nil {
		t.Error(s.d.explain(err))
	}
}

// settled waits, because the cloud notices broken connections with a delay.
func (s *soak) settled(t *testing.T, most reading) reading {
	t.Helper()
	var r reading
	for patience := time.Now().Add(time.Minute); time.Now().Before(patience); time.Sleep(200 * time.Millisecond) {
		if r = s.read(t); r.goroutines <= most.goroutines && r.descriptors <= most.descriptors {
			return r
		}
	}
	t.Fatalf("it holds %+v and held %+v", r, most)
	return r
}

func (s *soak) grown(t *testing.T, readings []reading) {
	t.Helper()
	fifth := len(readings) / 5
	if fifth == 0 {
		t.Fatal("too few readings")
	}
	typical := func(part []reading) float64 {
		var mb []float64
		for _, r := range part {
			mb = append(mb, r.memory)
		}
		slices.Sort(mb)
		return mb[len(mb)/2]
	}
	early, late := typical(readings[fifth:2*fifth]), typical(readings[len(readings)-fifth:])
	t.Logf("anonymous memory: %.1f MB, then %.1f MB", early, late)
	if late > early*1.1+8 {
		t.Errorf("anonymous memory grew from %.1f to %.1f MB", early, late)
	}
}

func (s *soak) keep(t *testing.T, readings []reading) {
	t.Helper()
	file := os.Getenv("CPAR_SOAK_OUT")
	if file == "" {
		return
	}
	var b bytes.Buffer
	b.WriteString("minutes,anonymous memory MB,goroutines,descriptors\n")
	for _, r := range readings {
		fmt.Fprintf(&b, "%.2f,%.1f,%d,%d\n", r.minutes, r.memory, r.goroutines, r.descriptors)
	}
	if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
		t.Error(errors.Join(errors.New("keeping the figures"), err))
	}
}
