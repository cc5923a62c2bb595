package load

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"cpar"
	"cpar/cparhttp"
	"cpar/eval/measure"
	"cpar/model/profile"
	"cpar/model/rank"
	"cpar/model/wordvector"
	"cpar/user"
	"cpar/user/device"
)

// Search measures the search for words through a real cpard and scheme sealed.
//
//	training photos, keywords ─▶ index ─▶ + test photos, without keywords ─▶ compacted ─▶ cpard
//	each word of the test photos ─▶ device.Index.Search ─▶ ranks of the test photos ─▶ average precision
//
// The test photos are part of the index, but their keywords are not. A draw is
// a random order of the collection and a key, as in cpar-eval draws.
type Search struct {
	// MAP is the mean average precision over the words that at least MinPhotos
	// test photos have, as a mean over draws. PAt5 is the mean share of right
	// photos among the first five. MAPAll is MAP over all words.
	MAP       float64 `json:"map"`
	PAt5      float64 `json:"p_at_5"`
	MAPAll    float64 `json:"map_all"`
	Draws     int     `json:"draws"`
	MinPhotos int     `json:"min_photos"`
	Unseen    int     `json:"unseen"` // test photos
	// Right is the share of right photos among the test photos that a search shows
	// by default. Shown is the share of the right photos that it shows.
	Right float64 `json:"right"`
	Shown float64 `json:"shown"`
	// VectorBytes is the size of the index's word vectors.
	VectorBytes int          `json:"vector_bytes"`
	Each        []SearchDraw `json:"each"`
}

type SearchDraw struct {
	Draw   int     `json:"draw"`
	MAP    float64 `json:"map"`
	PAt5   float64 `json:"p_at_5"`
	MAPAll float64 `json:"map_all"`
	Words  int     `json:"words"`     // with at least MinPhotos test photos
	All    int     `json:"words_all"` // all words of the test photos that a training photo has
	Right  float64 `json:"right"`
	Shown  float64 `json:"shown"`
	// Sent and Received are the mean bytes of a query, and ServerMS is the mean
	// processor time of cpard in milliseconds, or 0 on systems that do not report it.
	Sent     int     `json:"sent"`
	Received int     `json:"received"`
	ServerMS float64 `json:"server_ms"`
	// Records is the size of the index, and Asked the number of requests of a query.
	Records     int `json:"records"`
	Asked       int `json:"asked"`
	VectorBytes int `json:"vector_bytes"`
}

// minPhotos is the number of test photos that a word must have. For rarer words,
// the average precision depends on one or two ranks. Corel-5k has 132 words with
// at least three test photos.
const minPhotos = 3

// SearchOptions configure MeasureSearch. Lab names the collection and the image
// network, and Cpard the program, or "" to build it.
type SearchOptions struct {
	Lab   *measure.Lab
	Draws int
	Cpard string
	// Photos bounds the number of training photos, 0 for all. Records, if larger, is
	// the number of records with keywords. Those beyond the photos are mixed from
	// their features.
	Photos, Records int
	// Done is called after every draw.
	Done func(SearchDraw)
}

func MeasureSearch(ctx context.Context, o SearchOptions) (*Search, error) {
	work, err := os.MkdirTemp("", "cpar-search-")
	if err != nil {
		return nil, fmt.Errorf("making a folder for the cloud: %w: %w", cpar.ErrStorage, err)
	}
	defer os.RemoveAll(work)
	if o.Cpard == "" {
		if o.Cpard, err = Build(ctx, work, "cpard"); err != nil {
			return nil, err
		}
	}
	c, err := o.Lab.ReadCorpus(ctx)
	if err != nil {
		return nil, err
	}
	out := &Search{MinPhotos: minPhotos, Unseen: len(c.Test)}
	for d := 1; d <= o.Draws; d++ {
		one := c.InOrderOf(d)
		if o.Photos > 0 {
			one.Train = one.Train[:min(o.Photos, len(one.Train))]
		}
		draw, err := searchDraw(ctx, one, o, filepath.Join(work, fmt.Sprint(d)))
		if err != nil {
			return nil, fmt.Errorf("draw %d: %w", d, err)
		}
		draw.Draw = d
		out.Each = append(out.Each, *draw)
		o.Done(*draw)
	}
	mean := func(of func(d SearchDraw) float64) float64 {
		return measure.RoundTo(measure.Mean(measure.Map(out.Each, of)), 4)
	}
	out.Draws, out.VectorBytes = len(out.Each), out.Each[0].VectorBytes
	out.MAP, out.PAt5 = mean(func(d SearchDraw) float64 { return d.MAP }), mean(func(d SearchDraw) float64 { return d.PAt5 })
	out.MAPAll = mean(func(d SearchDraw) float64 { return d.MAPAll })
	out.Right, out.Shown = mean(func(d SearchDraw) float64 { return d.Right }), mean(func(d SearchDraw) float64 { return d.Shown })
	return out, nil
}

func searchDraw(ctx context.Context, c *measure.Corpus, o SearchOptions, state string) (*SearchDraw, error) {
	kind := profile.Learned
	if measure.Embedded(c.Train, c.Test) {
		kind = profile.Network
	}
	fit, err := profile.Fit(ctx, kind, measure.FeaturesOf(c.Train), measure.Keywords(c.Train), profile.Options{Progress: o.Lab.Progress})
	if err != nil {
		return nil, err
	}
	fit.Samples = nil // a cross-validation of keywords would not change a search
	if o.Records > len(c.Train) {
		if c, err = c.Mixed(ctx, o.Records, o.Lab.Progress); err != nil {
			return nil, err
		}
	}
	x, b, err := measure.BuildIndex(ctx, user.NewKey(), c.Train, user.Options{Fitted: fit, Ranker: rank.KindCalibrated, Progress: o.Lab.Progress})
	if err != nil {
		return nil, err
	}
	defer x.Close()
	unseen := slices.Clone(c.Test)
	for i := range unseen {
		unseen[i].Keywords = nil
	}
	if _, err := user.Add(ctx, x.Key, x.Path(), unseen, o.Lab.Progress); err != nil {
		return nil, err
	}
	if _, err := user.Compact(ctx, x.Key, x.Path(), user.UpdateOptions{Progress: o.Lab.Progress}); err != nil { // otherwise every request scans the added photos separately
		return nil, err
	}
	if err := x.Reopen(); err != nil {
		return nil, err
	}
	d, err := start(ctx, o.Cpard, x.Folder)
	if err != nil {
		return nil, err
	}
	defer d.stop()
	cloud, err := cparhttp.New(d.url, nil)
	if err == nil {
		_, err = cloud.Push(ctx, x.Path(), nil)
	}
	if err != nil {
		return nil, d.explain(err)
	}
	this := &device.Device{State: filepath.Join(state, "state")}
	opened, err := this.Open(ctx, cloud, x.Key, device.OpenOptions{Index: x.Manifest.ID})
	if err != nil {
		return nil, d.explain(err)
	}
	before := d.processorSeconds()
	out, err := askWords(ctx, c, opened)
	if err != nil {
		return nil, d.explain(err)
	}
	out.ServerMS = measure.RoundTo(1000*(d.processorSeconds()-before)/float64(max(1, out.All)), 2)
	out.VectorBytes, out.Records, out.Asked = b.VectorBytes(), int(opened.Manifest.Records), opened.Asked()
	return out, d.explain(d.stop())
}

// askWords searches for every word of the test photos that is a keyword of the
// index.
func askWords(ctx context.Context, c *measure.Corpus, x *device.Index) (*SearchDraw, error) {
	locate, err := x.Locate(ctx)
	if err != nil {
		return nil, err
	}
	photoOf, having := map[uint32]int{}, map[string]int{}
	for i, im := range c.Test {
		for _, record := range locate(im.Content) {
			photoOf[record] = i
		}
		for w := range maps.Keys(rank.Count([][]string{im.Keywords})) {
			having[w]++
		}
	}
	known := x.Keywords()
	out, counts := new(SearchDraw), map[[2]bool]float64{} // test photos by whether they are right and likely
	for _, word := range slices.Sorted(maps.Keys(having)) {
		if _, ok := slices.BinarySearch(known, word); !ok {
			continue
		}
		found, err := x.Search(ctx, func(o *user.Owner) (*user.Search, error) {
			return o.SearchWords(wordvector.Query{{Word: word, Weight: 1}}, nil)
		}, false)
		if err != nil {
			return nil, fmt.Errorf("searching for a word: %w", err)
		}
		var right []bool
		for _, h := range found.Hits {
			i, test := photoOf[h.Record]
			if !test {
				continue
			}
			right = append(right, slices.Contains(c.Test[i].Keywords, word))
			counts[[2]bool{right[len(right)-1], h.Likely()}]++
		}
		ap, first := averagePrecision(right)
		out.All, out.MAPAll = out.All+1, out.MAPAll+ap
		if having[word] >= minPhotos {
			out.Words, out.MAP, out.PAt5 = out.Words+1, out.MAP+ap, out.PAt5+first
		}
		out.Sent, out.Received = out.Sent+found.Sent, out.Received+found.Received
	}
	n, all := float64(max(1, out.Words)), max(1, out.All)
	out.MAP, out.PAt5, out.MAPAll = out.MAP/n, out.PAt5/n, out.MAPAll/float64(all)
	out.Sent, out.Received = out.Sent/all, out.Received/all
	both := counts[[2]bool{true, true}]
	out.Right, out.Shown = both/max(1, both+counts[[2]bool{false, true}]), both/max(1, both+counts[[2]bool{true, false}])
	return out, nil
}

// averagePrecision returns the mean precision at the ranks of right photos, and
// the share of right photos among the first five.
func averagePrecision(right []bool) (ap, first float64) {
	n := 0.0
	for i, yes := range right {
		if yes {
			n++
			ap += n / float64(i+1)
		}
		if i == 4 {
			first = n / 5
		}
	}
	return ap / max(1, n), first
}

func (s *Search) Tables() []measure.Table {
	t := measure.Table{Name: "search", Title: fmt.Sprintf("Search for words through cpard and sealed, %d unseen photos, words with at least %d of them", s.Unseen, s.MinPhotos),
		Columns: []string{"draw", "words", "mAP", "P@5", "all words", "mAP", "shown and right %", "right ones shown %"}}
	row := func(name string, words, all int, m, p, mapAll, right, shown float64) {
		t.Rows = append(t.Rows, []string{name, measure.FormatInt(words), measure.FormatDecimal(m, 3), measure.FormatDecimal(p, 3), measure.FormatInt(all), measure.FormatDecimal(mapAll, 3), measure.FormatDecimal(100*right, 1), measure.FormatDecimal(100*shown, 1)})
	}
	for _, d := range s.Each {
		row(fmt.Sprint(d.Draw), d.Words, d.All, d.MAP, d.PAt5, d.MAPAll, d.Right, d.Shown)
	}
	first := s.Each[0]
	row("mean", first.Words, first.All, s.MAP, s.PAt5, s.MAPAll, s.Right, s.Shown)
	return []measure.Table{t}
}
