package admission

import (
	"fmt"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"
)

func network(i int) netip.Prefix { return netip.MustParsePrefix(fmt.Sprintf("192.0.2.%d/32", i)) }

// A full door closes a connection of the most crowded network for a stranger from
// another network.
func TestCrowdMakesWay(t *testing.T) {
	d := newDoor(1 << 20)
	d.connections = 4
	closed := make(chan int, 10)
	enter := func(from, name int) *Visitor { return d.Enter(network(from), func() { closed <- name }) }
	one := []*Visitor{enter(1, 0), enter(1, 1), enter(1, 2), enter(2, 3)}
	if enter(1, 4) != nil {
		t.Error("the most crowded network was admitted again")
	}
	if enter(3, 5) == nil || <-closed != 0 {
		t.Error("the oldest connection of the most crowded network stays")
	}
	one[1].Leave() // shows a token
	if enter(1, 6) == nil {
		t.Error("a connection with a token counts as a stranger's")
	}
	strangers, _ := d.stats()
	if strangers.Used != 4 || strangers.Refused != 2 || len(closed) != 0 {
		t.Errorf("%+v, %d closed", strangers, len(closed))
	}
}

func TestStrangersMustShowTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDoor(1 << 20)
		closed := 0
		known := d.Enter(network(1), func() { closed++ })
		known.Leave()
		d.Enter(network(1), func() { closed++ })
		time.Sleep(tokenTime + time.Second)
		synctest.Wait()
		if s, _ := d.stats(); closed != 1 || s.Used != 0 || s.Expired != 1 || len(d.strangers) != 0 {
			t.Errorf("%d closed, %+v", closed, s)
		}
	})
}

func TestAnswersToStrangersAreBounded(t *testing.T) {
	d := newDoor(3 * answersEach * answerBytes / 2)
	close := func() {} // called if the test outlasts the patience for strangers
	a, b := d.Enter(network(1), close), d.Enter(network(2), close)
	take := func(v *Visitor) (got []func()) {
		for range 2 * answersEach {
			if done, ok := v.Answer(); ok {
				got = append(got, done)
			}
		}
		return got
	}
	first, second := take(a), take(b)
	if len(first) != answersEach || len(second) != answersEach/2 {
		t.Errorf("%d and %d answers", len(first), len(second))
	}
	for _, done := range append(first, first...) { // twice
		done()
	}
	if _, s := d.stats(); s.Used != answersEach/2*answerBytes || s.Size != 3*answersEach/2*answerBytes {
		t.Errorf("%+v", s)
	}
	if _, ok := (*Visitor)(nil).Answer(); !ok {
		t.Error("a connection that is not bounded gets no answer")
	}
}
