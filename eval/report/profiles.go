package report

import (
	"fmt"
	"html/template"
	"path/filepath"

	"cpar/eval"
)

// profileTiles shows the recall of the last profile, the most demanding one, beside that
// of the paper's.
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

// profileSections is the part of the page on profiles.
func (b *builder) profileSections(p *eval.Profiles) []section {
	text := []template.HTML{
		prose("A profile turns a photo into the vector that is encrypted. <b>paper</b>: seven features of colour and texture, L1 and KL. <b>learned</b>: a projection of the same features and of patches that was learnt from the collection's keywords. <b>network</b>: such a projection of what an image network gives. Each was fitted on the training images alone, once; plain is the exact distance in the clear, so that what is below it says what encryption costs."),
		prose("P, R and N+ are measured on the untouched collection, n = %s. Bytes and times are measured on indexes of %s images (%s) with the same fitted profiles, on one core, with all indexes in turn.", eval.FormatThousands(p.Records), eval.FormatThousands(p.CostRecords), p.CostKind),
	}
	if p.CapiaRatio > 0 {
		text = append(text, prose("A scan (capia) with profile learned takes <b>%s</b> of the time that it takes with profile paper.", number(p.CapiaRatio, 3)))
	}
	for _, s := range p.Skipped {
		text = append(text, prose("Profile %s was left out: %s.", s.Profile, s.Reason))
	}
	return []section{
		{ID: "profiles", Title: "Profiles", Text: text, Tables: named(p, "profiles"), Open: true,
			Figures: b.show(p)},
		{ID: "profile-detail", Title: "Profiles in detail",
			Tables: named(p, "profile-losses", "profile-search", "profile-found", "profile-probability", "profile-reliability", "profile-cost")},
		{ID: "profile-samples", Title: "Some annotations by profile", Samples: profileSamples(p, b.data),
			Text: []template.HTML{prose("Evenly spaced test images; nobody chose them. Five keywords each by scheme capia and the calibrated ranker, best first; <u>underlined</u> are words that a person gave too.")}},
	}
}

func profileSamples(p *eval.Profiles, data string) []shownSample {
	out := make([]shownSample, len(p.Samples))
	for i, s := range p.Samples {
		out[i] = shownSample{Name: s.Name, Human: s.Human}
		for _, w := range s.Words {
			out[i].Lists = append(out[i].Lists, shownWords{w.Profile, w.Keywords})
		}
		if data != "" {
			out[i].Picture = thumbnail(filepath.Join(data, filepath.FromSlash(s.Name)))
		}
	}
	return out
}
