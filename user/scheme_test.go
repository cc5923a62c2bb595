package user

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"cpar"
)

func TestEverySchemeHasATableEntry(t *testing.T) {
	if len(schemes) != len(cpar.Schemes()) {
		t.Errorf("%d rows for %d schemes", len(schemes), len(cpar.Schemes()))
	}
	for _, s := range cpar.Schemes() {
		r, there := schemes[s]
		if !there {
			t.Errorf("%v has no row", s)
			continue
		}
		for i := range reflect.TypeOf(r).NumField() {
			if f := reflect.ValueOf(r).Field(i); f.Kind() == reflect.Func && f.IsNil() {
				t.Errorf("the row of %v has no %s", s, reflect.TypeOf(r).Field(i).Name)
			}
		}
		// The server reads the scores that it computes in plaintext.
		if r.hides == s.Scored() || Hides(s) != r.hides || s.Grows() != r.hides {
			t.Errorf("%v hides distances: %v; its scores are in the open: %v", s, r.hides, s.Scored())
		}
	}
	if Hides(0) || cpar.Scheme(9).Grows() {
		t.Error("an unknown scheme hides, or grows")
	}
}

func TestEverySchemeAnswersTheSameCalls(t *testing.T) {
	images := madeImages(40, 1)
	for _, scheme := range cpar.Schemes() {
		key := testKey()
		b, folder := build(t, key, images, small(scheme))
		x := held(t, key, folder)
		if x.ID() != b.ID() || x.Origin() != b.ID() || x.Scheme() != scheme || x.Generation() != 1 || x.Records() != 40 || x.Digest() != b.Digest() {
			t.Errorf("%v: opened as %v of %v, %v, generation %d, %d records", scheme, x.ID(), x.Origin(), x.Scheme(), x.Generation(), x.Records())
		}
		if got, want := x.DefaultParams(), b.DefaultParams(); got != want || got.Scheme != scheme || got.L != 10 {
			t.Errorf("%v: asked by %+v, by its builder %+v", scheme, got, want)
		}
		for _, i := range []int{0, 7, 39} {
			near := x.nearest(images[i], 12)
			if len(near) != 12 || b.PhotoOf(near[0].Record) != i || near[0].Dis > itself(scheme) {
				t.Fatalf("%v: photo %d is found as %+v", scheme, i, near)
			}
			for _, n := range near {
				if !slices.Equal(n.Keywords, images[b.PhotoOf(n.Record)].Keywords) {
					t.Errorf("%v: record %d has keywords %q", scheme, n.Record, n.Keywords)
				}
			}
		}
		twin, err := b.Twin()
		if err != nil {
			t.Fatal(err)
		}
		pending, _, err := x.Request(images[3].Vectors, x.params(12))
		if err != nil {
			t.Fatal(err)
		}
		hits, err := twin.Search(pending, nil)
		if err != nil || len(hits) != 12 || b.PhotoOf(hits[0].Record) != 3 {
			t.Errorf("%v: the twin finds %v, %v", scheme, hits, err)
		}
		_, compared := twin.ASPE()
		if _, rows := twin.Rows(); rows == compared || compared == Hides(scheme) {
			t.Errorf("%v: its twin is of the other family", scheme)
		}
	}
}

// TestSchemesServeThemselves checks that an index rejects other schemes with a
// useful hint.
func TestSchemesServeThemselves(t *testing.T) {
	photo := madeImages(1, 9)[0].Vectors
	for _, scheme := range cpar.Schemes() {
		b := setUp(t, testKey(), madeImages(3, 1), small(scheme))
		for _, asked := range cpar.Schemes() {
			_, _, err := b.Request(photo, cpar.Params{Scheme: asked, Search: asked.Searches()[0], L: 2, Approx: 1000})
			// An index with a search structure can also be scanned, and small
			// has cells.
			serves := asked == scheme || asked == cpar.SchemeCAPIA && (scheme == cpar.SchemeCPAR || scheme == cpar.SchemeIVF) ||
				asked == cpar.SchemeIVF && scheme == cpar.SchemeCPAR
			switch {
			case serves && !Hides(scheme) && err != nil:
				t.Errorf("an index of scheme %v asked by %v: %v", scheme, asked, err)
			case serves && Hides(scheme) && (!errors.Is(err, cpar.ErrInput) || !strings.Contains(err.Error(), "fetched")):
				t.Errorf("%v asked before Hold: %v", scheme, err)
			case !serves && (!errors.Is(err, cpar.ErrInput) || !strings.Contains(err.Error(), "does not serve")):
				t.Errorf("an index of scheme %v asked by %v: %v", scheme, asked, err)
			}
		}
		if b.Generation() != 1 || b.Origin() != b.ID() {
			t.Errorf("%v begins with generation %d, origin %v", scheme, b.Generation(), b.Origin())
		}
	}
	b := setUp(t, testKey(), madeImages(30, 1), Options{Scheme: cpar.SchemeCPAR, PCA: 128})
	for _, asked := range []cpar.Scheme{cpar.SchemeCPAR, cpar.SchemeIVF} {
		if _, _, err := b.Request(photo, cpar.Params{Scheme: asked, L: 2, Approx: 100, Search: cpar.SearchIVF}); !errors.Is(err, cpar.ErrInput) || !strings.Contains(err.Error(), "no inverted file") {
			t.Errorf("a forest asked for lists by %v: %v", asked, err)
		}
	}
}

// callable marks fields of function type.
const callable = " (a function)"

// fields counts the nil and non-nil values of each field of each type of this
// module that is reachable from a value.
type fields map[string][2]int

func (f fields) walk(v reflect.Value, seen map[any]bool) {
	switch v.Kind() {
	case reflect.Interface:
		f.walk(v.Elem(), seen)
	case reflect.Pointer:
		if at := [2]any{v.Pointer(), v.Type()}; !v.IsNil() && !seen[at] {
			seen[at] = true
			f.walk(v.Elem(), seen)
		}
	case reflect.Struct:
		if module := strings.TrimSuffix(reflect.TypeFor[Key]().PkgPath(), "/user"); !strings.HasPrefix(v.Type().PkgPath(), module) {
			return
		}
		for i := range v.NumField() {
			field, n := v.Field(i), 0
			switch field.Kind() {
			case reflect.Pointer, reflect.Interface, reflect.Func, reflect.Map, reflect.Slice, reflect.Chan:
			case reflect.Struct:
				if !strings.HasPrefix(field.Type().String(), "atomic.Pointer[") {
					f.walk(field, seen)
					continue
				}
			default:
				continue
			}
			if !field.IsZero() {
				n = 1
			}
			name := fmt.Sprintf("%v.%s", v.Type(), v.Type().Field(i).Name)
			if field.Kind() == reflect.Func {
				name += callable
			}
			count := f[name]
			count[n]++
			f[name] = count
			f.walk(field, seen)
		}
	}
}

// TestNothingIsNilBecauseOfTheScheme checks that no reachable field is nil in
// every owner of one scheme but in none of another, except the search
// structures themselves. Fields set by Hold, SetEncoder or SetFeatureCache must
// be nil in all schemes alike.
func TestNothingIsNilBecauseOfTheScheme(t *testing.T) {
	after := map[string]map[cpar.Scheme]fields{"Setup": {}, "Open": {}, "Hold": {}}
	for _, scheme := range cpar.Schemes() {
		for stage := range after {
			after[stage][scheme] = fields{}
		}
		opts := []Options{small(scheme)}
		if scheme == cpar.SchemeCPAR {
			opts = append(opts, Options{Scheme: scheme, PCA: 128, Trees: 2}, Options{Scheme: scheme, PCA: 128, Trees: 2, Split: SplitOriginal, Order: OrderOPE})
		}
		for _, opt := range opts {
			key := testKey()
			b, folder := build(t, key, madeImages(30, 1), opt)
			after["Setup"][scheme].walk(reflect.ValueOf(b.Owner), map[any]bool{})
			after["Open"][scheme].walk(reflect.ValueOf(look(t, key, folder).Owner), map[any]bool{})
			after["Hold"][scheme].walk(reflect.ValueOf(held(t, key, folder).Owner), map[any]bool{})
		}
	}
	structure := []string{"aspe.Builder.forest", "aspe.ledgerPart.planes", "aspe.ledgerPart.centres", "aspe.Index.fields",
		"aspe.Builder.lists", "aspe.Builder.centroids"}
	compared := 0
	for stage, byScheme := range after {
		for _, a := range cpar.Schemes() {
			for name, n := range byScheme[a] {
				for _, b := range cpar.Schemes() {
					if m, there := byScheme[b][name]; there && a != b {
						compared++
						if n[1] == 0 && m[0] == 0 && !slices.Contains(structure, name) {
							t.Errorf("after %s, %s is nil with scheme %v and never with %v", stage, name, a, b)
						}
					}
				}
				own := strings.HasPrefix(name, "user.Owner.") && name != "user.Owner.network" && name != "user.Owner.cache"
				if (own || strings.HasSuffix(name, callable)) && n[0] > 0 {
					t.Errorf("after %s, %s is nil with scheme %v", stage, name, a)
				}
			}
		}
	}
	if compared < 100 {
		t.Errorf("only %d pairs were compared: the walk goes nowhere", compared)
	}
}
