package cluster

import (
	"encoding/binary"
	"errors"
	"fmt"

	"cpar"
	"cpar/cloud/shard"
	"cpar/cloud/store"
	"cpar/cloud/tenant"
	"cpar/internal/hint"
	"cpar/internal/indexdir"
	"cpar/internal/wire"
)

// A shardQuery asks a node to answer requests with a shard. Without requests, it
// asks the node to load the shard. The encodings have these fields, with sizes in
// bytes:
//
//	query   version (1)  tenant (1 + length)  index (16)  digest of the manifest (32)
//	        shard (4 + 4)  manifest (4 + length)  requests (a batch of package wire, or nothing)
//	answer  version (1)  then either: 0 (1)  replies (a batch, or nothing)
//	        or: 1 (1)  faults (4)  text (4 + length)  hint (4 + length)
type shardQuery struct {
	key      store.IndexRef
	version  cpar.Digest
	shard    shard.Range
	manifest []byte
	requests []*cpar.Request
}

// messageVersion must be the same on all machines of a cluster.
const messageVersion = 1

func appendCounted[T string | []byte](b []byte, x T) []byte {
	return append(binary.LittleEndian.AppendUint32(b, uint32(len(x))), x...)
}

func (q *shardQuery) encode() ([]byte, error) {
	b := append([]byte{messageVersion, byte(len(q.key.Tenant))}, q.key.Tenant...)
	b = append(append(b, q.key.Index[:]...), q.version[:]...)
	b = binary.LittleEndian.AppendUint32(b, uint32(q.shard.First))
	b = binary.LittleEndian.AppendUint32(b, uint32(q.shard.Last))
	b = appendCounted(b, q.manifest)
	return appendBatch(b, q.requests)
}

func appendBatch[T interface{ MarshalBinary() ([]byte, error) }](b []byte, list []T) ([]byte, error) {
	if len(list) == 0 {
		return b, nil
	}
	items := make([][]byte, len(list))
	for i, x := range list {
		var err error
		if items[i], err = x.MarshalBinary(); err != nil {
			return nil, err
		}
	}
	return wire.AppendBatch(b, items), nil
}

func decodeBatch[T any](b []byte, decode func([]byte) (T, error)) (list []T, err error) {
	if len(b) == 0 {
		return nil, nil
	}
	items, err := wire.DecodeBatch(b, cpar.ErrCorrupt)
	if err != nil {
		return nil, err
	}
	for _, item := range items {
		x, err := decode(item)
		if err != nil {
			return nil, err
		}
		list = append(list, x)
	}
	return list, nil
}

func open(b []byte) *wire.Reader {
	r := wire.NewReader(b, cpar.ErrCorrupt)
	if v := r.U8("version"); r.Err() == nil && v != messageVersion {
		r.Fail("version %d: this program supports %d, so run the same version on all machines", v, messageVersion)
	}
	return r
}

func decodeShardQuery(b []byte) (*shardQuery, error) {
	r, q := open(b), new(shardQuery)
	q.key.Tenant = string(r.Bytes(int(r.U8("tenant's length")), "tenant"))
	copy(q.key.Index[:], r.Bytes(len(q.key.Index), "index"))
	copy(q.version[:], r.Bytes(len(q.version), "digest of the manifest"))
	q.shard = shard.Range{First: int(r.U32("part")), Last: int(r.U32("part"))}
	if q.manifest = r.Bytes(r.Count(1, "manifest"), "manifest"); r.Err() == nil && q.key.Tenant != "" && !tenant.IsID(q.key.Tenant) {
		r.Fail("malformed tenant id")
	}
	if r.Err() != nil {
		return nil, fmt.Errorf("reading query: %w", r.Err())
	}
	var err error
	if q.requests, err = decodeBatch(b[len(b)-r.Left():], cpar.DecodeRequest); err != nil {
		return nil, fmt.Errorf("reading query: %w", err)
	}
	return q, nil
}

var faults = []error{
	cpar.ErrInput, cpar.ErrCorrupt, cpar.ErrVersion, cpar.ErrStorage, cpar.ErrCloud,
	store.ErrNotFound, store.ErrDamaged, store.ErrAway, store.ErrNoRoom, store.ErrTooLarge, store.ErrIncomplete,
	errNotReady, errOtherVersion,
	indexdir.ErrMissing, indexdir.ErrSize, indexdir.ErrDigest, indexdir.ErrNotFile,
}

type fault struct {
	text string
	is   []error
}

func (f *fault) Error() string   { return f.text }
func (f *fault) Unwrap() []error { return f.is }

func encodeAnswer(replies []*cpar.Reply, err error) []byte {
	if err == nil {
		b, failed := appendBatch([]byte{messageVersion, 0}, replies)
		if err = failed; err == nil {
			return b
		}
	}
	bits := uint32(0)
	for i, f := range faults {
		if errors.Is(err, f) {
			bits |= 1 << i
		}
	}
	b := binary.LittleEndian.AppendUint32([]byte{messageVersion, 1}, bits)
	return appendCounted(appendCounted(b, err.Error()), hint.Of(err))
}

// errNonsense returns the error for a malformed answer of a node. It does not
// wrap err, because the client did not cause it.
func errNonsense(err error) error {
	return fmt.Errorf("reading answer of a node: %w: %w: %v", cpar.ErrStorage, store.ErrAway, err)
}

func decodeAnswer(b []byte) ([]*cpar.Reply, error) {
	r := open(b)
	failed := r.U8("whether it failed") != 0
	if !failed && r.Err() == nil {
		replies, err := decodeBatch(b[len(b)-r.Left():], cpar.DecodeReply)
		if err != nil {
			return nil, errNonsense(err)
		}
		return replies, nil
	}
	f, bits := new(fault), r.U32("what is wrong")
	for i, is := range faults {
		if bits>>i&1 == 1 {
			f.is = append(f.is, is)
		}
	}
	f.text = string(r.Bytes(r.Count(1, "text"), "text"))
	advice := string(r.Bytes(r.Count(1, "hint"), "hint"))
	if err := r.Close(); err != nil {
		return nil, errNonsense(err)
	}
	if advice == "" {
		return nil, f
	}
	return nil, hint.Add(f, "%s", advice)
}
