package album

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"cpar"
)

// A state describes all albums of a tenant after an entry of the log.
type state struct {
	// Albums maps the id of an album to its blobs, ordered by name.
	Albums map[string][]*blob `json:"albums"`
	// Swept is the number of an entry. Uploads that began before this entry cannot
	// be committed, because a collection may have removed their objects.
	Swept uint64 `json:"swept"`
	// Purged is the latest deletion time of all purged blobs. Undelete can only
	// restore an album to a later time.
	Purged time.Time `json:"purged,omitzero"`
	Last   time.Time `json:"last"` // time of the last event
	// Indexes is the number of bytes that the quota counts for the tenant's indexes.
	// It is nil before the first recount, and too large after a removal.
	Indexes *int64 `json:"indexes,omitempty"`
	// Log is the size of the kept entries, each with blobBytes added.
	Log int64 `json:"log,omitempty"`

	seq      uint64 // number of the last entry
	charged  int64  // bytes that the quota counts
	versions int    // number of versions of all blobs
}

// A blob is a name with all versions stored under it, oldest first.
type blob struct {
	Name     string     `json:"name"`
	Versions []*version `json:"versions"`
}

// A version describes one stored object. It is live if its last span has no end.
type version struct {
	SHA256 cpar.Digest `json:"sha256"`
	Bytes  int64       `json:"bytes"`
	Put    time.Time   `json:"put"`
	Key    string      `json:"key"`           // distinguishes uploads, see newKey
	Live   []span      `json:"live"`          // never empty
	Bad    bool        `json:"bad,omitempty"` // whether Check found it damaged
}

// A span is a period in which a version was live. To is zero until it ends.
type span struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to,omitzero"`
}

// An event changes the state. At most one of the fields from Put to Mark is set.
type event struct {
	At    time.Time `json:"at"`
	Album string    `json:"album,omitempty"`
	Name  string    `json:"name,omitempty"`

	Put      *version  `json:"put,omitempty"`
	Delete   bool      `json:"delete,omitempty"`
	Undelete time.Time `json:"undelete,omitzero"`
	Restore  *state    `json:"restore,omitempty"` // replaces the whole state
	Purge    []string  `json:"purge,omitempty"`   // names of purged objects
	Sweep    uint64    `json:"sweep,omitempty"`   // new value of state.Swept
	Indexes  *int64    `json:"indexes,omitempty"` // new value of state.Indexes
	Log      *int64    `json:"log,omitempty"`     // new value of state.Log
	Mark     string    `json:"mark,omitempty"`    // name of the object that Bad describes
	Bad      bool      `json:"bad,omitempty"`

	bytes int // size of the entry
}

func newState() *state { return &state{Albums: map[string][]*blob{}} }

// newKey returns the key of an upload that begins after entry seq.
func newKey(seq uint64) string {
	return fmt.Sprintf("%020d-%s", seq, strings.ToLower(rand.Text()[:12]))
}

// began returns the number of the entry after which an object's upload began, from
// the key in the object's name.
func began(object string) (uint64, bool) {
	key := object[strings.LastIndexByte(object, '.')+1:]
	number, _, _ := strings.Cut(key, "-")
	n, err := strconv.ParseUint(number, 10, 64)
	return n, err == nil && len(number) == 20
}

func (v *version) object(album, name string) string {
	return album + "/" + name + "." + v.SHA256.String() + "." + v.Key
}

func (v *version) live() bool { return v.Live[len(v.Live)-1].To.IsZero() }

func (v *version) end(at time.Time) { v.Live[len(v.Live)-1].To = at }

// deleted returns the end of the last span, or zero if v is live.
func (v *version) deleted() time.Time { return v.Live[len(v.Live)-1].To }

func (b *blob) live() *version {
	for _, v := range b.Versions {
		if v.live() {
			return v
		}
	}
	return nil
}

// at returns the version that was live at time t, or nil.
func (b *blob) at(t time.Time) *version {
	for _, v := range b.Versions {
		for _, s := range v.Live {
			if !s.From.After(t) && (s.To.IsZero() || s.To.After(t)) {
				return v
			}
		}
	}
	return nil
}

func byName(b *blob, name string) int { return strings.Compare(b.Name, name) }

func (s *state) find(album, name string) *blob {
	if i, found := slices.BinarySearchFunc(s.Albums[album], name, byName); found {
		return s.Albums[album][i]
	}
	return nil
}

func (s *state) live(album, name string) *version {
	if b := s.find(album, name); b != nil {
		return b.live()
	}
	return nil
}

// hasObject reports whether the state has a version with this object.
func (s *state) hasObject(object string) bool {
	m := objectForm.FindStringSubmatch(object)
	if m == nil {
		return false
	}
	b := s.find(m[1], m[2])
	return b != nil && slices.ContainsFunc(b.Versions, func(v *version) bool { return v.object(m[1], m[2]) == object })
}

func (s *state) insert(album, name string) *blob {
	i, found := slices.BinarySearchFunc(s.Albums[album], name, byName)
	if !found {
		s.Albums[album] = slices.Insert(s.Albums[album], i, &blob{Name: name})
	}
	return s.Albums[album][i]
}

// all calls f for every version, ordered by album and blob.
func (s *state) all(f func(album string, b *blob, v *version)) {
	for _, album := range slices.Sorted(maps.Keys(s.Albums)) {
		for _, b := range s.Albums[album] {
			for _, v := range b.Versions {
				f(album, b, v)
			}
		}
	}
}

// count computes the sums of a decoded state. It returns false for a malformed
// state, for example if a version has no span.
func (s *state) count() bool {
	for _, blobs := range s.Albums {
		for _, b := range blobs {
			if b == nil || slices.ContainsFunc(b.Versions, func(v *version) bool { return v == nil || len(v.Live) == 0 }) {
				return false
			}
		}
	}
	s.all(func(_ string, _ *blob, v *version) { s.add(v, 1) })
	return s.Albums != nil
}

// size returns an upper bound of the bytes of the encoded albums.
func (s *state) size() (n int) {
	if s != nil {
		s.all(func(_ string, b *blob, v *version) { n += 260 + len(b.Name) + 80*len(v.Live) })
	}
	return n
}

func (s *state) withoutAlbums() *state {
	if s == nil {
		return nil
	}
	brief := *s
	brief.Albums = nil
	return &brief
}

// encodeAlbums appends field "albums" and its value, as json.Marshal does.
func (s *state) encodeAlbums(w *bytes.Buffer) error {
	var err error
	one := json.NewEncoder(w)
	add := func(before string, v any) {
		w.WriteString(before)
		err = errors.Join(err, one.Encode(v))
		w.Truncate(w.Len() - 1) // the newline
	}
	w.WriteString(`"albums":{`)
	comma := ""
	for _, album := range slices.Sorted(maps.Keys(s.Albums)) {
		add(comma, album)
		comma = ":["
		for _, b := range s.Albums[album] {
			add(comma, b)
			comma = ","
		}
		w.WriteByte(']')
	}
	w.WriteByte('}')
	return err
}

func (s *state) add(v *version, sign int64) {
	s.charged += sign * (v.Bytes + blobBytes)
	s.versions += int(sign)
}

// remove removes the versions for which f returns true, and blobs and albums that
// become empty.
func (s *state) remove(f func(album string, b *blob, v *version) bool) {
	for album, blobs := range s.Albums {
		s.Albums[album] = slices.DeleteFunc(blobs, func(b *blob) bool {
			b.Versions = slices.DeleteFunc(b.Versions, func(v *version) bool {
				gone := f(album, b, v)
				if gone {
					s.add(v, -1)
				}
				return gone
			})
			return len(b.Versions) == 0
		})
		if len(s.Albums[album]) == 0 {
			delete(s.Albums, album)
		}
	}
}

// apply applies an event. The new state depends only on the old state and the
// event, so that all processes that replay the log agree.
func (s *state) apply(e *event) {
	s.Last = e.At
	switch {
	case e.Restore != nil:
		old := *s
		*s = *e.Restore
		s.seq, s.Last, s.Swept, s.Indexes, s.Log = old.seq, e.At, old.Swept, old.Indexes, old.Log
	case e.Put != nil:
		s.put(e)
	case e.Delete:
		if v := s.live(e.Album, e.Name); v != nil {
			v.end(e.At)
		}
	case !e.Undelete.IsZero():
		for _, b := range s.Albums[e.Album] {
			now, then := b.live(), b.at(e.Undelete)
			if now == then {
				continue
			}
			if now != nil {
				now.end(e.At)
			}
			if then != nil {
				then.Live = append(then.Live, span{From: e.At})
			}
		}
	case e.Purge != nil:
		purged := map[string]bool{}
		for _, o := range e.Purge {
			purged[o] = true
		}
		s.remove(func(album string, b *blob, v *version) bool {
			gone := purged[v.object(album, b.Name)]
			if gone && v.deleted().After(s.Purged) {
				s.Purged = v.deleted()
			}
			return gone
		})
	case e.Sweep > 0:
		s.Swept = max(s.Swept, e.Sweep)
	case e.Indexes != nil:
		s.Indexes = e.Indexes
	case e.Log != nil:
		s.Log = *e.Log
	case e.Mark != "":
		s.all(func(album string, b *blob, v *version) {
			if v.object(album, b.Name) == e.Mark {
				v.Bad = e.Bad
			}
		})
	}
	s.Log += int64(e.bytes) + blobBytes
}

// put adds a version and ends the live version, which stays recoverable. If the
// live version is damaged and has the same digest, the new version replaces it,
// also for earlier times.
func (s *state) put(e *event) {
	b, v := s.insert(e.Album, e.Name), *e.Put
	v.Put, v.Live = e.At, []span{{From: e.At}}
	if old := b.live(); old != nil && old.Bad && old.SHA256 == v.SHA256 {
		v.Live = old.Live
		b.Versions = slices.DeleteFunc(b.Versions, func(x *version) bool { return x == old })
		s.add(old, -1)
	} else if old != nil {
		old.end(e.At)
	}
	b.Versions = append(b.Versions, &v)
	s.add(&v, 1)
}

// Usage counts the stored blobs of an album or of all albums of a tenant.
type Usage struct {
	Albums       int       `json:"-"`
	Blobs        int       `json:"blobs"`
	Bytes        int64     `json:"bytes"`
	Deleted      int       `json:"deleted_blobs"` // number of recoverable versions
	DeletedBytes int64     `json:"deleted_bytes"`
	OldestDelete time.Time `json:"oldest_deletion,omitzero"`
	Damaged      int       `json:"damaged_blobs"`
}

func (u *Usage) add(v *version) {
	if v.Bad {
		u.Damaged++
	}
	if v.live() {
		u.Blobs++
		u.Bytes += v.Bytes
		return
	}
	u.Deleted++
	u.DeletedBytes += v.Bytes
	if u.OldestDelete.IsZero() || v.deleted().Before(u.OldestDelete) {
		u.OldestDelete = v.deleted()
	}
}

func (s *state) usage() Usage {
	u := Usage{Albums: len(s.Albums)}
	s.all(func(_ string, _ *blob, v *version) { u.add(v) })
	return u
}

// later returns the time of the next event. It is later than the last event even
// if the clock is slow, because Collect could otherwise purge a blob too early.
func (s *state) later(now time.Time) time.Time {
	if now = now.UTC().Truncate(time.Microsecond); now.After(s.Last) {
		return now
	}
	return s.Last.Add(time.Microsecond)
}
