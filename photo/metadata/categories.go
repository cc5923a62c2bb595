package metadata

import (
	"strings"

	"github.com/beevik/etree"
)

// removeCategories takes a machine's words out of ACDSee's tree, where digiKam repeats
// them.
func (t *target) removeCategories(match func(string) bool) {
	pr := property{nsACDSee, "acdsee", "categories", ""}
	values := t.xmp.list(pr)
	if len(values) != 1 {
		return
	}
	doc := etree.NewDocument()
	doc.ReadSettings.MaxDepth = maxXMPDepth
	if strings.Count(values[0], "<") > maxXMPTags || doc.ReadFromString(values[0]) != nil || doc.Root() == nil {
		return
	}
	found := false
	for _, root := range doc.Root().ChildElements() {
		if Fold(root.Text()) != autoRoot {
			continue
		}
		for _, c := range root.ChildElements() {
			if match(c.Text()) && len(c.ChildElements()) == 0 {
				root.RemoveChild(c)
				found = true
			}
		}
		if len(root.ChildElements()) == 0 {
			doc.Root().RemoveChild(root)
		}
	}
	if !found {
		return
	}
	text := ""
	if len(doc.Root().ChildElements()) > 0 {
		text, _ = doc.WriteToString() // into memory
	}
	t.xmp.setText(pr, text)
	t.changed = true
}
