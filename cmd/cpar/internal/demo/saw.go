package demo

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"cpar"
)

// A CloudView describes what the server's process saw, according to its log and
// its folder.
type CloudView struct {
	Stored      int64 `json:"bytes_stored"`   // bytes in the server's folder
	Requests    int   `json:"requests"`       // HTTP requests in its log
	Annotations int   `json:"annotations"`    // annotation requests among them
	Received    int   `json:"bytes_received"` // bytes of the annotation requests
	// Log holds the log lines of two annotation requests.
	Log []string `json:"log"`
	// Searched is the number of the owner's words and file names that were
	// searched for in the server's folder, its log and all requests. Haystack
	// is the total size of these places in bytes. Found lists the words that
	// occur there.
	Searched int      `json:"words_searched"`
	Haystack int64    `json:"bytes_searched"`
	Found    []string `json:"words_found"`
}

// shortest is the minimum length, in bytes, of a word to search for. Shorter
// words occur by chance in megabytes of ciphertext.
const shortest = 6

// logWords are words that the log itself uses. They are not searched for,
// because they may also be keywords.
const logWords = "request manifest segments annotate missing health indexes serving stopping received address method status"

func (s *session) lookAtCloud() error {
	saw := &s.result.Saw
	var secrets []string
	for _, list := range [][]item{s.train, s.fresh} {
		for _, it := range list {
			secrets = append(secrets, it.Keywords...)
			secrets = append(secrets, it.Path, path.Base(it.Name))
		}
	}
	needles := newNeedles(secrets)
	saw.Searched = needles.count
	err := filepath.WalkDir(s.path("cloud"), func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(p)
		saw.Stored += int64(len(b))
		saw.Haystack += int64(len(b))
		needles.search(b)
		needles.search([]byte(filepath.Base(p)))
		return err
	})
	log, err2 := os.ReadFile(s.path("cloud.log"))
	if err := errors.Join(err, err2); err != nil {
		return fmt.Errorf("looking at what the cloud saw: %w: %w", cpar.ErrStorage, err)
	}
	needles.search(log)
	saw.Haystack += int64(len(log))
	for line := range strings.Lines(string(log)) {
		if !strings.Contains(line, "msg=request") {
			continue
		}
		saw.Requests++
		if strings.Contains(line, "/annotate") {
			if saw.Annotations++; len(saw.Log) < 2 {
				saw.Log = append(saw.Log, strings.TrimSpace(line))
			}
		}
	}
	for _, p := range s.result.Photos {
		needles.search(p.request)
		saw.Haystack += int64(len(p.request))
		saw.Received += len(p.request)
	}
	saw.Found = needles.found()
	return nil
}

// A needles value searches for many words in a single scan.
type needles struct {
	count int
	by    map[[shortest]byte][]string // words by their first bytes
	there map[string]bool             // words that occur
}

func newNeedles(words []string) *needles {
	n := &needles{by: map[[shortest]byte][]string{}, there: map[string]bool{}}
	known := map[string]bool{}
	for _, w := range strings.Fields(logWords) {
		known[w] = true
	}
	for _, w := range words {
		if len(w) < shortest || !utf8.ValidString(w) || known[w] {
			continue
		}
		known[w] = true
		n.count++
		start := [shortest]byte([]byte(w))
		n.by[start] = append(n.by[start], w)
	}
	return n
}

func (n *needles) search(b []byte) {
	for i := 0; i+shortest <= len(b); i++ {
		for _, w := range n.by[[shortest]byte(b[i:])] {
			if bytes.HasPrefix(b[i:], []byte(w)) {
				n.there[w] = true
			}
		}
	}
}

func (n *needles) found() []string {
	return append([]string{}, slices.Sorted(maps.Keys(n.there))...)
}
