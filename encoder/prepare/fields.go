package prepare

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
)

// maxConfig is the maximum size of a configuration file in bytes. It is large
// because some files list the 21,841 classes of ImageNet.
const maxConfig = 4 << 20

// A fields value is a JSON object in a foreign format. Unknown fields are
// ignored. Known fields of the wrong type are errors. A null counts as absent.
// Only the first error is kept, so that readers check it once at the end.
type fields struct {
	values map[string]json.RawMessage
	err    *error // the first error, shared with inner objects
}

func readFields(data []byte) (fields, error) {
	f := fields{err: new(error)}
	if len(data) > maxConfig {
		return f, fmt.Errorf("more than %d bytes", maxConfig)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	if err := d.Decode(&f.values); err != nil {
		return f, fmt.Errorf("it is not a JSON object: %w", err)
	}
	if f.values == nil {
		return f, errors.New("it is not a JSON object")
	}
	if _, err := d.Token(); err != io.EOF {
		return f, errors.New("something follows the object")
	}
	maps.DeleteFunc(f.values, func(_ string, v json.RawMessage) bool { return string(v) == "null" })
	return f, nil
}

func (f fields) fail(err error) {
	if *f.err == nil {
		*f.err = err
	}
}

func (f fields) failf(format string, args ...any) { f.fail(fmt.Errorf(format, args...)) }

func (f fields) has(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return f.values[name] != nil })
}

// read decodes a field into the variable to which `to` points. An absent field
// leaves the variable unchanged. `what` describes the expected type.
func (f fields) read(name string, to any, what string) {
	if !f.has(name) {
		return
	}
	if err := json.Unmarshal(f.values[name], to); err != nil {
		f.failf("its %q is %.60s; it must be %s", name, f.values[name], what)
	}
}

func (f fields) text(name, otherwise string) string {
	f.read(name, &otherwise, "a string")
	return otherwise
}

func (f fields) flag(name string, otherwise bool) bool {
	f.read(name, &otherwise, "true or false")
	return otherwise
}

func (f fields) number(name string, otherwise float64) float64 {
	f.read(name, &otherwise, "a number")
	return otherwise
}

// object returns an inner object, which is empty if the field is absent.
func (f fields) object(name string) fields {
	if !f.has(name) {
		return fields{err: f.err}
	}
	inner, err := readFields(f.values[name])
	if err != nil {
		f.failf("its %q is %.60s; it must be an object", name, f.values[name])
	}
	return fields{inner.values, f.err}
}

func (f fields) three(name string, otherwise [3]float64) [3]float64 {
	var n numbers
	if f.read(name, &n, "a number or three numbers"); n == nil {
		return otherwise
	}
	return [3]float64(n)
}

func (f fields) size(name string) (s size) {
	f.read(name, &s, "a side, or two")
	return s
}

// A numbers value holds one number per colour channel. In JSON, a single number
// stands for three equal ones.
type numbers []float64

func (n *numbers) UnmarshalJSON(b []byte) error {
	var one float64
	if json.Unmarshal(b, &one) == nil {
		*n = numbers{one, one, one}
		return nil
	}
	list, ok := listOf[float64](b, 3)
	if !ok {
		return errors.New("mean, std and fill are a number or three numbers")
	}
	*n = list
	return nil
}

// A size is one side of a square image, or two sides.
type size []int

func (s *size) UnmarshalJSON(b []byte) error {
	var one int
	if json.Unmarshal(b, &one) == nil {
		*s = size{one}
		return nil
	}
	list, ok := listOf[int](b, 2)
	if !ok {
		return errors.New("size is a side, or two")
	}
	*s = list
	return nil
}

// listOf reads a list of exactly n numbers. It refuses null.
func listOf[T any](b []byte, n int) (list []T, ok bool) {
	var read []*T
	if err := json.Unmarshal(b, &read); err != nil || len(read) != n || slices.Contains(read, nil) {
		return nil, false
	}
	for _, v := range read {
		list = append(list, *v)
	}
	return list, true
}

// sized sets the size that a file requests. It refuses a size other than the
// network's, unless that is open (0).
func (p *Preprocessing) sized(height, width, ofNetworkH, ofNetworkW int) error {
	if ofNetworkH != 0 && (height != ofNetworkH || width != ofNetworkW) {
		return fmt.Errorf("it makes images of %d×%d, but the network takes %d×%d (width × height)", width, height, ofNetworkW, ofNetworkH)
	}
	p.Height, p.Width = height, width
	return nil
}

func (p *Preprocessing) channels(f fields, mean, std string) {
	p.Mean, p.Std = f.three(mean, p.Mean), f.three(std, p.Std)
}

func floor(x float64) int {
	if !(x >= 0 && x <= 4*maxSide) {
		return 0 // Preprocessing.check refuses 0
	}
	return int(math.Floor(x))
}

func byteColors(c [3]float64) (b [3]uint8, err error) {
	for i, v := range c {
		if !(v >= 0 && v <= 255) || v != math.Trunc(v) {
			return b, fmt.Errorf("a fill of %g; it is 0 to 255", v)
		}
		b[i] = uint8(v)
	}
	return b, nil
}
