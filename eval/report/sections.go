package report

import (
	"fmt"
	"html/template"
	"slices"

	"cpar/eval"
)

// prose is HTML of our own, with values put in as text.
func prose(format string, args ...any) template.HTML {
	for i, a := range args {
		if s, ok := a.(string); ok {
			args[i] = template.HTMLEscapeString(s)
		}
	}
	return template.HTML(fmt.Sprintf(format, args...))
}

// named returns tables by name, in that order.
func named(r eval.Result, names ...string) []eval.Table {
	var out []eval.Table
	for _, t := range r.Tables() {
		if slices.Contains(names, t.Name) {
			out = append(out, t)
		}
	}
	return out
}

// sections are the page's, those whose results are there.
func (b *builder) sections(data string) []section {
	var out []section
	r := b.r
	if s := r.Sweep; s != nil {
		out = append(out,
			section{ID: "tradeoff", Title: "What speed costs in accuracy", Figures: b.show("tradeoff", "tradeoff-large", "tradeoff-standard"), Tables: named(s, "tradeoff"),
				Text: []template.HTML{
					prose("A request may visit a share of the records, AP-X. The forest decides which; the fewer, the faster and the less accurate. Speed and accuracy are of one run, of the same %d requests. Four searches are shown: the paper's Algorithm 1, corrected; a search by rank, which compares the same order ciphertexts and visits what lies fewest ranks away, added up over all trees; best bin first, FLANN's order, on encrypted planes; and the inverted file, which reads the lists of the nearest encrypted centroids from end to end.", s.Requests),
					prose("The paper's points carry no AP here: its text ties them to none that this project has recorded."),
				}},
			section{ID: "recall", Title: "Accuracy", Figures: b.show("recall", "recall-standard", "recall-at-10"), Tables: named(s, "recall"), Text: protocolText(s)})
	}
	if c := r.Cost; c != nil {
		out = append(out, section{ID: "cost", Title: "Cost in the cloud", Figures: b.show("cost", "cost-speedup", "speedup", "roofline"), Tables: append(c.Tables(), speedupTable(r)...),
			Text: []template.HTML{
				prose("An index of %s records (%s), %s MB; searches take turns, each with another request, on one core. “Of stream speed” is the time of a plain read of as many bytes in order, in the same run, over the time of the search: 1 would be the memory's own speed.", thousands(c.Records), c.Kind, number(float64(c.Build.IndexBytes)/1e6, 0)),
				prose("AP-10 visits a tenth of the records and could be ten times faster. It falls short of that, because a scan reads all records in the order in which memory gives them fastest and a forest some here and there, and because the forest itself takes time. “Memory leaves” is the speedup when exactly the visited records are read in exactly that order with no forest around them; what is missing from there is the forest's own work."),
			}})
	} else if r.Sweep != nil {
		out = append(out, section{ID: "cost", Title: "Cost in the cloud", Figures: b.show("speedup"), Tables: speedupTable(r)})
	}
	if a := r.AlphaGamma; a != nil {
		out = append(out, section{ID: "alphagamma", Title: "The L1 approximation", Tables: a.Tables(),
			Figures: b.show("alphagamma-error-alpha", "alphagamma-error-gamma", "alphagamma-dimension-alpha", "alphagamma-dimension-gamma"),
			Text: []template.HTML{prose("L1 becomes squared L2 by a unary map and a random projection to m̂ dimensions. An estimate is then D·(1 ± √(2/m̂)) and its mean relative error √(4/(π·m̂)), whatever the distance: the dashed line. What lies above it is the quantisation to levels. %s pairs of a test and a training image, PCA-32; at α = 1, γ = 100 the mean over five secrets is <b>%s %%</b>, the paper has %s %%.",
				thousands(a.Pairs), number(a.Mean, 2), number(b.paper.Number("jl_error").Value, 2))}})
	}
	if p := r.PCA; p != nil {
		out = append(out, section{ID: "pca", Title: "PCA", Figures: b.show("pca"), Tables: p.Tables(),
			Text: []template.HTML{prose("The Haar vectors of 4,096 elements are reduced to 4,096/X before all else. Without PCA a key would exceed a gigabyte, so this is measured in the clear, with exact distances and ten neighbours.")}})
	}
	if s := r.Sealed; s != nil {
		out = append(out, section{ID: "sealed", Title: "The scheme that hides distances too", Tables: s.Tables(), Open: true,
			Text: []template.HTML{prose("In scheme sealed the cloud computes every distance under ring-LWE encryption and can read none of them; the owner decrypts all, checks them against a secret sum, and ranks. Scores are exact, so the ten nearest are those of the same small integers in the clear. In scheme local the owner fetches the whole encrypted index once and searches at home.")}})
	}
	out = append(out, b.profileSections(data)...)
	if s := r.Structures; s != nil {
		out = append(out, section{ID: "structures", Title: "Which structure, searched how", Tables: s.Tables(), Open: true,
			Text: []template.HTML{prose("The share of the ten nearest that is found, by what the index is and by how it is searched; in the clear, which visits what the encrypted search visits. The paper's forest splits the original space, holds a record at every node and is searched by Algorithm 1 (depth). The default was chosen by this table.")}})
	}
	if c := r.Corel5k; c != nil {
		out = append(out, section{ID: "corel5k", Title: "The standard protocol", Tables: c.Tables(), Open: true,
			Text: []template.HTML{prose("Five keywords an image, on the standard split of Corel-5k. The published methods learn distances, weights or more features; the features here are the paper's. JEC is the nearest relative: distances of colour, texture and Haar features, summed.")}})
	}
	if s := r.Samples; s != nil {
		out = append(out, section{ID: "samples", Title: "Some annotations", Samples: samples(s, data),
			Text: []template.HTML{prose("Evenly spaced test images; nobody chose them. Five keywords each, heaviest first; <u>underlined</u> is what a person said too.")}})
	}
	if f := r.FLANN; f != nil {
		out = append(out, section{ID: "flann", Title: "Beside FLANN", Tables: f.Tables(),
			Figures: b.show("flann-visits-jl1296", "flann-time-jl1296", "flann-visits-pca64", "flann-time-pca64"), Text: flannText(f)})
	}
	if s := r.Scaling; s != nil {
		out = append(out, section{ID: "scaling", Title: "Growth", Figures: b.show("scaling-cloud", "scaling-build", "scaling-index", "scaling-recall"), Tables: s.Tables(),
			Text: []template.HTML{prose("Collections larger than the real one are made from it: up to 20,000 images by crops, flips and shifts of colour of the photographs; beyond, by mixing and jittering features of two. That is good for cost only, so the recall here is of the scan's ten nearest, and no accuracy is taken from it. Exponents are fitted by least squares in the logarithms.")}})
	}
	if n := r.Numbers; n != nil {
		out = append(out, section{ID: "numbers", Title: "Numbers of the text", Tables: n.Tables(), Open: true,
			Text: []template.HTML{prose("Each number the paper states, with ours beside it, and what it leaves out. Machines and languages differ: how rows compare with each other says more than a row.")}})
	}
	if a := r.Agreement; a != nil {
		out = append(out, section{ID: "agreement", Title: "Is the encrypted search the plain one?", Tables: a.Tables(), Open: true,
			Text: []template.HTML{prose("The same search in the clear, over the same integers without noise: which records it visits, in which order, and which it returns.")}})
	}
	if a := r.Attacks; a != nil {
		out = append(out, section{ID: "attacks", Title: "What a cloud learns that tries", Tables: a.Tables(), Open: true, Text: attacksText()})
	}
	return out
}

func attacksText() []template.HTML {
	return []template.HTML{
		prose("Each attack is given what a real cloud process receives, the bytes of the index and of requests, and what the column <i>known</i> counts: records known by their photos (request-by-photos, keyword-by-likeness: by their keywords) or by their vectors (request-by-vectors, request-solved, key-elimination), and for match, keyword-by-returns, spacing and scale-planes the requests seen, with nothing known. Guessing is what one gets who sees nothing. Intervals are Wilson's, as if trials were independent."),
		prose("<b>match</b> has the photos of the collection, as for a public one, and not one pair: it names the photo of every record from the scores of requests for photos it does not know. In <b>match-half</b> half of the photos are not in the index. <b>request-by-photos</b> picks the photo that was asked about among all test photos; the projection is secret. <b>spacing</b> says which of two neighbouring gaps between split values is the wider. <b>key-quiet-row</b> finds one of the rows of S from ciphertexts alone, the one that carries no noise; it opens nothing by itself."),
	}
}

func speedupTable(r *eval.Results) []eval.Table {
	if r.Sweep == nil {
		return nil
	}
	return named(r.Sweep, "speedup")
}

func protocolText(s *eval.Sweep) []template.HTML {
	return []template.HTML{
		prose("<b>The standard protocol.</b> Every request gets five keywords. For a word w, hit(w) is the number of requests that have w and were given it, real(w) of those that have it, said(w) of those that were given it. P is the mean of hit/said and R the mean of hit/real, both over all words of the test set (a word never said has precision 0); N+ counts the words with a hit."),
		prose("<b>The paper's protocol</b>, as it is understood here. A request counts if at least two indexed images are related to it, that is, share a keyword with it: %d of %d. It is given <i>all</i> keywords of its ten neighbours. Recall is the mean of hit/real over the words that were <i>output</i> for some request (and that some request has). “Over all words” is the same with the mean over all words of the test set.", s.Admitted, s.Requests),
		prose("<b>They cannot be compared.</b> The paper's gives an image as many words as ten neighbours have together, with nothing lost for wrong ones, and leaves the words it never finds out of the mean: it lies far above the standard R for the same neighbours, and can rise when a search finds <i>fewer</i> words. That is why its figures relative to capia are shown with those over all words beside them."),
		prose("Intervals are 95 %% Bayesian bootstraps over the requests: %d times the requests are weighted anew, by a flat Dirichlet draw. Drawing requests with replacement would drop rare words from the mean and shift it. Ratios to capia are paired: the same weights above and below the line.", s.Resamples),
	}
}

func flannText(f *eval.FLANN) []template.HTML {
	out := []template.HTML{prose("FLANN's own randomized kd-forest, in C++, beside this project's in plain Go: the same %s float vectors, %d trees, squared L2, one core, %d requests, means of %d forests each. Then the forest the cloud searches, on ciphertexts: 64-bit words, split in levels, KL part included, its recall against its own scan.", thousands(f.Records), f.Trees, f.Requests, f.Builds)}
	verdict := "does not hold"
	if f.LeafWithin10 {
		verdict = "holds"
	}
	out = append(out, prose("That our forest with records at the leaves visits at most a tenth more records than FLANN's, at recall 0.8 and 0.9, <b>%s</b>.", verdict))
	for _, of := range []struct{ splits, what string }{{"vectors", "the vectors that are compared, as FLANN's do"}, {"levels", "the levels behind them, as the cloud's do"}} {
		if low, high, ok := nodeVisits(f, of.splits); ok {
			out = append(out, prose("With a record at every node, as in the paper, and trees that divide %s, it visits %s to %s times what FLANN visits.", of.what, number(low, 2), number(high, 2)))
		}
	}
	for _, e := range f.Equal {
		if e.Library == eval.LibraryLeaf {
			out = append(out, prose("%s, recall %s: ours with records at the leaves visits %s times what FLANN visits and takes %s times as long.", e.Space, number(e.Recall, 1), number(e.VisitsOverFLANN, 2), number(e.TimeOverFLANN, 2)))
		}
	}
	for _, x := range f.Price {
		out = append(out, prose("The price of privacy at %s: the search %s takes <b>%s times</b> as long as %s.", x.At, x.Encrypted.String(), number(x.Factor, 1), x.Against.String()))
	}
	return out
}

// nodeVisits is the range, over spaces, searches and recalls, of the visits of
// our plain forest with a record at every node over FLANN's.
func nodeVisits(f *eval.FLANN, splits string) (low, high float64, ok bool) {
	for _, e := range f.Equal {
		if e.Library != eval.LibraryNode || e.Splits != splits || e.VisitsOverFLANN == 0 { // 0: FLANN has no such recall
			continue
		}
		if !ok {
			low, high, ok = e.VisitsOverFLANN, e.VisitsOverFLANN, true
		}
		low, high = min(low, e.VisitsOverFLANN), max(high, e.VisitsOverFLANN)
	}
	return low, high, ok
}
