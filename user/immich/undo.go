package immich

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"cpar/internal/progress"
)

type Undone struct {
	Run     string `json:"run"`
	Removed int    `json:"removed"` // tags taken off photos
	Gone    int    `json:"gone"`    // tags already removed, or whose photo was deleted
	Left    int    `json:"left"`    // tags that Immich refused to remove
	Tags    int    `json:"tags"`    // unused tags deleted from Immich
	// Kept counts the unused tags that the key may not delete. Immich deletes
	// them overnight.
	Kept int `json:"kept"`
}

// Undo removes the tags that a run set and deletes unused tags that runs
// created. An empty id selects the last run. Undo can be repeated.
func (l *Library) Undo(ctx context.Context, runID string, dryRun bool, report progress.Func) (Undone, error) {
	run, runs, err := l.journal.find(l.client.Address(), runID)
	if err != nil {
		return Undone{}, err
	}
	u := &undoing{Library: l, run: run, out: Undone{Run: run.ID}}
	if u.tags, err = l.client.tags(ctx); err != nil {
		return u.out, err
	}
	values := run.values()
	for i, v := range values {
		if err := u.untag(ctx, v, dryRun); err != nil {
			return u.out, err
		}
		report.Report("take off tags", i+1, len(values))
	}
	if dryRun {
		return u.out, nil
	}
	if err := u.clear(ctx, runs); err != nil {
		return u.out, err
	}
	return u.out, l.journal.append(record{Kind: "undone", Run: run.ID})
}

type undoing struct {
	*Library
	run  *Run
	tags []tag
	out  Undone
}

// tagOf returns the current id of a tag. It is the id used by the run, or the
// id of a successor with the same value.
func (u *undoing) tagOf(value string) (found id) {
	for _, t := range u.tags {
		if t.ID == u.run.ids[value] {
			return t.ID
		}
		if t.Value == value {
			found = t.ID
		}
	}
	return found
}

func (u *undoing) untag(ctx context.Context, value string, dryRun bool) error {
	photos := slices.Sorted(maps.Keys(u.run.has[value]))
	tag := u.tagOf(value)
	switch {
	case tag == "":
		u.out.Gone += len(photos)
		return nil
	case dryRun:
		u.out.Removed += len(photos)
		return nil
	}
	outcomes, err := u.client.assign(ctx, http.MethodDelete, tag, photos)
	if errors.Is(err, errGone) { // deleted since the tags were listed
		u.out.Gone += len(photos)
		return nil
	}
	if err != nil {
		return err
	}
	for _, o := range outcomes {
		switch {
		case o.Success, o.again && o.reason() == "not_found": // removed by a try whose response was lost
			u.out.Removed++
		case o.reason() == "not_found":
			u.out.Gone++
		default:
			u.out.Left++
		}
	}
	return nil
}

// clear deletes tags of this run and their ancestors, children first. It deletes only
// tags that a run created and that have neither photos nor children.
func (u *undoing) clear(ctx context.Context, runs []*Run) error {
	made := map[string]bool{}
	for _, r := range runs {
		maps.Copy(made, r.made)
	}
	candidates := map[string]bool{}
	for v := range u.run.made {
		candidates[v] = true
	}
	for _, v := range u.run.values() {
		for _, up := range parents(v) {
			candidates[up] = made[up]
		}
	}
	values := slices.SortedFunc(maps.Keys(candidates), func(a, b string) int {
		return strings.Count(b, "/") - strings.Count(a, "/")
	})
	for _, v := range values {
		if !candidates[v] {
			continue
		}
		if err := u.clearOne(ctx, v); err != nil {
			return err
		}
	}
	return nil
}

func (u *undoing) clearOne(ctx context.Context, value string) error {
	at := slices.IndexFunc(u.tags, func(t tag) bool { return t.Value == value })
	if at < 0 {
		return nil
	}
	below := func(t tag) bool {
		return strings.HasPrefix(t.Value, value+"/") || t.Parent != nil && *t.Parent == u.tags[at].ID
	}
	if slices.ContainsFunc(u.tags, below) {
		return nil
	}
	used, err := u.client.used(ctx, u.tags[at].ID)
	if err != nil || used {
		return err
	}
	err = u.client.remove(ctx, u.tags[at].ID)
	switch {
	case hasStatus(err, http.StatusUnauthorized, http.StatusForbidden): // the key lacks the permission
		u.out.Kept++
		return nil
	case errors.Is(err, errGone):
		err = nil
	case err == nil:
		u.out.Tags++
	}
	u.tags = slices.Delete(u.tags, at, at+1)
	return err
}

type Checked struct {
	Run     string `json:"run"`
	Photos  int    `json:"photos"`   // photos tagged by the run
	Whole   int    `json:"whole"`    // photos with all their tags
	PutBack int    `json:"put_back"` // photos that had lost all tags, now restored
	Taken   int    `json:"taken"`    // photos from which a user removed some of the tags
	Gone    int    `json:"gone"`     // deleted photos
}

// Check verifies that the photos of a run still have its tags and restores tags that
// Immich dropped (see the package comment). An empty id selects the last run.
func (l *Library) Check(ctx context.Context, runID string, dryRun bool, report progress.Func) (Checked, error) {
	run, _, err := l.journal.find(l.client.Address(), runID)
	if err != nil {
		return Checked{}, err
	}
	tagged := map[id][]string{}
	for _, v := range run.values() {
		for p := range run.has[v] {
			tagged[p] = append(tagged[p], v)
		}
	}
	out := Checked{Run: run.ID, Photos: len(tagged)}
	wanted := map[string][]id{}
	photos := slices.Sorted(maps.Keys(tagged))
	for i, p := range photos {
		has, err := l.client.tagsOf(ctx, p)
		report.Report("check photos", i+1, len(photos))
		if errors.Is(err, errGone) {
			out.Gone++
			continue
		}
		if err != nil {
			return out, err
		}
		missing := slices.DeleteFunc(slices.Clone(tagged[p]), func(v string) bool { return slices.Contains(has, v) })
		switch len(missing) {
		case 0:
			out.Whole++
		case len(tagged[p]):
			out.PutBack++
			for _, v := range missing {
				wanted[v] = append(wanted[v], p)
			}
		default:
			out.Taken++
		}
	}
	if dryRun || len(wanted) == 0 {
		return out, nil
	}
	t, err := l.taggerOf(ctx, run.ID)
	if err != nil {
		return out, err
	}
	lost, err := t.put(ctx, wanted)
	if err == nil && len(lost) > 0 {
		for _, photos := range lost {
			for _, why := range photos {
				if why != "duplicate" {
					return out, fmt.Errorf("putting tags back: %w", l.client.faultf("refuses to tag a photo that the run has tagged (%s)", why))
				}
			}
		}
	}
	return out, err
}
