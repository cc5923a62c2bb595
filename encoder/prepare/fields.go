package prepare

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
)

// maxConfig limits a configuration file. Some list the 21,841 classes of
// ImageNet.
const maxConfig = 4 << 20

// fields is a JSON object in a foreign format. Unknown fields are ignored,
// known ones of the wrong type are errors, and null counts as absent.
type fields map[string]json.RawMessage

func readFields(data []byte) (fields, error) {
	if len(data) > maxConfig {
		return nil, fmt.Errorf("more than %d bytes", maxConfig)
	}
	var f fields
	d := json.NewDecoder(bytes.NewReader(data))
	if err := d.Decode(&f); err != nil {
		return nil, fmt.Errorf("it is not a JSON object: %w", err)
	}
	if f == nil {
		return nil, errors.New("it is not a JSON object")
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("something follows the object")
	}
	for name, v := range f {
		if string(v) == "null" {
			delete(f, name)
		}
	}
	return f, nil
}

func (f fields) has(names ...string) bool {
	for _, name := range names {
		if _, ok := f[name]; ok {
			return true
		}
	}
	return false
}

// read reads a field into to, which keeps its value if the field is absent.
// what describes the expected type.
func (f fields) read(name string, to any, what string) error {
	raw, ok := f[name]
	if !ok {
		return nil
	}
	if err := json.Unmarshal(raw, to); err != nil {
		return fmt.Errorf("its %q is %.60s; it must be %s", name, raw, what)
	}
	return nil
}

func (f fields) text(name, otherwise string) (string, error) {
	err := f.read(name, &otherwise, "a string")
	return otherwise, err
}

func (f fields) flag(name string, otherwise bool) (bool, error) {
	err := f.read(name, &otherwise, "true or false")
	return otherwise, err
}

func (f fields) number(name string, otherwise float64) (float64, error) {
	err := f.read(name, &otherwise, "a number")
	return otherwise, err
}

func (f fields) object(name string) (fields, error) {
	inner, err := readFields(f[name])
	if err != nil {
		return nil, fmt.Errorf("its %q is %.60s; it must be an object", name, f[name])
	}
	return inner, nil
}

func (f fields) three(name string, otherwise [3]float64) ([3]float64, error) {
	var n numbers
	if err := f.read(name, &n, "a number or three numbers"); err != nil || n == nil {
		return otherwise, err
	}
	return [3]float64(n), nil
}

type numbers []float64

func (n *numbers) UnmarshalJSON(b []byte) error {
	var one float64
	if json.Unmarshal(b, &one) == nil {
		*n = numbers{one, one, one}
		return nil
	}
	var list []*float64
	if err := json.Unmarshal(b, &list); err != nil || len(list) != 3 || list[0] == nil || list[1] == nil || list[2] == nil {
		return errors.New("mean, std and fill are a number or three numbers")
	}
	*n = numbers{*list[0], *list[1], *list[2]}
	return nil
}

// A size is one number, or two.
type size []int

func (s *size) UnmarshalJSON(b []byte) error {
	var one int
	if json.Unmarshal(b, &one) == nil {
		*s = size{one}
		return nil
	}
	var two []*int
	if err := json.Unmarshal(b, &two); err != nil || len(two) != 2 || two[0] == nil || two[1] == nil {
		return errors.New("size is a side, or two")
	}
	*s = size{*two[0], *two[1]}
	return nil
}

// sized sets the size that a file requests, which must match the network's
// unless that is open (0).
func (p *Preprocessing) sized(height, width, ofNetworkH, ofNetworkW int) error {
	if ofNetworkH != 0 && (height != ofNetworkH || width != ofNetworkW) {
		return fmt.Errorf("it makes images of %d×%d, the network takes %d×%d (width × height)", width, height, ofNetworkW, ofNetworkH)
	}
	p.Height, p.Width = height, width
	return nil
}

func (p *Preprocessing) channels(f fields, mean, std string) (err error) {
	if p.Mean, err = f.three(mean, p.Mean); err != nil {
		return err
	}
	p.Std, err = f.three(std, p.Std)
	return err
}

func floor(x float64) int {
	if !(x >= 0 && x <= 4*maxSide) {
		return 0 // which check refuses
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
