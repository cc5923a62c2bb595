package immich

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"cpar"
	"cpar/internal/hint"
	"cpar/model/rank"
	"cpar/user"
	"cpar/user/device"
	"cpar/user/localstore"
)

// A record is an entry of the journal. It is synced to disk before the change
// that it describes:
//
//	begin   a run: time, server, and generation of the index
//	make    tags about to be created
//	tag     photos about to get a tag
//	not     photos of the last entry "tag" that did not get the tag: they had it, or belong to others
//	answer  photos and the keywords found for them
//	done    finished photos
//	undone  the run was undone
type record struct {
	Kind   string    `json:"kind"`
	Run    string    `json:"run"`
	At     time.Time `json:"at,omitzero"`
	Server string    `json:"server,omitempty"`
	State  string    `json:"state,omitempty"`
	Values []string  `json:"values,omitempty"`
	Tag    id        `json:"tag,omitempty"`
	Value  string    `json:"value,omitempty"`
	Photos []id      `json:"photos,omitempty"`
	Sums   []string  `json:"sums,omitempty"` // checksums of Photos

	Keywords [][]rank.Keyword `json:"keywords,omitempty"` // of Photos
}

// A Run is one tagging run, reconstructed from the journal.
type Run struct {
	ID     string    `json:"run"`
	Began  time.Time `json:"began"`
	Server string    `json:"server"`
	Photos int       `json:"photos"` // number of finished photos
	Tags   int       `json:"tags"`   // number of tags set on photos
	Undone bool      `json:"undone"`

	state string
	made  map[string]bool        // values of created tags
	ids   map[string]id          // ids of tags by value, at the time of the run
	has   map[string]map[id]bool // photos tagged by the run, by tag value
	done  map[id]string          // checksums of finished photos

	answers map[string]map[id]answer // by answer key (field run.key)
}

type answer struct {
	sum      string
	keywords []rank.Keyword
}

func newRun(r record) *Run {
	return &Run{ID: r.Run, Began: r.At, Server: r.Server, state: r.State, made: map[string]bool{}, ids: map[string]id{}, has: map[string]map[id]bool{}, done: map[id]string{}, answers: map[string]map[id]answer{}}
}

func (run *Run) take(r record) {
	switch r.Kind {
	case "make":
		for _, v := range r.Values {
			run.made[v] = true
		}
	case "tag":
		run.ids[r.Value] = r.Tag
		if run.has[r.Value] == nil {
			run.has[r.Value] = map[id]bool{}
		}
		for _, p := range r.Photos {
			run.has[r.Value][p] = true
		}
	case "not":
		for _, p := range r.Photos {
			delete(run.has[r.Value], p)
		}
	case "done":
		for i, p := range r.Photos {
			if i < len(r.Sums) {
				run.done[p] = r.Sums[i]
			}
		}
	case "answer":
		if run.answers[r.State] == nil {
			run.answers[r.State] = map[id]answer{}
		}
		for i, p := range r.Photos {
			if i < len(r.Sums) && i < len(r.Keywords) {
				run.answers[r.State][p] = answer{r.Sums[i], r.Keywords[i]}
			}
		}
	case "undone":
		run.Undone = true
	}
}

func (run *Run) values() (all []string) {
	for v, photos := range run.has {
		if len(photos) > 0 {
			all = append(all, v)
		}
	}
	slices.Sort(all)
	return all
}

type Journal struct{ *localstore.Journal[record] }

func OpenJournal(key *user.Key, d *device.Device) (*Journal, error) {
	store, _, err := d.Journals(key)
	if err != nil {
		return nil, err
	}
	j, err := localstore.OpenJournal[record](store, "immich")
	return &Journal{j}, err
}

func (j *Journal) append(records ...record) error {
	_, err := j.Append(records...)
	return err
}

// Runs returns the runs at `server`, or at every server if it is "", oldest
// first. Result `damaged` counts the damaged parts of the journal.
func (j *Journal) Runs(server string) (runs []*Run, damaged int, err error) {
	byID := map[string]*Run{}
	damaged, err = j.Read(func(r *record) {
		if r.Kind == "begin" && byID[r.Run] == nil {
			byID[r.Run] = newRun(*r)
			runs = append(runs, byID[r.Run])
		}
		if run := byID[r.Run]; run != nil {
			run.take(*r)
		}
	})
	if err != nil {
		return nil, 0, err
	}
	runs = slices.DeleteFunc(runs, func(r *Run) bool { return server != "" && r.Server != server })
	for _, r := range runs {
		r.Photos = len(r.done)
		for _, photos := range r.has {
			r.Tags += len(photos)
		}
	}
	return runs, damaged, nil
}

// find returns the run at a server with the given id. If the id is "", it
// returns the last run that was not undone.
func (j *Journal) find(server, runID string) (*Run, []*Run, error) {
	runs, _, err := j.Runs(server)
	if err != nil {
		return nil, nil, err
	}
	for _, r := range slices.Backward(runs) {
		if r.ID == runID || runID == "" && !r.Undone {
			if r.Undone {
				return nil, nil, fmt.Errorf("%w: run %s was undone before", cpar.ErrInput, r.ID)
			}
			return r, runs, nil
		}
	}
	if runID == "" {
		return nil, nil, fmt.Errorf("%w: no run at %s that is not undone", cpar.ErrInput, server)
	}
	return nil, nil, hint.Add(fmt.Errorf("%w: there is no such run at %s", cpar.ErrInput, server), "cpar immich runs lists them")
}

func known(runs []*Run, state string) map[id]string {
	all := map[id]string{}
	for _, r := range runs {
		if r.state != state || r.Undone {
			continue
		}
		maps.Copy(all, r.done)
	}
	return all
}

// answered returns each photo's last answer under an answer key.
func answered(runs []*Run, key string) map[id]answer {
	all := map[id]answer{}
	for _, r := range runs {
		maps.Copy(all, r.answers[key])
	}
	return all
}

func nameRun(runs []*Run, now time.Time) string {
	base := "immich-" + now.UTC().Format("20060102-150405")
	name := base
	for n := 2; slices.ContainsFunc(runs, func(r *Run) bool { return r.ID == name }); n++ {
		name = fmt.Sprintf("%s-%d", base, n)
	}
	return name
}
