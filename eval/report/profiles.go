package report

import (
	"fmt"
	"html/template"
	"path/filepath"

	"cpar/eval"
)

// profileColours are those of the profiles, in their order.
var profileColours = []Colour{Blue, Green, Purple}

// profileFigures show what each profile finds, costs and says of itself.
func profileFigures(p *eval.Profiles) []Figure {
	var names []string
	for _, d := range p.Details {
		names = append(names, d.Profile)
	}
	// of are the points of one ranker and scheme, a profile each.
	of := func(ranker, scheme string, value func(eval.ProfileRow) float64) []Point {
		var out []Point
		for _, row := range p.Rows {
			for i, name := range names {
				if row.Profile == name && row.Ranker == ranker && row.Scheme == scheme {
					out = append(out, Point{X: float64(i + 1), Y: value(row)})
				}
			}
		}
		return out
	}
	figure := func(name, title, caption, y string, series []Series) Figure {
		f := Figure{Name: name, Title: title, Caption: caption, Series: series}
		f.X, f.Y = groups(names, y, series)
		return f
	}
	precision, recall := func(r eval.ProfileRow) float64 { return r.P }, func(r eval.ProfileRow) float64 { return r.R }
	found := func(r eval.ProfileRow) float64 { return float64(r.Nplus) }
	ms := func(r eval.ProfileRow) float64 { return r.Cloud }
	out := []Figure{
		figure("profiles-quality", "P and R by profile",
			fmt.Sprintf("Scheme capia, five keywords a photo, %d untouched test images, by the weights W_t and by the calibrated ranker.", p.Requests), "%",
			[]Series{
				{Name: "P, W_t", Colour: Grey, Style: Bars, Points: of("paper", "capia", precision)},
				{Name: "P, calibrated", Colour: Blue, Style: Bars, Points: of("calibrated", "capia", precision)},
				{Name: "R, W_t", Colour: Olive, Style: Bars, Points: of("paper", "capia", recall)},
				{Name: "R, calibrated", Colour: Green, Style: Bars, Points: of("calibrated", "capia", recall)},
			}),
		figure("profiles-nplus", "N+ by profile", "Words of the test set that were given rightly at least once.", "words",
			[]Series{
				{Name: "W_t", Colour: Grey, Style: Bars, Points: of("paper", "capia", found)},
				{Name: "calibrated", Colour: Blue, Style: Bars, Points: of("calibrated", "capia", found)},
			}),
	}
	if len(p.Costs) > 0 {
		out = append(out, figure("profiles-cloud", fmt.Sprintf("Cloud time a request, n = %s", thousands(p.CostRecords)),
			"One core, all indexes asked in turn in one run.", "milliseconds",
			[]Series{
				{Name: "capia", Colour: Blue, Style: Bars, Points: of("calibrated", "capia", ms)},
				{Name: "cpar, AP-10", Colour: Green, Style: Bars, Points: of("calibrated", "cpar@10", ms)},
				{Name: "sealed", Colour: Purple, Style: Bars, Points: of("calibrated", "sealed", ms)},
			}))
	}
	return append(out, reliabilityFigures(p)...)
}

// reliabilityFigures are the reliability diagram, and of how many words it is.
func reliabilityFigures(p *eval.Profiles) []Figure {
	diagram := Figure{Name: "profiles-reliability", Title: "Is what is called probable right?",
		Caption: "The calibrated ranker on all words of all neighbours of the test images, in ten bins of probability: on the dashed line, probabilities are the shares that are right.",
		X:       Axis{Label: "probability said", From: 0, To: 1}, Y: Axis{Label: "share right", From: 0, To: 1}}
	counts := Figure{Name: "profiles-words", Title: "How many words the bins have",
		Caption: "The same bins. Few words make an uncertain share.",
		X:       Axis{Label: "probability said", From: 0, To: 1}, Y: Axis{Label: "words", Log: true}}
	diagram.Series = append(diagram.Series, Series{Name: "as said", Colour: Grey, Style: Dashed, Points: []Point{{X: 0, Y: 0}, {X: 1, Y: 1}}})
	for i, d := range p.Details {
		said := Series{Name: fmt.Sprintf("%s, ECE %.3f", d.Profile, d.ECE), Colour: profileColours[i%len(profileColours)]}
		many := Series{Name: d.Profile, Colour: said.Colour}
		for _, b := range d.Bins {
			if b.Count == 0 {
				continue
			}
			said.Points = append(said.Points, Point{X: b.Said, Y: b.Found})
			many.Points = append(many.Points, Point{X: b.Said, Y: float64(b.Count)})
		}
		diagram.Series, counts.Series = append(diagram.Series, said), append(counts.Series, many)
	}
	counts.dropEmpty()
	if len(counts.Series) == 0 {
		return nil
	}
	return []Figure{diagram, counts}
}

// profileTiles is the recall of the last profile, the one that needs most, beside
// that of the paper's.
func profileTiles(p *eval.Profiles) []tile {
	if len(p.Details) < 2 {
		return nil
	}
	last := p.Details[len(p.Details)-1].Profile
	recall := map[string]float64{}
	for _, row := range p.Rows {
		if row.Scheme == "sealed" {
			recall[row.Profile+" "+row.Ranker] = row.R
		}
	}
	return []tile{{number(recall[last+" calibrated"], 1) + " %", fmt.Sprintf("recall at five keywords, profile %s, sealed", last),
		fmt.Sprintf("profile paper by its own ranker: %s %%", number(recall["paper paper"], 1))}}
}

// profileSections are what the page says of profiles.
func (b *builder) profileSections(data string) []section {
	var out []section
	if p := b.r.Profiles; p != nil {
		text := []template.HTML{
			prose("A profile is the way from a photo to the vector that is encrypted. <b>paper</b>: seven features of colour and texture, L1 and KL. <b>learned</b>: a projection of the same features that was learnt from the collection's keywords. <b>network</b>: such a projection of what an image network gives. Each was fitted on the training images alone, once; plain is the exact distance in the clear, so that what is below it says what encryption costs."),
			prose("P, R and N+ are of the untouched collection, n = %s. Bytes and times are of indexes of %s images (%s) with the profiles as they were fitted; on one core, all indexes asked in turn.", thousands(p.Records), thousands(p.CostRecords), p.CostKind),
		}
		if p.CapiaRatio > 0 {
			text = append(text, prose("A scan (capia) with profile learned takes <b>%s</b> of the time that it takes with profile paper.", number(p.CapiaRatio, 3)))
		}
		for _, s := range p.Skipped {
			text = append(text, prose("Profile %s was left out: %s.", s.Profile, s.Reason))
		}
		out = append(out,
			section{ID: "profiles", Title: "Profiles", Text: text, Tables: named(p, "profiles"), Open: true,
				Figures: b.show("profiles-quality", "profiles-nplus", "profiles-cloud", "profiles-reliability", "profiles-words")},
			section{ID: "profile-detail", Title: "Profiles in detail",
				Tables: named(p, "profile-losses", "profile-search", "profile-found", "profile-probability", "profile-reliability", "profile-cost")},
			section{ID: "profile-samples", Title: "Some annotations by profile", Samples: profileSamples(p, data),
				Text: []template.HTML{prose("Evenly spaced test images; nobody chose them. Five keywords each by scheme capia and the calibrated ranker, best first; <u>underlined</u> is what a person said too.")}})
	}
	if g := b.r.ProfileGrowth; g != nil {
		out = append(out, section{ID: "profile-growth", Title: "Sealed, to a million", Tables: g.Tables(), Open: true,
			Text: []template.HTML{prose("Scheme sealed with short vectors, as profiles learned and network have them. The photos were made, and the same ones added again and again: the cost depends on how many records there are and of how many dimensions, not on what they show.")}})
	}
	return out
}

func profileSamples(p *eval.Profiles, data string) []shownSample {
	out := make([]shownSample, len(p.Samples))
	for i, s := range p.Samples {
		out[i] = shownSample{Name: s.Name, Human: s.Human}
		for _, w := range s.Words {
			out[i].Lists = append(out[i].Lists, shownWords{w.Profile, w.Words})
		}
		if data != "" {
			out[i].Picture = thumbnail(filepath.Join(data, filepath.FromSlash(s.Name)))
		}
	}
	return out
}
