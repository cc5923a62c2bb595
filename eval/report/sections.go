package report

import (
	"fmt"
	"html/template"
	"slices"

	"cpar/eval"
)

// prose returns our own HTML, with values inserted as text.
func prose(format string, args ...any) template.HTML {
	for i, a := range args {
		if s, ok := a.(string); ok {
			args[i] = template.HTMLEscapeString(s)
		}
	}
	return template.HTML(fmt.Sprintf(format, args...))
}

// named returns tables by name, in their order.
func named(r eval.Result, names ...string) []eval.Table {
	return slices.DeleteFunc(r.Tables(), func(t eval.Table) bool { return !slices.Contains(names, t.Name) })
}

// sections returns the sections of the page.
func (b *builder) sections() []section {
	var out []section
	for _, x := range b.r.Each {
		switch x := x.(type) {
		case *eval.Sweep:
			out = append(out, b.sweepSections(x)...)
		case *eval.Profiles:
			out = append(out, b.profileSections(x)...)
		default:
			out = append(out, b.section(x))
		}
	}
	return out
}

// section shows a result: its tables, figures and text.
func (b *builder) section(x eval.Result) section {
	tables, figures := x.Tables(), b.show(x)
	s := section{ID: tables[0].Name, Title: tables[0].Title, Tables: tables, Figures: figures, Open: len(figures) == 0}
	switch x := x.(type) {
	case *eval.Cost:
		s.Title, s.Text = "Cost in the cloud", []template.HTML{
			prose("An index of %s records (%s), %s MB; searches take turns, each with another request, on one core. “Of stream speed” is the time of a plain read of as many bytes in order, in the same run, over the time of the search: 1 would be the memory's own speed.", eval.FormatThousands(x.Records), x.Kind, number(float64(x.Build.IndexBytes)/1e6, 0)),
			prose("AP-10 visits a tenth of the records and could be ten times faster. It does not reach that, because a scan reads all records in the fastest order for memory while a forest reads some here and there, and because the forest itself takes time. “Memory leaves” is the speedup when exactly the visited records are read in exactly that order without a forest; the rest is the forest's own work."),
		}
	case *eval.AlphaGamma:
		s.Title, s.Text = "The L1 approximation", []template.HTML{prose("L1 becomes squared L2 by a unary map and a random projection to m̂ dimensions. An estimate is then D·(1 ± √(2/m̂)) and its mean relative error √(4/(π·m̂)), whatever the distance: the dashed line. What lies above it is the quantisation to levels. %s pairs of a test and a training image, PCA-32; at α = 1, γ = 100 the mean over five secrets is <b>%s %%</b>, the paper has %s %%.",
			eval.FormatThousands(x.Pairs), number(x.Mean, 2), number(b.paper.Number("jl_error").Value, 2))}
	case *eval.PCALoss:
		s.Title, s.Text = "PCA", []template.HTML{prose("The Haar vectors of 4,096 elements are reduced to 4,096/X before all else. Without PCA a key would exceed a gigabyte, so this is measured in the clear, with exact distances and ten neighbours.")}
	case *eval.Sealed:
		s.Title, s.Text = "The scheme that hides distances too", []template.HTML{prose("In scheme sealed the cloud computes every distance under ring-LWE encryption and can read none; the owner decrypts all of them, checks them against a secret sum, and ranks. Scores are exact, so the ten nearest are the same as for the small integers in the clear. In scheme local the owner fetches the whole encrypted index once and searches at home.")}
	case *eval.Cells:
		s.Title, s.Text = "One hidden cluster", []template.HTML{prose("Records in C clusters of equal size, each in several so that no cell is empty, and requests scored against the cluster of the nearest centroid alone. In the clear, on the integers of scheme sealed: there the cloud would not see which cluster it was.")}
	case *eval.ProfileGrowth:
		s.Title, s.Text = "Sealed, to a million", []template.HTML{prose("Scheme sealed with short vectors, as in profiles learned and network. The photos are synthetic, and the same ones are added again and again: the cost depends on the number of records and their dimension, not on what they show.")}
	case *eval.Structures:
		s.Title, s.Text = "Which structure, searched how", []template.HTML{prose("The share of the ten nearest that is found, by structure of the index and by search; in the clear, where the same records are visited as in the encrypted search. The paper's forest splits the original space, holds a record at every node and is searched by Algorithm 1 (depth). The inverted file is scheme ivf. How a forest is split, and the number of lists, were chosen by this table.")}
	case *eval.Corel5kBeside:
		s.Title, s.Text = "The standard protocol", []template.HTML{prose("Five keywords an image, on the split that the collection has or, without one, a tenth held out. The published methods learn distances, weights or more features; the features here are the paper's. JEC is the nearest relative: distances of colour, texture and Haar features, summed.")}
	case *eval.Draws:
		s.Title, s.Text = "What is found, over draws", []template.HTML{prose("Every index is a draw: of the secret that profile paper is projected by, and of the order of the collection, which folds of cross-validation and calibration follow. Each draw here has another order and another key, set up, encrypted and asked as by the command line. Values are means, with the least and the greatest behind them: differences smaller than the range are none.")}
	case *eval.SmallCollections:
		s.Title, s.Text = "After few photos", []template.HTML{prose("The first photos of each draw, profiles fitted to them alone, and the five most probable keywords of every test image by the neighbours in the clear. What probabilities that are exactly true would show by chance stands beside the error: test images are few.")}
	case *eval.Samples:
		s.Title, s.Tables, s.Samples, s.Text = "Some annotations", nil, samples(x, b.data), []template.HTML{prose("Evenly spaced test images; nobody chose them. All words of the ten neighbours, heaviest first, as the paper shows them; <u>underlined</u> are words that a person gave too.")}
	case *eval.FLANN:
		s.Title, s.Text = "Beside FLANN", flannText(x)
	case *eval.Scaling:
		s.Title, s.Text = "Growth", []template.HTML{prose("Collections larger than the real one are made from it: up to 20,000 images by crops, flips and shifts of colour of the photographs; beyond, by mixing and jittering the features of two. That is good only for measuring cost, so recall here refers to the scan's ten nearest, and says nothing about accuracy. Exponents are fitted by least squares in the logarithms.")}
	case *eval.Numbers:
		s.Title, s.Text = "Numbers of the text", []template.HTML{prose("Each number that the paper states, with ours beside it, and some that it leaves out. Machines and languages differ: how rows compare with each other says more than a single row.")}
	case *eval.Agreement:
		s.Title, s.Text = "Is the encrypted search the plain one?", []template.HTML{prose("The same search in the clear, over the same integers without noise: compared by the records visited, their order, and the records returned.")}
	case *eval.Letter:
		s.Title, s.Text = "The paper to the letter", []template.HTML{prose("Both boxes and Algorithm 1 as printed, over a few hundred images: inner products counted, beside the paper's formulas, and times beside the paper's, which were taken on another machine in another language. The lines of the product are what it does instead: one vector for both distances, folded requests, hyperplanes over the split fields. Their inner products are computed, not counted.")}
	case *eval.Attacks:
		s.Title, s.Text = "What a cloud learns that tries", attacksText()
	}
	return s
}

func (b *builder) sweepSections(s *eval.Sweep) []section {
	return []section{
		{ID: "tradeoff", Title: "What speed costs in accuracy", Figures: b.show(s, "tradeoff", "tradeoff-large", "tradeoff-standard", "speedup"), Tables: named(s, "tradeoff", "speedup"),
			Text: []template.HTML{
				prose("A request may visit a share of the records, AP-X. Forest or lists decide which; the fewer, the faster and the less accurate. Speed and accuracy come from one run with the same %d requests. Four searches are shown: the paper's Algorithm 1, corrected; a search by rank, which compares the same order ciphertexts and visits the records that are fewest ranks away, summed over all trees; best bin first, FLANN's order, on encrypted planes; and the inverted file of scheme ivf, which reads the lists of the nearest encrypted centroids from end to end.", s.Requests),
				prose("The paper's points have no AP here: its text gives none that this project has recorded."),
			}},
		{ID: "recall", Title: "Accuracy", Figures: b.show(s, "recall", "recall-standard", "recall-at-10"), Tables: named(s, "recall"), Text: protocolText(s)},
	}
}

func attacksText() []template.HTML {
	return []template.HTML{
		prose("Each attack is given what a real cloud process receives, the bytes of the index and of requests, and the knowledge counted in the column <i>known</i>: records known by their photos (request-by-photos, keyword-by-likeness: by their keywords) or by their vectors (request-by-vectors, request-solved, key-elimination), and for match, keyword-by-returns, spacing and scale-planes the requests observed, with no prior knowledge. Guessing is the success without seeing anything. Intervals are Wilson's, as if trials were independent."),
		prose("<b>match</b> has the photos of the collection, as if it were public, but no known pair: it names the photo of every record from the scores of requests for unknown photos. In <b>match-half</b> half of the photos are not in the index. <b>request-by-photos</b> picks the requested photo among all test photos; the projection is secret. <b>spacing</b> says which of two neighbouring gaps between split values is wider. <b>key-quiet-row</b> finds one row of S from ciphertexts alone, the one without noise; by itself it decrypts nothing."),
	}
}

func protocolText(s *eval.Sweep) []template.HTML {
	return []template.HTML{
		prose("<b>The standard protocol.</b> Every request gets five keywords. For a word w, hit(w) is the number of requests that have w and were given it, real(w) the number that have it, and said(w) the number that were given it. P is the mean of hit/said and R the mean of hit/real, both over all words of the test set (a word never said has precision 0); N+ counts the words with a hit."),
		prose("<b>The paper's protocol</b>, as understood here. A request counts if at least two indexed images are related to it, that is, share a keyword with it: %d of %d. It is given <i>all</i> keywords of its ten neighbours. Recall is the mean of hit/real over the words that were <i>output</i> for some request (and that some request has). “Over all words” is the same with the mean over all words of the test set.", s.Admitted, s.Requests),
		prose("<b>They cannot be compared.</b> The paper's protocol gives an image as many words as ten neighbours have together, without penalty for wrong ones, and leaves out of the mean the words it never finds: it lies far above the standard R for the same neighbours, and can rise when a search finds <i>fewer</i> words. That is why its figures relative to capia are shown with those over all words beside them."),
		prose("Intervals are 95 %% Bayesian bootstraps over the requests: the requests are reweighted %d times by a flat Dirichlet draw. Drawing requests with replacement would drop rare words from the mean and shift it. Ratios to capia are paired: numerator and denominator have the same weights.", s.Resamples),
	}
}

func flannText(f *eval.FLANN) []template.HTML {
	out := []template.HTML{prose("FLANN's own randomized kd-forest, in C++, compared with this project's in plain Go: the same %s float vectors, %d trees, squared L2, one core, %d requests, means of %d forests each. Then the forest that the cloud searches, on ciphertexts: 64-bit words, split in levels, KL part included, its recall against its own scan.", eval.FormatThousands(f.Records), f.Trees, f.Requests, f.Builds)}
	verdict := "does not hold"
	if f.LeafWithin10 {
		verdict = "holds"
	}
	out = append(out, prose("The claim that our forest with records at the leaves visits at most a tenth more records than FLANN's, at recall 0.8 and 0.9, <b>%s</b>.", verdict))
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

// nodeVisits returns the range, over spaces, searches and recalls, of our plain forest's
// visits with a record at every node relative to FLANN's.
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
