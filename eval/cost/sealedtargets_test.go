package cost

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"testing"

	"cpar"
	"cpar/eval/measure"
	"cpar/eval/measure/measuretest"
	"cpar/internal/lattice"
	"cpar/user"
)

func TestSealedTargetsAreComplete(t *testing.T) {
	plan := TargetSizes{Million: 500, Paper: 100, Update: 300, Clusters: 4}
	s, err := MeasureSealedTargets(t.Context(), measuretest.NewLab(t, 120, 9), plan)
	if err != nil {
		t.Fatal(err)
	}
	m := s.Million
	rows := lattice.CellSize(plan.Million, plan.Clusters, true)
	if want := float64(rows*plan.Clusters) / float64(plan.Million); m.CellCount != plan.Clusters || math.Abs(m.Copies-want) > 0.001 {
		t.Errorf("%d clusters, %g places a record, want %g", m.CellCount, m.Copies, want)
	}
	// A reply has one word per row, also for a partial group.
	if least := rows * lattice.WordBytes; m.Received < least || m.Received > least+2048/16*lattice.WordBytes+128 {
		t.Errorf("a reply of %d bytes for %d rows", m.Received, rows)
	}
	if m.Sent < 4*m.Dim*lattice.WordBytes || m.Hints == 0 || m.Keywords == 0 || m.Cells == 0 || m.Profile == 0 || m.Kept != m.Hints+m.Keywords+m.Cells+m.Profile {
		t.Errorf("bytes: %+v", m)
	}
	if m.Owner <= 0 || m.Cloud <= 0 || m.CloudAll <= 0 || m.Owner < m.Read {
		t.Errorf("times: %+v", m)
	}
	if m.Recall <= 0.3 || m.Recall > 1 || m.LeastRecall > m.Recall || m.KeywordShare <= 0.3 || m.Photos != 120 || m.PhotosOf != "learned" {
		t.Errorf("what is found: %+v", m)
	}
	if p := s.Paper; p.Sealed <= 0 || p.Capia <= 0 || p.Read <= 0 || p.Read > p.Sealed || p.Records != plan.Paper {
		t.Errorf("scans: %+v", p)
	}
	if u := s.Update; u.Pushed < u.Refetched || u.Refetched < 4096 || u.Records != plan.Update {
		t.Errorf("one photo: %+v", u)
	}
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]map[string]any
	if err := json.Unmarshal(b, &got); err != nil || len(got) != 3 {
		t.Fatalf("%s: %v", b, err)
	}
	for part, keys := range map[string][]string{
		"million":  {"sent", "received", "kept", "recall_at_10", "words_of_full", "owner_ms", "cloud_ms"},
		"paper20k": {"sealed_ns", "capia_ns", "read_ns"}, "update100k": {"pushed", "refetched"},
	} {
		for _, key := range keys {
			if _, ok := got[part][key].(float64); !ok {
				t.Errorf("%s has no number %s", part, key)
			}
		}
	}
}

// A device with the previous generation fetches what the folder gained.
func TestSinceCountsNewBytes(t *testing.T) {
	c := measuretest.SyntheticCorpus(1, 60, 1)
	s, _, err := measure.OpenSealed(t.Context(), c.Train, user.Options{Scheme: cpar.SchemeSealed, PCA: 128})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	manifest, err := s.Manifest.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	if pushed, fetched, err := s.Since(s.Manifest); err != nil || pushed != uint64(len(manifest)) || fetched != pushed {
		t.Errorf("nothing new: %d and %d bytes of a manifest of %d: %v", pushed, fetched, len(manifest), err)
	}
	before := s.Manifest
	u, err := user.Add(t.Context(), s.Key, s.Path(), c.Test, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Reopen(); err != nil {
		t.Fatal(err)
	}
	if s.Owner, err = s.Device(); err != nil {
		t.Fatal(err)
	}
	manifest, err = s.Manifest.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	pushed, fetched, err := s.Since(before)
	if err != nil || pushed != u.Bytes+uint64(len(manifest)) {
		t.Errorf("%d bytes are sent, the update wrote %d and a manifest of %d: %v", pushed, u.Bytes, len(manifest), err)
	}
	// Only the server receives vectors and identities.
	var alone uint64
	for _, x := range s.Manifest.Segments {
		if !slices.Contains(before.Segments, x) && (x.Kind == cpar.SegmentVectors || x.Kind == cpar.SegmentIdentities) {
			alone += x.Bytes
		}
	}
	if alone == 0 || fetched != pushed-alone {
		t.Errorf("%d bytes are fetched of %d; %d are the cloud's alone", fetched, pushed, alone)
	}
}

func TestRepeatedPhotosAreDistinct(t *testing.T) {
	few := syntheticPhotos(3)
	seen := map[[32]byte]bool{}
	for i, im := range repeatPhotos(few, 10) {
		seen[im.Content] = true
		if im.Vectors != few[i%3].Vectors || !reflect.DeepEqual(im.Keywords, few[i%3].Keywords) {
			t.Errorf("image %d is another", i)
		}
	}
	if len(seen) != 10 || few[0].Content != ([32]byte{}) {
		t.Errorf("%d contents", len(seen))
	}
}
