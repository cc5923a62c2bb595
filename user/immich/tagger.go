package immich

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"path"
	"slices"

	"cpar/model/rank"
	"cpar/photo/metadata"
)

// tagger sets tags for a run. It writes every change to the journal first, so
// that an interrupted run can be undone.
type tagger struct {
	*Library
	run   string
	tags  map[string]id     // by value
	there map[string]bool   // values of existing tags
	spelt map[string]string // values of tags below Root, by folded value
}

func (l *Library) taggerOf(ctx context.Context, run string) (*tagger, error) {
	tags, err := l.client.tags(ctx)
	if err != nil {
		return nil, err
	}
	t := &tagger{Library: l, run: run, tags: map[string]id{}, there: map[string]bool{}, spelt: map[string]string{}}
	for _, one := range tags {
		t.add(one)
	}
	return t, nil
}

func (t *tagger) add(one tag) {
	t.tags[one.Value], t.there[one.Value] = one.ID, true
	if ours(one.Value) {
		t.spelt[metadata.Fold(one.Value)] = one.Value
	}
}

// lacks returns the tags that a photo with the given tags still needs for its
// keywords. It leaves out keywords that already are tags set by the user.
func (t *tagger) lacks(tags []string, keywords []rank.Keyword) (values []string) {
	has := map[string]bool{}
	for _, v := range tags {
		has[metadata.Fold(v)] = true
		if !ours(v) {
			has[metadata.Fold(valueOf(path.Base(v)))] = true
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

// A missed map maps a tag's value and a photo to the reason why the tag was
// not set.
type missed map[string]map[id]string

func (m missed) records(run string) (all []record) {
	for _, v := range slices.Sorted(maps.Keys(m)) {
		all = append(all, record{Kind: "not", Run: run, Value: v, Photos: slices.Sorted(maps.Keys(m[v]))})
	}
	return all
}

// foreign reports whether a photo belongs to another user, such as the user's partner.
func (m missed) foreign(photo id) bool {
	for _, photos := range m {
		if photos[photo] == "no_permission" {
			return true
		}
	}
	return false
}

// put sets missing tags on photos and creates tags as needed. If a repeated
// call finds the tag present, put attributes it to the run, because the first
// call's response may have been lost.
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

func (o outcome) reason() string {
	switch o.Error {
	case "duplicate", "no_permission", "not_found":
		return o.Error
	}
	return "unknown"
}

// make creates missing tags and records them first, because an undo may remove
// only recorded tags.
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
			t.add(one)
		}
	}
	for _, v := range missing {
		if t.tags[v] == "" {
			return fmt.Errorf("making tags: %w", t.client.faultf("did not create a requested tag"))
		}
	}
	return nil
}
