package pause

import (
	"testing"
	"testing/fstest"
	"time"
)

func at(clock string) time.Time {
	t, err := time.ParseInLocation("15:04", clock, time.Local)
	if err != nil {
		panic(err)
	}
	return t
}

func TestHoursSpanMidnight(t *testing.T) {
	for _, c := range []struct {
		hours, in, out string
	}{
		{"22-6", "22:00", "21:59"}, {"22-6", "05:59", "06:00"}, {"22-6", "00:00", "12:00"},
		{"9:30-17:15", "09:30", "09:29"}, {"9:30-17:15", "17:14", "17:15"}, {"18-24", "23:59", "00:00"},
	} {
		h, err := ParseHours(c.hours)
		if err != nil || !h.Include(at(c.in)) || h.Include(at(c.out)) {
			t.Errorf("%s: %+v, %v", c.hours, h, err)
		}
		if why := (Limits{Hours: h}).Why(at(c.out)); why != "works only from "+h.String() {
			t.Error(why)
		}
	}
	for _, wrong := range []string{"", "22", "22-", "6-6", "25-3", "22-6-7", "-1-4", "22:60-6"} {
		if h, err := ParseHours(wrong); err == nil {
			t.Errorf("%q is %v", wrong, h)
		}
	}
	if why := (Limits{}).Why(at("03:00")); why != "" {
		t.Error(why)
	}
}

func TestBatteryCountsWithoutMains(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text + "\n")} }
	mouse := fstest.MapFS{"hid/type": file("Battery"), "hid/scope": file("Device"), "hid/status": file("Discharging")}
	battery := fstest.MapFS{"BAT0/type": file("Battery"), "BAT0/status": file("Discharging"), "AC/type": file("Mains"), "AC/online": file("0")}
	mains := fstest.MapFS{"BAT0/type": file("Battery"), "BAT0/status": file("Discharging"), "AC/type": file("Mains"), "AC/online": file("1")}
	full := fstest.MapFS{"BAT0/type": file("Battery"), "BAT0/status": file("Full")}
	if !discharging(battery) || discharging(mains) || discharging(mouse) || discharging(full) || discharging(fstest.MapFS{}) {
		t.Error(discharging(battery), discharging(mains), discharging(mouse), discharging(full), discharging(fstest.MapFS{}))
	}
}
