package immich

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"cpar/model/rank"
	"cpar/photo/metadata"
)

// tagger puts tags on photos for a run: what is about to happen goes into the journal
// first, so that a run that breaks off can be undone too.
type tagger struct {
	*Library
	run   string
	tags  map[string]id     // by value
	there map[string]bool   // values of tags that exist
	spelt map[string]string // values below Root by their folded form
}

// taggerOf knows the tags that a server has.
func (l *Library) taggerOf(ctx context.Context, run string) (*tagger, error) {
	tags, err := l.client.tags(ctx)
	if err != nil {
		return nil, err
	}
	t := &tagger{Library: l, run: run, tags: map[string]id{}, there: map[string]bool{}, spelt: map[string]string{}}
	for _, one := range tags {
		t.know(one)
	}
	return t, nil
}

func (t *tagger) know(one tag) {
	t.tags[one.Value], t.there[one.Value] = one.ID, true
	if ours(one.Value) {
		t.spelt[metadata.Fold(one.Value)] = one.Value
	}
}

// lacks are the tags for keywords that a photo with certain tags has not. A word that a
// person has given it under any other tag is not given again.
func (t *tagger) lacks(tags []string, keywords []rank.Keyword) (values []string) {
	has := map[string]bool{}
	for _, v := range tags {
		has[metadata.Fold(v)] = true
		if !ours(v) {
			has[metadata.Fold(valueOf(leaf(v)))] = true
		}
	}
	for _, k := range keywords {
		v := valueOf(k.Word)
		f := metadata.Fold(v)
		if has[f] || v == Root+"/" {
			continue
		}
		has[f] = true
		if known, ok := t.spelt[f]; ok {
			v = known
		}
		values = append(values, v)
	}
	return values
}

// missed says why a tag did not get on a photo: value, photo, reason.
type missed map[string]map[id]string

// records are what the journal needs to know of it.
func (m missed) records(run string) (all []record) {
	for _, v := range slices.Sorted(maps.Keys(m)) {
		all = append(all, record{Kind: "not", Run: run, Value: v, Photos: slices.Sorted(maps.Keys(m[v]))})
	}
	return all
}

// foreign reports whether a photo is another person's, as those of partners are.
func (m missed) foreign(photo id) bool {
	for _, photos := range m {
		if photos[photo] == "no_permission" {
			return true
		}
	}
	return false
}

// put puts tags on photos that lack them, and makes the tags that are not there. A call
// whose answer was lost is made again; that a photo has the tag then is the run's doing,
// or no undo would take it off.
func (t *tagger) put(ctx context.Context, wanted map[string][]id) (missed, error) {
	values := slices.Sorted(maps.Keys(wanted))
	if len(values) == 0 {
		return nil, nil
	}
	if err := t.make(ctx, values); err != nil {
		return nil, err
	}
	var intents []record
	for _, v := range values {
		intents = append(intents, record{Kind: "tag", Run: t.run, Tag: t.tags[v], Value: v, Photos: wanted[v]})
	}
	if err := t.journal.append(intents...); err != nil {
		return nil, err
	}
	out := missed{}
	for _, v := range values {
		outcomes, err := t.client.assign(ctx, http.MethodPut, t.tags[v], wanted[v])
		if err != nil {
			return nil, err
		}
		for _, o := range outcomes {
			if o.Success || o.again && o.Error == "duplicate" {
				continue
			}
			if out[v] == nil {
				out[v] = map[id]string{}
			}
			out[v][o.ID] = o.reason()
		}
	}
	return out, nil
}

// reason is a word that is not empty.
func (o outcome) reason() string {
	switch o.Error {
	case "duplicate", "no_permission", "not_found":
		return o.Error
	}
	return "unknown"
}

// make makes the tags that are not there, after noting them: only those may an undo
// remove.
func (t *tagger) make(ctx context.Context, values []string) error {
	var missing, noted []string
	for _, v := range values {
		if t.there[v] {
			continue
		}
		missing = append(missing, v)
		for _, up := range parents(v) {
			if !t.there[up] {
				t.there[up] = true
				noted = append(noted, up)
			}
		}
	}
	if len(missing) == 0 {
		return nil
	}
	if err := t.journal.append(record{Kind: "make", Run: t.run, Values: noted}); err != nil {
		return err
	}
	made, err := t.client.upsert(ctx, missing)
	if err != nil {
		return err
	}
	for _, one := range made {
		if slices.Contains(missing, one.Value) {
			t.know(one)
		}
	}
	for _, v := range missing {
		if t.tags[v] == "" {
			return fmt.Errorf("making tags: %w", t.client.faultf("made none of a name that it was given"))
		}
	}
	return nil
}
