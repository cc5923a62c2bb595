package immich

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
)

const (
	pageSize    = 1000
	maxPages    = 2000 // two million photos
	longestText = 4096 // bytes of a name or checksum
	maxTags     = 100_000
	maxOnPhoto  = 10_000
	maxAnswer   = 32 << 20
	maxPicture  = 64 << 20
)

var uuid = regexp.MustCompile(`^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$`)

// id is a UUID. It becomes part of a URL, so other strings are rejected.
type id string

func (i *id) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil || !uuid.MatchString(s) {
		return fmt.Errorf("an id that is not a UUID")
	}
	*i = id(s)
	return nil
}

type asset struct {
	ID       id     `json:"id"`
	Type     string `json:"type"`
	Name     string `json:"originalFileName"`
	Checksum string `json:"checksum"`
}

type tag struct {
	ID     id     `json:"id"`
	Value  string `json:"value"`
	Parent *id    `json:"parentId"`
}

type outcome struct {
	ID      id     `json:"id"`
	Success bool   `json:"success"`
	Error   string `json:"error"`
	// again is set if the call was repeated, so that the outcome may reflect
	// an earlier attempt.
	again bool
}

// list decodes an array. It rejects more than `limit` elements, because decoded
// elements of `{},{},…` take more memory than their text.
func list[T any](b []byte, limit int) ([]T, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	if t, err := d.Token(); err != nil || t != json.Delim('[') {
		return nil, fmt.Errorf("not a list")
	}
	var out []T
	for d.More() {
		if len(out) == limit {
			return nil, fmt.Errorf("a list of more than %d", limit)
		}
		var v T
		if err := d.Decode(&v); err != nil {
			return nil, fmt.Errorf("element %d of a list cannot be read", len(out)+1)
		}
		out = append(out, v)
	}
	if _, err := d.Token(); err != nil {
		return nil, fmt.Errorf("an unterminated list")
	}
	return out, nil
}

// decodePage decodes one page of a search. Result `next` is 0 after the last
// page and otherwise greater than `page`, so that a server cannot cause an
// endless loop.
func decodePage(b []byte, page int) (assets []asset, next int, err error) {
	var v struct {
		Assets struct {
			Items json.RawMessage `json:"items"`
			Next  *string         `json:"nextPage"`
		} `json:"assets"`
	}
	if err := json.Unmarshal(b, &v); err != nil {
		return nil, 0, fmt.Errorf("not a page of a search")
	}
	if assets, err = list[asset](v.Assets.Items, pageSize); err != nil {
		return nil, 0, err
	}
	for _, a := range assets {
		if a.ID == "" {
			return nil, 0, fmt.Errorf("a photo without id")
		}
		if len(a.Name) > longestText || len(a.Checksum) > longestText {
			return nil, 0, fmt.Errorf("a photo with a name or checksum of more than %d bytes", longestText)
		}
	}
	if v.Assets.Next != nil {
		if next, err = strconv.Atoi(*v.Assets.Next); err != nil || next <= page {
			return nil, 0, fmt.Errorf("the number of the page after page %d is invalid", page)
		}
	}
	return assets, next, nil
}

func decodeTagsOf(b []byte) ([]string, error) {
	var v struct {
		ID   id              `json:"id"`
		Tags json.RawMessage `json:"tags"`
	}
	if err := json.Unmarshal(b, &v); err != nil || v.ID == "" {
		return nil, fmt.Errorf("not a photo")
	}
	if v.Tags == nil || string(v.Tags) == "null" {
		return nil, nil
	}
	tags, err := list[tag](v.Tags, maxOnPhoto)
	var values []string
	for _, t := range tags {
		values = append(values, t.Value)
	}
	return values, err
}

func decodeTags(b []byte) ([]tag, error) {
	tags, err := list[tag](b, maxTags)
	for _, t := range tags {
		if t.ID == "" || t.Value == "" {
			return nil, fmt.Errorf("a tag without id or value")
		}
	}
	return tags, err
}
