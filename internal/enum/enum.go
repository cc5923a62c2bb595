// Package enum names the values of small enumerations: what String writes and
// what a parser of flags reads, in one table.
package enum

import (
	"fmt"
	"strings"
)

// A Table names the values of T, which follow one another from First.
type Table[T ~uint8] struct {
	// What is one value in words, such as "scheme", for messages.
	What  string
	First T
	Names []string
}

// Has reports whether v is one of the values.
func (t Table[T]) Has(v T) bool { return v >= t.First && int(v-t.First) < len(t.Names) }

// All lists the values in their order.
func (t Table[T]) All() []T {
	all := make([]T, len(t.Names))
	for i := range all {
		all[i] = t.First + T(i)
	}
	return all
}

// String is the name of v, or what and number where it has none.
func (t Table[T]) String(v T) string {
	if !t.Has(v) {
		return fmt.Sprintf("%s %d", t.What, uint8(v))
	}
	return t.Names[v-t.First]
}

// Parse finds the value of a name, whatever its case. Its error wraps kind.
func (t Table[T]) Parse(name string, kind error) (T, error) {
	for i, n := range t.Names {
		if strings.EqualFold(name, n) {
			return t.First + T(i), nil
		}
	}
	last := len(t.Names) - 1
	return 0, fmt.Errorf("%w: no %s %q; there are %s and %s", kind, t.What, name, strings.Join(t.Names[:last], ", "), t.Names[last])
}
