package immich

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"cpar/internal/hint"
	"cpar/internal/progress"
)

// A Filter selects photos of a library.
type Filter struct {
	Taken  time.Time // taken since then, zero for any time
	Albums []string  // ids, none for all photos
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
			return nil, hint.Add(fmt.Errorf("listing photos: %w", c.faultf("has more than %d pages of them", maxPages)), "select fewer photos with --album or --since")
		}
		b, err := c.call(ctx, http.MethodPost, "/search/metadata", s, maxAnswer)
		if err != nil {
			return nil, fmt.Errorf("listing photos: %w", c.notThere(err))
		}
		page, next, err := decodePage(b, s.Page)
		if err != nil {
			return nil, fmt.Errorf("listing photos: %w", c.faultf("sent an invalid response: %v", err))
		}
		before := len(seen)
		for _, a := range page {
			if a.Type == "IMAGE" && !seen[a.ID] {
				all = append(all, a)
			}
			seen[a.ID] = true
		}
		if next > 0 && len(seen) == before { // otherwise the listing might never end
			return nil, fmt.Errorf("listing photos: %w", c.faultf("sent an invalid response: page %d has nothing new, and is not the last", s.Page))
		}
		report.Report("list photos", len(all), len(all)+next)
		s.Page = next
	}
	return all, nil
}

// notThere adds a hint if the server does not know a call that every Immich
// supports.
func (c *Client) notThere(err error) error {
	if errors.Is(err, errGone) {
		return hint.Add(err, "check the address of Immich and the album's id; Immich 2 or later is required")
	}
	return err
}

func (c *Client) tagsOf(ctx context.Context, photo id) ([]string, error) {
	b, err := c.call(ctx, http.MethodGet, "/assets/"+string(photo), nil, maxAnswer)
	if err != nil {
		return nil, fmt.Errorf("reading a photo's tags: %w", err)
	}
	values, err := decodeTagsOf(b)
	if err != nil {
		err = fmt.Errorf("reading a photo's tags: %w", c.faultf("sent an invalid response: %v", err))
	}
	return values, err
}

func (c *Client) preview(ctx context.Context, photo id) ([]byte, error) {
	b, err := c.call(ctx, http.MethodGet, "/assets/"+string(photo)+"/thumbnail?size=preview", nil, maxPicture)
	if err != nil {
		return nil, fmt.Errorf("fetching a preview: %w", err)
	}
	return b, nil
}

func (c *Client) tags(ctx context.Context) ([]tag, error) {
	b, err := c.call(ctx, http.MethodGet, "/tags", nil, maxAnswer)
	if err != nil {
		return nil, fmt.Errorf("listing tags: %w", c.notThere(err))
	}
	return c.read(decodeTags(b))
}

func (c *Client) read(tags []tag, err error) ([]tag, error) {
	if err != nil {
		return nil, fmt.Errorf("listing tags: %w", c.faultf("sent an invalid response: %v", err))
	}
	return tags, nil
}

func (c *Client) upsert(ctx context.Context, values []string) ([]tag, error) {
	b, err := c.call(ctx, http.MethodPut, "/tags", map[string][]string{"tags": values}, maxAnswer)
	if err != nil {
		return nil, fmt.Errorf("making tags: %w", err)
	}
	return c.read(decodeTags(b))
}

// assign puts a tag on photos or removes it, and returns the outcome for each.
func (c *Client) assign(ctx context.Context, method string, tag id, photos []id) ([]outcome, error) {
	var all []outcome
	for len(photos) > 0 {
		some := photos[:min(len(photos), 500)]
		photos = photos[len(some):]
		b, again, err := c.callTold(ctx, method, "/tags/"+string(tag)+"/assets", map[string][]id{"ids": some}, maxAnswer)
		if err != nil {
			return all, fmt.Errorf("tagging photos: %w", err)
		}
		out, err := decodeOutcomes(b, len(some))
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
	b, err := c.call(ctx, http.MethodPost, "/search/metadata", search{Page: 1, Size: 1, TagIDs: []id{tag}, WithDeleted: true}, maxAnswer)
	if err != nil {
		return false, fmt.Errorf("looking for photos with a tag: %w", err)
	}
	found, _, err := decodePage(b, 1)
	if err != nil {
		return false, fmt.Errorf("looking for photos with a tag: %w", c.faultf("sent an invalid response: %v", err))
	}
	return len(found) > 0, nil
}

func (c *Client) remove(ctx context.Context, tag id) error {
	_, err := c.call(ctx, http.MethodDelete, "/tags/"+string(tag), nil, maxAnswer)
	if err != nil {
		err = fmt.Errorf("removing a tag: %w", err)
	}
	return err
}
