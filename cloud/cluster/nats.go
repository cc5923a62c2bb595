package cluster

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"cpar"
	"cpar/cloud/store"
	"cpar/cparhttp"
	"cpar/internal/hint"
)

type Options struct {
	// Servers lists addresses of NATS servers, tls://host:port, separated by
	// commas.
	Servers string
	// Seed is a file with the seed of this machine's nkey (a NATS key pair).
	Seed string
	// CA is a file with the authorities of the servers' certificates, or "" for
	// the authorities of the operating system.
	CA  string
	Log *slog.Logger
}

// A broker is connected to every NATS server of a cluster. If a server hangs,
// messages use another server.
type broker struct {
	lines []*line
	next  atomic.Uint32
	log   *slog.Logger
}

// A line is the connection to one NATS server.
type line struct {
	*nats.Conn
	server string // configured host and port, in the form that subjects contain
	// up is the connection state that the NATS library last reported. Its
	// method IsConnected would wait for a lock, which the library holds for
	// seconds while it tries to reach a hanging server.
	up atomic.Bool
	// pong is the time of the last answer to a ping, in Unix nanoseconds.
	pong atomic.Int64
}

const (
	// pingEvery is the interval of pings. If a server has not answered for the
	// duration `silent`, messages use other servers. The NATS library alone
	// would take up to two seconds to notice.
	pingEvery, silent = 200 * time.Millisecond, 600 * time.Millisecond
)

func (l *line) watch() {
	for !l.IsClosed() {
		if l.FlushTimeout(silent) == nil {
			l.pong.Store(time.Now().UnixNano())
		}
		time.Sleep(pingEvery)
	}
}

const (
	// pieceBytes is the maximum size of a message. A longer answer is split.
	pieceBytes = 4 << 20
	moreHeader = "Cpar-More"
	answering  = 64 // maximum number of queries answered at once
)

// connect opens the connections. At least one server must respond within five
// seconds. Connections to other servers are retried forever.
func connect(o Options) (*broker, error) {
	servers := strings.Split(o.Servers, ",")
	b := &broker{log: o.Log}
	for _, server := range servers {
		l := &line{server: plainName.ReplaceAllString(server, "_")}
		options, err := o.options(server, l)
		if err == nil {
			if l.Conn, err = nats.Connect(server, options...); err != nil {
				err = refused(server, err)
			}
		}
		if err != nil {
			b.close()
			return nil, err
		}
		b.lines = append(b.lines, l)
		go l.watch()
	}
	for range 50 {
		if b.pick() != nil {
			return b, nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	err := errors.New("no server answers")
	for _, l := range slices.Backward(b.lines) {
		err = cmp.Or(l.LastError(), err)
	}
	b.close()
	return nil, refused(o.Servers, err)
}

var plainName = regexp.MustCompile(`^.*://|[^A-Za-z0-9]`)

func refused(server string, err error) error {
	return hint.Add(fmt.Errorf("connecting to NATS at %s: %w: %w: %v", server, cpar.ErrStorage, store.ErrAway, err),
		"is nats-server running there, does it know our nkey, and is its certificate signed by one of --nats-ca?")
}

// options returns the options of a connection. The NATS library closes the
// connection after two missed pings and connects again.
func (o Options) options(server string, l *line) ([]nats.Option, error) {
	u, err := url.Parse(server)
	if err != nil || u.Host == "" || u.User != nil {
		return nil, hint.Add(fmt.Errorf("%w: --nats: an address that cannot be read", cpar.ErrInput), "write it like tls://a.example:4222,tls://b.example:4222, without credentials")
	}
	if u.Scheme != "tls" && !cparhttp.IsLoopback(u.Hostname()) {
		return nil, hint.Add(fmt.Errorf("%w: --nats: %s without TLS, to another machine", cpar.ErrInput, u.Scheme), "write tls://%s", u.Host)
	}
	list := []nats.Option{
		nats.Name("cpard"), nats.IgnoreDiscoveredServers(), nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1), nats.ReconnectWait(250 * time.Millisecond),
		nats.ReconnectBufSize(-1), nats.PingInterval(time.Second), nats.MaxPingsOutstanding(1), nats.FlusherTimeout(time.Second), nats.Timeout(2 * time.Second), nats.NoCallbacksAfterClientClose(),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			o.Log.Warn("NATS", "server", u.Host, "error", err)
		}),
		nats.ConnectHandler(func(*nats.Conn) { l.up.Store(true) }),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			l.up.Store(false)
			o.Log.Warn("NATS: disconnected", "server", u.Host, "error", err)
		}),
		nats.ReconnectHandler(func(*nats.Conn) {
			l.up.Store(true)
			o.Log.Info("NATS: connected again", "server", u.Host)
		}),
	}
	if u.Scheme == "tls" {
		list = append(list, nats.Secure(&tls.Config{MinVersion: tls.VersionTLS13}))
	}
	if o.CA != "" {
		list = append(list, nats.RootCAs(o.CA))
	}
	if o.Seed != "" {
		if info, err := os.Stat(o.Seed); err == nil && runtime.GOOS != "windows" && info.Mode()&0o077 != 0 {
			return nil, hint.Add(fmt.Errorf("%w: others may read the seed in %s", cpar.ErrInput, o.Seed), "chmod 600 %s", o.Seed)
		}
		nkey, err := nats.NkeyOptionFromSeed(o.Seed)
		if err != nil {
			return nil, hint.Add(fmt.Errorf("%w: --nats-seed: it contains no nkey seed", cpar.ErrInput), "make one with cpard cluster key --nats-seed %s", o.Seed)
		}
		list = append(list, nkey)
	}
	return list, nil
}

func (b *broker) close() {
	for _, l := range b.lines {
		l.Close()
	}
}

func (b *broker) connected() (n int) {
	for _, l := range b.lines {
		if l.up.Load() {
			n++
		}
	}
	return n
}

// pick returns the next connected line, or nil if no line is connected. It
// prefers servers that answer pings.
func (b *broker) pick() (l *line) {
	since := time.Now().Add(-silent).UnixNano()
	for range b.lines {
		next := b.lines[int(b.next.Add(1))%len(b.lines)]
		if !next.up.Load() {
			continue
		}
		if l = next; l.pong.Load() > since {
			return l
		}
	}
	return l
}

// subject returns the NATS subject of a node on line l. Each server has its own
// subject, so that a hanging server cannot delay queries over other lines.
func (l *line) subject(node string) string { return "cpar.node." + node + "." + l.server }

const (
	beatSubject  = "cpar.beat"
	whoSubject   = "cpar.who"
	drainSubject = "cpar.drain."
)

// ask implements transport. It splits a query that is too large for one
// message.
func (b *broker) ask(ctx context.Context, node string, q *shardQuery) ([]*cpar.Reply, error) {
	message, err := q.encode()
	if err != nil {
		return nil, err
	}
	if n := len(q.requests); n > 1 && len(message) > pieceBytes {
		first, second := *q, *q
		first.requests, second.requests = q.requests[:n/2], q.requests[n/2:]
		replies, err := b.ask(ctx, node, &first)
		if err != nil {
			return nil, err
		}
		rest, err := b.ask(ctx, node, &second)
		return append(replies, rest...), err
	}
	for range b.lines { // the node may be connected to other servers only
		answer, err := b.exchange(ctx, b.pick(), node, message)
		if err == nil {
			return decodeAnswer(answer)
		}
		if !errors.Is(err, errNobody) {
			return nil, err
		}
	}
	return nil, errNobody
}

func (b *broker) exchange(ctx context.Context, l *line, node string, message []byte) ([]byte, error) {
	if l == nil {
		return nil, errNobody
	}
	inbox, err := l.SubscribeSync(l.NewRespInbox())
	if err != nil {
		return nil, errNobody // the line is closed
	}
	defer func() { _ = inbox.Unsubscribe() }()
	if err := l.PublishRequest(l.subject(node), inbox.Subject, message); err != nil {
		if errors.Is(err, nats.ErrMaxPayload) {
			return nil, hint.Add(fmt.Errorf("%w: sending %d bytes to a node", cpar.ErrStorage, len(message)), "set max_payload of nats-server to 8MB")
		}
		return nil, errNobody
	}
	var answer []byte
	for {
		m, err := inbox.NextMsgWithContext(ctx)
		switch {
		case errors.Is(err, nats.ErrNoResponders):
			return nil, errNobody
		case err != nil && ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			return nil, errNobody
		case m.Header.Get("Status") == "503":
			return nil, errNobody
		}
		if answer = append(answer, m.Data...); m.Header.Get(moreHeader) == "" {
			return answer, nil
		}
	}
}

// serve answers queries to a node until `stop` is called. `stop` waits for
// running queries.
func (b *broker) serve(node string, answer func([]byte) []byte) (stop func(), err error) {
	var subs []*nats.Subscription
	var running sync.WaitGroup
	turns := make(chan struct{}, answering)
	stop = func() {
		for _, s := range subs {
			_ = s.Unsubscribe()
		}
		running.Wait()
	}
	for _, l := range b.lines {
		s, err := l.Subscribe(l.subject(node), func(m *nats.Msg) {
			turns <- struct{}{}
			running.Go(func() {
				defer func() { <-turns }()
				if err := respond(l.Conn, m, answer(m.Data)); err != nil {
					b.log.Warn("answering", "error", err)
				}
			})
		})
		if err == nil {
			err = s.SetPendingLimits(-1, 512<<20)
		}
		if err != nil {
			stop()
			return nil, fmt.Errorf("subscribing to queries: %w: %w", cpar.ErrStorage, err)
		}
		subs = append(subs, s)
	}
	return stop, nil
}

func respond(c *nats.Conn, to *nats.Msg, answer []byte) error {
	for {
		n := min(len(answer), pieceBytes)
		m := &nats.Msg{Subject: to.Reply, Data: answer[:n]}
		if answer = answer[n:]; len(answer) > 0 {
			m.Header = nats.Header{moreHeader: []string{"1"}}
		}
		if err := c.PublishMsg(m); err != nil || len(answer) == 0 {
			return err
		}
	}
}

func (b *broker) tell(subject string, message []byte) {
	for _, l := range b.lines {
		if l.up.Load() {
			_ = l.Publish(subject, message)
		}
	}
}

func (b *broker) listen(subject string, heard func([]byte)) error {
	for _, l := range b.lines {
		if _, err := l.Subscribe(subject, func(m *nats.Msg) { heard(m.Data) }); err != nil {
			return fmt.Errorf("listening to %s: %w: %w", subject, cpar.ErrStorage, err)
		}
	}
	return nil
}
