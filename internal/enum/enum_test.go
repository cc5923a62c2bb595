package enum

import (
	"errors"
	"slices"
	"testing"
)

type size uint8

var sizes = Table[size]{What: "size", First: 2, Names: []string{"small", "middle", "large"}}

func TestNamesAndValues(t *testing.T) {
	if all := sizes.All(); !slices.Equal(all, []size{2, 3, 4}) {
		t.Fatalf("all values are %v", all)
	}
	kind := errors.New("a kind of error")
	for i, v := range sizes.All() {
		if got := sizes.String(v); got != sizes.Names[i] {
			t.Errorf("value %d is written %q", v, got)
		}
		if got, err := sizes.Parse(sizes.Names[i], kind); err != nil || got != v {
			t.Errorf("%q is read as %d (%v)", sizes.Names[i], got, err)
		}
	}
	if got, err := sizes.Parse("LARGE", kind); err != nil || got != 4 {
		t.Errorf("LARGE is read as %d (%v)", got, err)
	}
	for _, v := range []size{0, 1, 5, 255} {
		if sizes.Has(v) || sizes.String(v) == "" {
			t.Errorf("%d is a value, named %q", v, sizes.String(v))
		}
	}
	_, err := sizes.Parse("huge", kind)
	if !errors.Is(err, kind) || err.Error() != `a kind of error: no size "huge"; there are small, middle and large` {
		t.Errorf("huge: %v", err)
	}
}
