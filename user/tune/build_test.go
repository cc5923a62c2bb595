package tune

import (
	"errors"
	"testing"

	"cpar"
	"cpar/user"
)

// A block width that suits only some profiles is refused once the profile is
// known. One that suits none is refused at once.
func TestCheckBeforeTheProfileIsKnown(t *testing.T) {
	for _, c := range []struct {
		plan Plan
		ok   bool
	}{
		{Plan{}, false}, {Plan{Suited: true}, true}, {Plan{TryProfiles: true}, true}, {Plan{TryScheme: true}, false},
	} {
		c.plan.Options = user.Options{Block: 16, Careful: true}
		if err := c.plan.Check(); (err == nil) != c.ok || err != nil && !errors.Is(err, cpar.ErrInput) {
			t.Errorf("careful blocks of 16 with %+v: %v", c.plan, err)
		}
		c.plan.Block = 33
		if err := c.plan.Check(); !errors.Is(err, cpar.ErrInput) {
			t.Errorf("blocks of 33 with %+v: %v", c.plan, err)
		}
	}
}
