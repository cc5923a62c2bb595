package localstore

import (
	"fmt"
	"slices"
	"testing"
)

type entry struct {
	Run  string `json:"run"`
	Note string `json:"note,omitempty"`
}

func readAll(t *testing.T, j *Journal[entry]) (runs []string) {
	t.Helper()
	damaged, err := j.Read(func(r *entry) { runs = append(runs, r.Run) })
	if err != nil || damaged != 0 {
		t.Errorf("%d damaged, %v", damaged, err)
	}
	return runs
}

// Immich's journal held one plain JSON record per entry.
func TestJournalReadsPlainAndCompressedEntries(t *testing.T) {
	s := open(t, t.TempDir(), 1, 0)
	j, err := OpenJournal[entry](s, "immich")
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Log.Append([]byte(`{"run":"a"}`), []byte(`{"run":"b"}`)); err != nil {
		t.Fatal(err)
	}
	before, _ := j.Size()
	grows, err := j.Append(entry{Run: "c"}, entry{Run: "d", Note: "x"})
	if err != nil {
		t.Fatal(err)
	}
	if after, _ := j.Size(); after != before+grows {
		t.Errorf("grew by %d bytes, not %d", after-before, grows)
	}
	if got := readAll(t, j); !slices.Equal(got, []string{"a", "b", "c", "d"}) {
		t.Error(got)
	}
	if err := j.Log.Append([]byte("{")); err != nil {
		t.Fatal(err)
	}
	if _, err := j.Read(func(*entry) {}); err == nil {
		t.Error("an entry that is not JSON is left out")
	}
}

func TestJournalReplacesAllRecords(t *testing.T) {
	j, err := OpenJournal[entry](open(t, t.TempDir(), 1, 0), "runs")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.Append(entry{Run: "old"}); err != nil {
		t.Fatal(err)
	}
	var want []entry
	var runs []string
	for i := range 2*replaceBatch + 1 {
		runs = append(runs, fmt.Sprint(i))
		want = append(want, entry{Run: runs[i]})
	}
	if err := j.Replace(want); err != nil {
		t.Fatal(err)
	}
	if got := readAll(t, j); !slices.Equal(got, runs) {
		t.Error(got)
	}
}
