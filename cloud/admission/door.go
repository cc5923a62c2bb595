package admission

import (
	"context"
	"net/netip"
	"sync"
	"time"
)

// A Door limits the connections and unread answers of strangers (clients that
// have not shown a token). Opening a connection costs a client little, and an
// HTTP/2 client with a closed window leaves every answer in the server's
// memory.
type Door struct {
	connections, answers int           // limits for all strangers together
	patience             time.Duration // time for a connection to show its first token

	mu                       sync.Mutex
	strangers                map[netip.Prefix][]*Visitor // by network, the oldest connection first
	here, sending            int                         // current connections and answers
	evicted, expired, unsent uint64
}

const (
	// answerBytes is the memory of an answer being sent: a goroutine with its
	// stack, the request and its headers, and a buffer.
	answerBytes = 16 << 10
	// answersEach is the maximum number of unread answers per connection.
	answersEach = 8
	// maxStrangers allows many devices to connect at the same time.
	maxStrangers = 128
	tokenTime    = 20 * time.Second
)

func newDoor(bytes int64) *Door {
	return &Door{connections: maxStrangers, answers: max(answersEach, int(bytes/answerBytes)), patience: tokenTime, strangers: map[netip.Prefix][]*Visitor{}}
}

type Visitor struct {
	door    *Door
	from    netip.Prefix
	close   func()
	timer   *time.Timer
	known   bool
	sending int
}

// Enter registers a connection as a stranger until Leave is called. If there
// are too many strangers, Enter closes the oldest connection of the network
// with the most strangers. If no other network has more strangers than the new
// connection's, Enter instead returns nil. A stranger's connection is also
// closed if it shows no token in time.
func (d *Door) Enter(from netip.Prefix, close func()) *Visitor {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.here >= d.connections {
		most := d.strangers[from]
		for _, list := range d.strangers {
			if len(list) > len(most) {
				most = list
			}
		}
		d.evicted++
		if len(d.strangers[from]) == len(most) {
			return nil
		}
		oldest := most[0]
		d.forget(oldest)
		go oldest.close()
	}
	v := &Visitor{door: d, from: from, close: close}
	v.timer = time.AfterFunc(d.patience, func() { d.expire(v) })
	d.strangers[from] = append(d.strangers[from], v)
	d.here++
	return v
}

func (d *Door) expire(v *Visitor) {
	d.mu.Lock()
	stranger := d.forget(v)
	if stranger {
		d.expired++
	}
	d.mu.Unlock()
	if stranger {
		v.close()
	}
}

// forget removes v from the strangers and reports whether v was a stranger. The
// caller holds mu.
func (d *Door) forget(v *Visitor) bool {
	if v.known {
		return false
	}
	v.known = true
	v.timer.Stop()
	d.here--
	list := d.strangers[v.from]
	for i, other := range list {
		if other == v {
			list = append(list[:i:i], list[i+1:]...)
		}
	}
	if d.strangers[v.from] = list; len(list) == 0 {
		delete(d.strangers, v.from)
	}
	return true
}

// Leave records that a connection has shown a token or has ended. The Visitor
// may be nil.
func (v *Visitor) Leave() {
	if v != nil {
		v.door.mu.Lock()
		defer v.door.mu.Unlock()
		v.door.forget(v)
	}
}

// Answer reports whether an answer to a request without a token may be sent.
// The answer counts as unread until `done` is called. The Visitor may be nil.
func (v *Visitor) Answer() (done func(), ok bool) {
	if v == nil {
		return func() {}, true
	}
	d := v.door
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.sending >= d.answers || !v.known && v.sending >= answersEach {
		d.unsent++
		return nil, false
	}
	d.sending++
	v.sending++
	return sync.OnceFunc(func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.sending--
		v.sending--
	}), true
}

// crowded reports whether strangers use over a quarter of the connections that
// they may have.
func (d *Door) crowded() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.here > d.connections/4
}

type visitorKey struct{}

func (v *Visitor) NewContext(ctx context.Context) context.Context {
	return context.WithValue(ctx, visitorKey{}, v)
}

// VisitorOf returns the connection of a request, or nil if no Door limits
// connections.
func VisitorOf(ctx context.Context) *Visitor {
	v, _ := ctx.Value(visitorKey{}).(*Visitor)
	return v
}

func (d *Door) stats() (connections, answers QueueStats) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return QueueStats{Size: int64(d.connections), Used: int64(d.here), Refused: d.evicted, Expired: d.expired},
		QueueStats{Size: int64(d.answers) * answerBytes, Used: int64(d.sending) * answerBytes, Refused: d.unsent}
}
