// Package pause decides when background work should rest.
//
//	the time, the power supply ─▶ Limits.Why ─▶ the reason to rest, or ""
package pause

import (
	"fmt"
	"strings"
	"time"
)

// Limits bound background work. The zero value never rests.
type Limits struct {
	OnlyOnPower bool // whether to rest on battery power
	Hours       Hours
}

// Why returns the reason to rest at the given time, or "".
func (l Limits) Why(now time.Time) string {
	if !l.Hours.Include(now) {
		return "works only from " + l.Hours.String()
	}
	if l.OnlyOnPower && onBattery() {
		return "works only on mains power"
	}
	return ""
}

// An Hours value is a daily period in local time, in minutes since midnight. It
// spans midnight if To is before From. Equal bounds mean the whole day.
type Hours struct{ From, To int }

// ParseHours parses a period such as 22-6 or 22:30-6:15.
func ParseHours(text string) (h Hours, err error) {
	from, to, ok := strings.Cut(text, "-")
	if ok {
		h.From, ok = minutes(from)
	}
	if ok {
		h.To, ok = minutes(to)
	}
	if !ok || h.From == h.To {
		return Hours{}, fmt.Errorf("%q is not a part of the day", text)
	}
	return h, nil
}

func minutes(text string) (int, bool) {
	if !strings.Contains(text, ":") {
		text += ":00"
	}
	if text == "24:00" {
		return 0, true
	}
	t, err := time.Parse("15:04", text)
	return 60*t.Hour() + t.Minute(), err == nil
}

// Include reports whether the local time of day of t is within h.
func (h Hours) Include(t time.Time) bool {
	now := 60*t.Hour() + t.Minute()
	switch {
	case h.From < h.To:
		return h.From <= now && now < h.To
	case h.From > h.To:
		return h.From <= now || now < h.To
	}
	return true
}

func (h Hours) String() string {
	return fmt.Sprintf("%d:%02d to %d:%02d", h.From/60, h.From%60, h.To/60, h.To%60)
}
