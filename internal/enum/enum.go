// Package enum maps the values of a small enumeration to names, for String
// methods and flags.
package enum

import (
	"fmt"
	"strings"
)

// A Table names the values of T, which are consecutive from First.
type Table[T ~uint8] struct {
	// What describes one value in messages, such as "scheme".
	What  string
	First T
	Names []string
}

func (t Table[T]) Has(v T) bool { return v >= t.First && int(v-t.First) < len(t.Names) }

func (t Table[T]) All() []T {
	all := make([]T, len(t.Names))
	for i := range all {
		all[i] = t.First + T(i)
	}
	return all
}

// String returns the name of v, or What and the number of an unknown value.
func (t Table[T]) String(v T) string {
	if !t.Has(v) {
		return fmt.Sprintf("%s %d", t.What, uint8(v))
	}
	return t.Names[v-t.First]
}

// Parse returns the value with this name, ignoring case. Errors wrap `kind`.
func (t Table[T]) Parse(name string, kind error) (T, error) {
	for i, n := range t.Names {
		if strings.EqualFold(name, n) {
			return t.First + T(i), nil
		}
	}
	last := len(t.Names) - 1
	return 0, fmt.Errorf("%w: no %s %q; there are %s and %s", kind, t.What, name, strings.Join(t.Names[:last], ", "), t.Names[last])
}
