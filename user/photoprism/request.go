package photoprism

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"cpar"
	"cpar/internal/hint"
)

type request struct {
	ID     string `json:"id"`
	URL    string `json:"url"`
	Images images `json:"images"`
}

// The type images stops decoding at MaxImages, because many empty strings take
// more memory than their JSON.
type images []string

func (list *images) UnmarshalJSON(b []byte) error {
	*list = nil
	d := json.NewDecoder(bytes.NewReader(b))
	if t, err := d.Token(); err != nil || t != json.Delim('[') {
		return errNoList
	}
	for d.More() {
		if len(*list) == MaxImages {
			return errManyImages
		}
		var s string
		if err := d.Decode(&s); err != nil {
			return errNoList
		}
		*list = append(*list, s)
	}
	return nil
}

var (
	errNoList     = fmt.Errorf("%w: images is not a list of strings", cpar.ErrInput)
	errManyImages = fmt.Errorf("%w: more than %d images", cpar.ErrInput, MaxImages)
	errNoImages   = fmt.Errorf("%w: no images", cpar.ErrInput)
	errAddress    = hint.Add(fmt.Errorf("%w: an address instead of image data; this service fetches no addresses", cpar.ErrInput), "set FileScheme: data in vision.yml")
)

var cleanID = regexp.MustCompile(`^[A-Za-z0-9_.:-]{1,64}$`)

// decodeRequest decodes a request and its images. Errors (cpar.ErrInput) do not
// quote the request.
func decodeRequest(body []byte) (id string, pictures [][]byte, err error) {
	var r request
	if err := json.Unmarshal(body, &r); err != nil {
		for _, e := range []error{errNoList, errManyImages} {
			if errors.Is(err, e) {
				return "", nil, e
			}
		}
		return "", nil, fmt.Errorf("%w: the request is not JSON of the vision protocol", cpar.ErrInput)
	}
	if cleanID.MatchString(r.ID) {
		id = r.ID
	}
	switch {
	case r.URL != "":
		return id, nil, errAddress
	case len(r.Images) == 0:
		return id, nil, errNoImages
	}
	for i, s := range r.Images {
		p, err := pictureOf(s)
		if err != nil {
			return id, nil, fmt.Errorf("image %d: %w", i+1, err)
		}
		pictures = append(pictures, p)
	}
	return id, pictures, nil
}

// pictureOf decodes a data URL or plain base64. It never opens a path or an address.
func pictureOf(s string) ([]byte, error) {
	if head, rest, ok := strings.Cut(s, ","); ok && len(head) >= 5 && strings.EqualFold(head[:5], "data:") {
		if len(head) > 200 || !strings.HasSuffix(strings.ToLower(head), ";base64") {
			return nil, fmt.Errorf("%w: a data URL that is not base64", cpar.ErrInput)
		}
		s = rest
	} else if strings.Contains(s, "://") || strings.HasPrefix(strings.ToLower(s), "file:") {
		return nil, errAddress
	}
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil || len(b) == 0 {
		return nil, fmt.Errorf("%w: not base64", cpar.ErrInput)
	}
	return b, nil
}
