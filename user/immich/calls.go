package immich

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"cpar/internal/hint"
	"cpar/internal/progress"
)

type Filter struct {
	Taken  time.Time // earliest time taken, zero for any
	Albums []string  // ids of albums, empty for all photos
}

type search struct {
	Type        string     `json:"type,omitempty"`
	Page        int        `json:"page"`
	Size        int        `json:"size"`
	Order       string     `json:"order,omitempty"`
	TakenAfter  *time.Time `json:"takenAfter,omitempty"`
	AlbumIDs    []string   `json:"albumIds,omitempty"`
	TagIDs      []id       `json:"tagIds,omitempty"`
	WithDeleted bool       `json:"withDeleted,omitempty"`
}

func (c *Client) photos(ctx context.Context, f Filter, report progress.Func) (all []asset, err error) {
	s := search{Type: "IMAGE", Page: 1, Size: pageSize, Order: "asc", AlbumIDs: f.Albums}
	if !f.Taken.IsZero() {
		s.TakenAfter = &f.Taken
	}
	seen := map[id]bool{}
	for pages := 0; s.Page > 0; pages++ {
		if pages == maxPages {
			return nil, hint.Add(fmt.Errorf("listing photos: %w", c.faultf("has more than %d pages of photos", maxPages)), "select fewer photos with --album or --since")
		}
		var next int
		page, err := ask(ctx, c, "listing photos", http.MethodPost, "/search/metadata", s, func(b []byte) (page []asset, err error) {
			page, next, err = decodePage(b, s.Page)
			return page, err
		})
		if err != nil {
			return nil, notThere(err)
		}
		before := len(seen)
		for _, a := range page {
			if a.Type == "IMAGE" && !seen[a.ID] {
				all = append(all, a)
			}
			seen[a.ID] = true
		}
		if next > 0 && len(seen) == before { // such a listing might never end
			return nil, fmt.Errorf("listing photos: %w", c.faultf("sent an invalid response: page %d has nothing new but is not the last", s.Page))
		}
		report.Report("list photos", len(all), len(all)+next)
		s.Page = next
	}
	return all, nil
}

// notThere adds a hint if the server lacks a call that every Immich supports.
func notThere(err error) error {
	if errors.Is(err, errGone) {
		return hint.Add(err, "check the address of Immich and the album's id; Immich 2 or later is required")
	}
	return err
}

// ask makes a call and decodes its response. Parameter `doing` names the call
// in errors.
func ask[T any](ctx context.Context, c *Client, doing, method, path string, in any, decode func([]byte) (T, error)) (out T, err error) {
	b, _, err := c.call(ctx, method, path, in, maxAnswer)
	if err != nil {
		return out, fmt.Errorf("%s: %w", doing, err)
	}
	if out, err = decode(b); err != nil {
		err = fmt.Errorf("%s: %w", doing, c.faultf("sent an invalid response: %v", err))
	}
	return out, err
}

func (c *Client) tagsOf(ctx context.Context, photo id) ([]string, error) {
	return ask(ctx, c, "reading a photo's tags", http.MethodGet, "/assets/"+string(photo), nil, decodeTagsOf)
}

func (c *Client) preview(ctx context.Context, photo id) ([]byte, error) {
	b, _, err := c.call(ctx, http.MethodGet, "/assets/"+string(photo)+"/thumbnail?size=preview", nil, maxPicture)
	if err != nil {
		return nil, fmt.Errorf("fetching a preview: %w", err)
	}
	return b, nil
}

func (c *Client) tags(ctx context.Context) ([]tag, error) {
	tags, err := ask(ctx, c, "listing tags", http.MethodGet, "/tags", nil, decodeTags)
	return tags, notThere(err)
}

func (c *Client) upsert(ctx context.Context, values []string) ([]tag, error) {
	return ask(ctx, c, "making tags", http.MethodPut, "/tags", map[string][]string{"tags": values}, decodeTags)
}

// assign puts a tag on photos or removes it, and returns the outcome for each.
func (c *Client) assign(ctx context.Context, method string, tag id, photos []id) (all []outcome, err error) {
	for some := range slices.Chunk(photos, 500) {
		b, again, err := c.call(ctx, method, "/tags/"+string(tag)+"/assets", map[string][]id{"ids": some}, maxAnswer)
		if err != nil {
			return all, fmt.Errorf("tagging photos: %w", err)
		}
		out, err := list[outcome](b, len(some))
		if err != nil {
			return all, fmt.Errorf("tagging photos: %w", c.faultf("sent an invalid response: %v", err))
		}
		for i := range out {
			out[i].again = again
		}
		all = append(all, out...)
	}
	return all, nil
}

// used reports whether any photo has a tag, including photos in the trash.
func (c *Client) used(ctx context.Context, tag id) (bool, error) {
	one := search{Page: 1, Size: 1, TagIDs: []id{tag}, WithDeleted: true}
	return ask(ctx, c, "looking for photos with a tag", http.MethodPost, "/search/metadata", one, func(b []byte) (bool, error) {
		found, _, err := decodePage(b, 1)
		return len(found) > 0, err
	})
}

func (c *Client) remove(ctx context.Context, tag id) error {
	_, err := ask(ctx, c, "removing a tag", http.MethodDelete, "/tags/"+string(tag), nil, func([]byte) (any, error) { return nil, nil })
	return err
}
