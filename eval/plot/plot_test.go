package plot

import (
	"bytes"
	"testing"
)

func TestBarsStandSideBySide(t *testing.T) {
	one := Series{Style: Bars, Points: []Point{{X: 1, Y: 1}, {X: 2, Y: 3}}}
	f := Figure{Series: []Series{one, {Points: []Point{{X: 1, Y: 2}}}, {Style: Bars}, one}}
	list := f.bars()
	if len(list) != 2 || list[1].(bars).index != 1 || list[1].(bars).of != 2 {
		t.Errorf("%+v", list)
	}
	if _, y := Groups([]string{"a", "b"}, "%", f.Series); y.To <= 3 {
		t.Errorf("no room for the value 3 below %g", y.To)
	}
}

func TestEmptySeries(t *testing.T) {
	f := Figure{Title: "a figure", Series: []Series{{Name: "something", Points: []Point{{X: 1, Y: 1}, {X: 2, Y: 2}}}, {Name: "nothing"}}}
	svg, err := f.SVG()
	if err != nil || !bytes.Contains(svg, []byte("something")) || bytes.Contains(svg, []byte("nothing")) {
		t.Errorf("%v", err)
	}
}

func TestFigureRefuses(t *testing.T) {
	for name, f := range map[string]Figure{
		"nothing":     {},
		"0 on a log":  {Y: Axis{Log: true}, Series: []Series{{Points: []Point{{X: 1, Y: 0}}}}},
		"-1 on a log": {X: Axis{Log: true}, Series: []Series{{Points: []Point{{X: -1, Y: 1}}}}},
	} {
		f.Name = name
		if _, err := f.SVG(); err == nil {
			t.Errorf("%s was drawn", name)
		}
	}
}

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		axis      Axis
		low, high float64
		want      []float64
	}{
		{Axis{}, 0, 1, []float64{0, 0.2, 0.4, 0.6, 0.8, 1}},
		{Axis{}, 88, 101, []float64{90, 95, 100}},
		{Axis{Log: true}, 0.9, 12, []float64{1, 2, 5, 10}},
		{Axis{Log: true}, 0.25, 0.9, []float64{0.5}},
		{Axis{Log: true}, 0.4, 120, []float64{1, 3, 10, 30, 100}},
		{Axis{Log: true}, 0.0005, 300, []float64{0.0001, 0.01, 1, 100}},
	} {
		var got []float64
		for _, v := range c.axis.ticks(c.low, c.high) {
			if v >= c.low && v <= c.high || c.axis.Log && len(got) == 0 && v == c.want[0] {
				got = append(got, v)
			}
		}
		for i, w := range c.want {
			if i >= len(got) || got[i] != w {
				t.Errorf("%+v from %g to %g: ticks %v, want %v", c.axis, c.low, c.high, got, c.want)
				break
			}
		}
	}
}
