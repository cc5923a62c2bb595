package metadata

import (
	"strings"
	"testing"
)

func describe(lists ...[]string) string {
	var b strings.Builder
	b.WriteString(`  <rdf:Description rdf:about="" xmlns:dc="` + nsDC + `" xmlns:lr="` + nsLightroom + `" xmlns:digiKam="` + nsDigiKam +
		`" xmlns:MicrosoftPhoto="` + nsMicrosoft + `" xmlns:mediapro="` + nsMediaPro + `" xmlns:acdsee="` + nsACDSee +
		`" xmlns:Iptc4xmpExt="` + nsPersons + `" xmlns:cpar="` + nsOwn + `">` + "\n")
	for _, l := range lists {
		b.WriteString("   <" + l[0] + ">\n    <rdf:Bag>\n")
		for _, v := range l[1:] {
			b.WriteString("     <rdf:li>" + strings.NewReplacer("&", "&amp;", "<", "&lt;").Replace(v) + "</rdf:li>\n")
		}
		b.WriteString("    </rdf:Bag>\n   </" + l[0] + ">\n")
	}
	return b.String() + "  </rdf:Description>\n"
}

func TestKeywordsByAuthor(t *testing.T) {
	for name, c := range map[string]struct {
		lists                            [][]string
		human, machine, rejected, people []string
	}{
		"flat and leaves": {
			lists: [][]string{{"dc:subject", "sky", "Rome"}, {"lr:hierarchicalSubject", "Places|Italy|Rome", "Nature|sea"}, {"digiKam:TagsList", "Nature/Sea", "boat"}},
			human: []string{"sky", "Rome", "sea", "boat"},
		},
		"one word whatever the case, composed": {
			lists: [][]string{{"dc:subject", "Ku\u0308ste", "KÜSTE", "Straße", "STRASSE"}},
			human: []string{"Küste", "Straße"},
		},
		"ours": {
			lists: [][]string{{"dc:subject", "sky", "sea", "mine"}, {"lr:hierarchicalSubject", "auto|sky", "mine"}, {"digiKam:TagsList", "auto/sky", "mine"}, {"cpar:Words", "sky", "sea"}},
			human: []string{"mine"}, machine: []string{"sky", "sea"},
		},
		"ours after a program that drops other namespaces": {
			lists: [][]string{{"dc:subject", "sky", "mine"}, {"lr:hierarchicalSubject", "auto|sky", "mine"}},
			human: []string{"mine"}, machine: []string{"sky"},
		},
		"accepted": {
			lists: [][]string{{"dc:subject", "sky", "sea"}, {"cpar:Words", "sky", "sea"}, {"cpar:Accepted", "SKY"}},
			human: []string{"sky"}, machine: []string{"sea"},
		},
		"put into a hierarchy": {
			lists: [][]string{{"dc:subject", "sky", "sea", "tree"}, {"digiKam:TagsList", "Nature/sky", "auto/sea", "tree"}, {"cpar:Words", "sky", "sea", "tree"}},
			human: []string{"sky", "tree"}, machine: []string{"sea"},
		},
		"made keywords at the top by darktable": {
			lists: [][]string{{"dc:subject", "auto", "sky", "mine", "darktable", "format", "jpg"}, {"lr:hierarchicalSubject", "auto|sky", "sky", "mine", "darktable|format|jpg"}},
			human: []string{"mine"}, machine: []string{"sky"},
		},
		"format is somebody's keyword too": {
			lists: [][]string{{"dc:subject", "format"}, {"lr:hierarchicalSubject", "darktable|format|jpg", "Paper|format"}},
			human: []string{"format"},
		},
		"a person's car": {
			lists: [][]string{{"dc:subject", "auto"}, {"lr:hierarchicalSubject", "auto"}},
			human: []string{"auto"},
		},
		"taken out by hand": {
			lists:   [][]string{{"dc:subject", "sea"}, {"cpar:Words", "sky", "sea"}},
			machine: []string{"sea"}, rejected: []string{"sky"},
		},
		"all taken out": {
			lists: [][]string{{"cpar:Words", "sky", "sea"}},
		},
		"rejected": {
			lists: [][]string{{"dc:subject", "sky"}, {"cpar:Rejected", "sea", "Sky"}},
			human: []string{"sky"}, rejected: []string{"sea"},
		},
		"people": {
			lists: [][]string{{"dc:subject", "Anna", "sea", "Ben"}, {"digiKam:TagsList", "People/Family/Anna"}, {"Iptc4xmpExt:PersonInImage", "ben"}},
			human: []string{"sea"}, people: []string{"ben", "Anna"},
		},
		"nouns are no names": {
			lists: [][]string{{"dc:subject", "child", "Frau", "Ada"}, {"digiKam:TagsList", "People/child", "Menschen/Frau", "People/Ada"}, {"Iptc4xmpExt:PersonInImage", "man"}},
			human: []string{"child", "Frau"}, people: []string{"Ada"},
		},
		"as digiKam repeats it": {
			lists: [][]string{{"digiKam:TagsList", `auto/AC\DC`, "Nature/sea"}, {"MicrosoftPhoto:LastKeywordXMP", `auto/AC\DC`, "Nature/sea"}, {"lr:hierarchicalSubject", "auto|AC/DC", "Nature|sea"},
				{"mediapro:CatalogSets", "auto|AC/DC", "Nature|sea"}, {"dc:subject", "AC/DC", "sea"}},
			human: []string{"sea"}, machine: []string{"AC/DC"},
		},
	} {
		p, err := parsePacket([]byte(packetOf(describe(c.lists...))))
		if err != nil {
			t.Fatal(err)
		}
		s := p.read()
		w := s.keywords()
		equal(t, name+": human", w.Human, c.human)
		equal(t, name+": machine", w.Machine, c.machine)
		equal(t, name+": rejected", w.Rejected, c.rejected)
		equal(t, name+": people", w.People, c.people)
	}
}

func TestCategoriesAndRegions(t *testing.T) {
	photo := save(t, "a.jpg", withSegments(plainJPEG(t), xmpSegment(packetOf(`
  <rdf:Description rdf:about="" xmlns:acdsee="`+nsACDSee+`" xmlns:mwg-rs="`+nsRegions+`" xmlns:dc="`+nsDC+`"
    xmlns:MP="`+nsMPRegions+`" xmlns:MPRI="http://ns.microsoft.com/photo/1.2/t/RegionInfo#" xmlns:MPReg="`+nsMPRegion+`"
    acdsee:categories="&lt;Categories>&lt;Category Assigned=&quot;0&quot;>Places&lt;Category Assigned=&quot;1&quot;>Rome&lt;/Category>&lt;/Category>&lt;Category Assigned=&quot;0&quot;>auto&lt;Category Assigned=&quot;1&quot;>sky&lt;/Category>&lt;/Category>&lt;/Categories>">
   <mwg-rs:Regions rdf:parseType="Resource"><mwg-rs:RegionList><rdf:Bag>
    <rdf:li><rdf:Description mwg-rs:Name="Anna" mwg-rs:Type="Face"/></rdf:li>
    <rdf:li rdf:parseType="Resource"><mwg-rs:Name>Rex</mwg-rs:Name><mwg-rs:Type>Pet</mwg-rs:Type></rdf:li>
   </rdf:Bag></mwg-rs:RegionList></mwg-rs:Regions>
   <MP:RegionInfo rdf:parseType="Resource"><MPRI:Regions><rdf:Bag><rdf:li MPReg:PersonDisplayName="Ben"/></rdf:Bag></MPRI:Regions></MP:RegionInfo>
   <dc:subject><rdf:Bag><rdf:li>Anna</rdf:li><rdf:li>Rex</rdf:li></rdf:Bag></dc:subject>
  </rdf:Description>
`))))
	w := read(t, photo)
	equal(t, "human", w.Human, []string{"Rex", "Rome"})
	equal(t, "people", w.People, []string{"Anna", "Ben"})
	equal(t, "machine", w.Machine, []string{"sky"})
}

// darktable 4.2.1 wrote this sidecar with our words, flat and below auto. They
// remain machine keywords.
func TestDarktableSidecarTeachesNothing(t *testing.T) {
	p, err := parsePacket(get(t, "testdata/darktable-4.2.1.xmp"))
	if err != nil {
		t.Fatal(err)
	}
	s := p.read()
	w := s.keywords()
	equal(t, "human", w.Human, nil)
	equal(t, "machine", w.Machine, []string{"Küste", "sky"})
}
