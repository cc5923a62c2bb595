package cost

import (
	"testing"

	"cpar/model/profile"
)

func TestProfileGrowth(t *testing.T) {
	g, err := MeasureProfileGrowth(t.Context(), []int{600, 1300}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if g.Dim < 64 || g.Dim > profile.MaxLearnedDim || len(g.Rows) != 2 || len(g.Tables()[0].Rows) != 2 {
		t.Fatalf("%+v", g)
	}
	for i, r := range g.Rows {
		if r.Records != []int{600, 1300}[i] || r.Cloud <= 0 || r.CloudAll <= 0 || r.Encrypt <= 0 || r.Read <= 0 || r.Reply < 3*r.Records || r.Table != uint64(r.Records/256+1)*4380+4096 || r.Index < uint64(1024*r.Records) {
			t.Errorf("%+v", r)
		}
	}
}
