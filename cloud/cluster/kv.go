package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"cpar"
	"cpar/cloud/store"
	"cpar/internal/parallel"
)

// kv keeps the pointers in a JetStream bucket with up to three replicas. It
// reads only from the leading server, because one in ten answers of other
// servers was outdated.
type kv struct {
	broker *broker

	away   atomic.Int64 // earliest time at which a read may wait for the leader, in Unix nanoseconds
	mu     sync.Mutex
	bucket map[*line]jetstream.KeyValue
}

func newKV(b *broker) *kv { return &kv{broker: b, bucket: map[*line]jetstream.KeyValue{}} }

const (
	bucketName = "cpar-active"
	// kvWait bounds a read from the leader. If it fails, known generations are
	// still served.
	kvWait = 250 * time.Millisecond
	// kvAway bounds reads during the second after a failed read.
	kvAway = 50 * time.Millisecond
	// kvPatience bounds operations that cannot fall back on known generations.
	kvPatience = 5 * time.Second
)

// open returns the bucket over connection l and creates it if necessary.
func (p *kv) open(ctx context.Context, l *line) (jetstream.KeyValue, error) {
	p.mu.Lock()
	b := p.bucket[l]
	p.mu.Unlock()
	if b != nil {
		return b, nil
	}
	js, err := jetstream.New(l.Conn)
	if err != nil {
		return nil, err
	}
	if b, err = js.KeyValue(ctx, bucketName); errors.Is(err, jetstream.ErrBucketNotFound) {
		b, err = p.create(ctx, js)
	}
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bucket[l] = b
	return b, nil
}

func (p *kv) create(ctx context.Context, js jetstream.JetStream) (jetstream.KeyValue, error) {
	replicas := 1
	if len(p.broker.lines) >= 3 {
		replicas = 3
	}
	_, err := js.CreateStream(ctx, jetstream.StreamConfig{
		Name: "KV_" + bucketName, Subjects: []string{"$KV." + bucketName + ".>"}, Replicas: replicas,
		MaxMsgsPerSubject: 1, Discard: jetstream.DiscardNew, AllowRollup: true, DenyDelete: true,
		AllowDirect: false, // direct reads would accept any replica
	})
	if err != nil && !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
		return nil, err
	}
	return js.KeyValue(ctx, bucketName)
}

// wait opens the bucket and retries while the servers elect a leader.
func (p *kv) wait(ctx context.Context) error {
	var err error
	for pause := 100 * time.Millisecond; pause < 15*time.Second; pause = pause * 3 / 2 {
		if err = p.within(ctx, kvPatience, func(context.Context, jetstream.KeyValue) error { return nil }); err == nil {
			return nil
		}
		if err := parallel.Sleep(ctx, pause); err != nil {
			return err
		}
	}
	return fmt.Errorf("opening the pointers in JetStream: %w: %w: %w", cpar.ErrStorage, store.ErrAway, err)
}

func (p *kv) within(ctx context.Context, most time.Duration, do func(context.Context, jetstream.KeyValue) error) error {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	l := p.broker.pick()
	if l == nil {
		return errNobody
	}
	b, err := p.open(ctx, l)
	if err != nil {
		return err
	}
	if err = do(ctx, b); err != nil && !errors.Is(err, errChanged) {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.bucket, l) // open it again, because the servers may have lost it
	}
	return err
}

func pointerName(k store.IndexRef) string {
	return cmp.Or(k.Tenant, "_") + "." + k.Index.String()
}

// get implements pointers. After a failed read, only about one call per second
// waits for the leader for kvWait, and the others wait for kvAway.
func (p *kv) get(ctx context.Context, k store.IndexRef, patient bool) (out pointer, err error) {
	most := kvWait
	switch now := time.Now().UnixNano(); {
	case patient:
		most = kvPatience
	case now < p.away.Load():
		most = kvAway
	}
	err = p.within(ctx, most, func(ctx context.Context, b jetstream.KeyValue) error {
		e, err := b.Get(ctx, pointerName(k))
		if errors.Is(err, jetstream.ErrKeyNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		out.revision, out.since = e.Revision(), e.Created()
		var digest string
		if digest, out.changing = strings.CutSuffix(string(e.Value()), changingMark); digest == "" {
			return nil
		}
		out.digest, err = cpar.ParseDigest(digest)
		return err
	})
	if err == nil {
		p.away.Store(0)
	} else if most != kvAway {
		p.away.Store(time.Now().Add(time.Second).UnixNano())
	}
	return out, err
}

const changingMark = "?"

func (p *kv) set(ctx context.Context, k store.IndexRef, next pointer, revision uint64) error {
	value := ""
	if next.digest != (cpar.Digest{}) {
		value = next.digest.String()
	}
	if next.changing {
		value += changingMark
	}
	return p.within(ctx, kvPatience, func(ctx context.Context, b jetstream.KeyValue) (err error) {
		switch {
		case value != "" && revision == 0: // Create also works after a purge
			_, err = b.Create(ctx, pointerName(k), []byte(value))
		case value != "":
			_, err = b.Update(ctx, pointerName(k), []byte(value), revision)
		case revision != 0:
			err = b.Purge(ctx, pointerName(k), jetstream.LastRevision(revision))
		}
		if errors.Is(err, jetstream.ErrKeyExists) || errors.Is(err, jetstream.ErrKeyRevisionMismatch) {
			return errChanged
		}
		return err
	})
}

func (p *kv) all(ctx context.Context) (keys []store.IndexRef, err error) {
	err = p.within(ctx, 10*time.Second, func(ctx context.Context, b jetstream.KeyValue) error {
		names, err := b.ListKeys(ctx)
		if err != nil {
			return err
		}
		defer names.Stop()
		for name := range names.Keys() {
			tenant, id, _ := strings.Cut(name, ".")
			if tenant == "_" {
				tenant = ""
			}
			if index, err := cpar.ParseIndexID(id); err == nil {
				keys = append(keys, store.IndexRef{Tenant: tenant, Index: index})
			}
		}
		return nil
	})
	return keys, err
}
