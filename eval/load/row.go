package load

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math"
	"net/http"
	"slices"
	"sync"
	"time"

	"cpar"
	"cpar/eval/measure"
	"cpar/internal/bearer"
	"cpar/internal/parallel"
)

const (
	errorPause    = 10 * time.Millisecond
	memoryEvery   = 50 * time.Millisecond
	quietPatience = 2 * time.Minute
)

type tally struct {
	took         []time.Duration
	errors, shed int
	first        error
	rss          float64
}

func (t *tally) add(u *tally) {
	t.took = append(t.took, u.took...)
	t.errors += u.errors
	t.shed += u.shed
	t.first = cmp.Or(t.first, u.first)
}

type clientGroup struct {
	token   bearer.Token
	clients int
}

// ask runs the clients of all groups concurrently for the given time. Each
// client sends one request after the other. At the end, ask cancels requests in
// flight and returns one tally per group.
func (x *index) ask(ctx context.Context, d *daemon, length time.Duration, crowds ...clientGroup) ([]*tally, error) {
	var clients []*client
	defer func() {
		for _, c := range clients {
			c.close()
		}
	}()
	for _, some := range crowds {
		if err := x.waitIdle(ctx, d, some.token); err != nil {
			return nil, err
		}
		for range some.clients {
			c := newClient(d.address, x.route, some.token)
			clients = append(clients, c)
			if err := c.connect(ctx); err != nil {
				return nil, fmt.Errorf("connection %d: %w: %w", len(clients), cpar.ErrCloud, err)
			}
		}
	}
	memory := d.watch()
	// A timer replaces a deadline of the context, because dialling would fail
	// slightly before that deadline.
	end, cancel := context.WithCancel(ctx)
	defer cancel()
	defer time.AfterFunc(length, cancel).Stop()
	each := make([]tally, len(clients))
	var all sync.WaitGroup
	for i, c := range clients {
		all.Go(func() { each[i] = x.until(end, c, i) })
	}
	all.Wait()
	rss := memory()
	out := make([]*tally, len(crowds))
	for k, some := range crowds {
		out[k] = &tally{rss: rss}
		for i := range each[:some.clients] {
			out[k].add(&each[i])
		}
		slices.Sort(out[k].took)
		each = each[some.clients:]
	}
	return out, ctx.Err()
}

// until sends requests until context `end` is done. Each client starts at a
// different request of the pool.
func (x *index) until(end context.Context, c *client, number int) (t tally) {
	for k := number * 7; ; k++ {
		a := &x.pool[k%len(x.pool)]
		begun := time.Now()
		got, err := c.exchange(end, a)
		took := time.Since(begun)
		if end.Err() != nil {
			return t
		}
		wait := time.Duration(0)
		switch {
		case err == nil && got.status == http.StatusOK && bytes.Equal(got.body, a.answer):
			t.took = append(t.took, took)
		case err == nil && got.overloaded():
			t.shed++
			wait = max(got.after, errorPause)
		default:
			t.fail(got, err)
			wait = errorPause
		}
		if wait > 0 && parallel.Sleep(end, wait) != nil {
			return t
		}
	}
}

func (a *answer) overloaded() bool {
	return a.status == http.StatusServiceUnavailable || a.status == http.StatusTooManyRequests
}

func (t *tally) fail(got answer, err error) {
	t.errors++
	switch {
	case t.first != nil:
	case err != nil:
		t.first = err
	case got.status == http.StatusOK:
		t.first = fmt.Errorf("%w: the answer differs from the idle cloud's", cpar.ErrCloud)
	default:
		t.first = fmt.Errorf("%w: status %d, %.300q", cpar.ErrCloud, got.status, got.body)
	}
}

// waitIdle returns after two consecutive answers. By then the cloud has dropped
// the cancelled requests of the previous row.
func (x *index) waitIdle(ctx context.Context, d *daemon, token bearer.Token) error {
	ctx, cancel := context.WithTimeout(ctx, quietPatience)
	defer cancel()
	c := newClient(d.address, x.route, token)
	defer c.close()
	for answered := 0; answered < 2; {
		got, err := c.exchange(ctx, &x.pool[answered%len(x.pool)])
		switch {
		case err != nil:
			return fmt.Errorf("waiting for the cloud to be idle: %w: %w", cpar.ErrCloud, err)
		case got.status == http.StatusOK:
			answered++
		case !got.overloaded():
			return fmt.Errorf("waiting for the cloud to be idle: %w: status %d, %.300q", cpar.ErrCloud, got.status, got.body)
		case parallel.Sleep(ctx, max(got.after, errorPause)) != nil:
			return ctx.Err()
		}
	}
	return nil
}

// watch samples the cloud's memory until `greatest` is called, which returns
// the maximum.
func (d *daemon) watch() (greatest func() float64) {
	ctx, stop := context.WithCancel(context.Background())
	result := make(chan float64)
	go func() {
		most := d.anonymousMB()
		for parallel.Sleep(ctx, memoryEvery) == nil {
			most = max(most, d.anonymousMB())
		}
		result <- max(most, d.anonymousMB())
	}()
	return func() float64 {
		stop()
		return <-result
	}
}

func (t *tally) row(length time.Duration) Row {
	return Row{Rate: measure.RoundTo(float64(len(t.took))/length.Seconds(), 1), P50: percentile(t.took, 0.5), P99: percentile(t.took, 0.99),
		Errors: t.errors, Shed: t.shed, RSS: measure.RoundTo(t.rss, 1), First: t.first}
}

func percentile(took []time.Duration, share float64) float64 {
	if len(took) == 0 {
		return 0
	}
	i := int(math.Ceil(share*float64(len(took)))) - 1
	return measure.RoundTo(took[max(0, i)].Seconds()*1e3, 3)
}
