package immich

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"cpar"
	"cpar/internal/testing/immichtest"
	"cpar/model/feature"
	"cpar/model/rank"
	"cpar/user"
	"cpar/user/device"
)

// words is an index that returns the words in the bytes of an image. "refused"
// stands for a rejected reply and "?" for an unreadable image.
type words struct {
	state [32]byte
	asked []string
	// If broken is not 0, the cloud fails after this number of photos.
	broken int
}

var errBroken = errors.New("the cloud is gone")

func (x *words) Digest() [32]byte { return x.state }

func (x *words) UncachedFeatures(b []byte) (*feature.Vectors, error) {
	if string(b) == "?" {
		return nil, errors.New("no picture")
	}
	return &feature.Vectors{}, nil
}

func (x *words) Annotate(_ context.Context, photos []device.Photo, _ device.AnnotateOptions) (out []device.Annotated, err error) {
	for _, p := range photos {
		if x.broken > 0 && len(x.asked) == x.broken {
			return out, errBroken
		}
		x.asked = append(x.asked, p.Name)
		a := device.Annotated{Photo: p.Name}
		switch said := keywords[p.Name]; said {
		case "refused":
			a.Err = fmt.Errorf("%w: a reply that was altered", cpar.ErrCloud)
		default:
			for _, w := range strings.Fields(said) {
				a.Keywords = append(a.Keywords, rank.Keyword{Word: strings.ReplaceAll(w, "_", " "), Probability: 0.9})
			}
		}
		out = append(out, a)
	}
	return out, nil
}

// keywords of test photos by id.
var keywords = map[string]string{}

// world is a server, a client, a journal and an index.
type world struct {
	*immichtest.Server
	t       *testing.T
	url     string
	client  *Client
	journal *Journal
	index   *words
}

// newWorld returns a world with one photo per line of keywords.
func newWorld(t *testing.T, lines ...string) *world {
	t.Helper()
	keywords = map[string]string{}
	s := immichtest.New()
	for i, line := range lines {
		p := &immichtest.Photo{ID: immichtest.ID(1, i), Name: fmt.Sprintf("%d.jpg", i), Checksum: fmt.Sprint("sum", i), Preview: []byte("jpeg"), Taken: time.Date(2026, 1, 1+i, 0, 0, 0, 0, time.UTC)}
		keywords[p.ID] = line
		if line == "?" {
			p.Preview = []byte("?")
		}
		s.Photos = append(s.Photos, p)
	}
	w := &world{Server: s, t: t, index: &words{state: [32]byte{1}}}
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	w.url = h.URL
	w.client = w.newClient(immichtest.Key)
	var err error
	if w.journal, err = OpenJournal(user.NewKey(), &device.Device{State: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) newClient(key string) *Client {
	w.t.Helper()
	c, err := NewClient(w.url, key)
	if err != nil {
		w.t.Fatal(err)
	}
	c.pause = func(context.Context, time.Duration) error { return nil }
	return c
}

func (w *world) library() *Library { return NewLibrary(w.client, w.journal) }

func (w *world) annotate(o Options) Summary {
	w.t.Helper()
	s, err := w.library().Annotate(w.t.Context(), w.index, o)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// tagged lists the tags of the photos, one photo per line.
func (w *world) tagged() string {
	var lines []string
	for _, p := range w.Photos {
		tags := slices.Clone(p.Tags)
		slices.Sort(tags)
		lines = append(lines, strings.Join(tags, " "))
	}
	return strings.Join(lines, "; ")
}

func (w *world) want(tagged, tags string) {
	w.t.Helper()
	if got := w.tagged(); got != tagged {
		w.t.Errorf("photos have %q, want %q", got, tagged)
	}
	if got := strings.Join(w.Tags(), " "); got != tags {
		w.t.Errorf("tags are %q, want %q", got, tags)
	}
}
