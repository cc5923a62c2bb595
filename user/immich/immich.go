// Package immich tags the photos of an Immich library with keywords from an encrypted
// index, and takes the tags back:
//
//	Immich ─▶ previews ─▶ device.Index ║─▶ the cloud
//	       ◀─ tags auto/… ◀─ keywords  ║
//	            └─▶ the journal (user/localstore): what is about to be tagged, then what was
//
// The protocol, of Immich 2 and later, as its published description and server have
// it (read, not copied). All is below ADDRESS/api, JSON, with the header x-api-key:
//
//	call                           sent                                   needed of the answer           permission
//	POST   /search/metadata        type "IMAGE", page, size 1000, order,  assets.items[].id, .checksum,  asset.read
//	                               takenAfter, albumIds, tagIds,          .originalFileName;
//	                               withDeleted                            assets.nextPage string or null
//	GET    /assets/{id}            –                                      tags[].value                   asset.read
//	GET    /assets/{id}/thumbnail  ?size=preview                          a picture                      asset.view
//	GET    /tags                   –                                      [].id, .value, .parentId       tag.read
//	PUT    /tags                   tags: values                           [].id, .value                  tag.create
//	PUT    /tags/{id}/assets       ids                                    [].id, .success, .error        tag.asset
//	DELETE /tags/{id}/assets       ids                                    [].id, .success, .error        tag.asset
//	DELETE /tags/{id}              –                                      status 204                     tag.delete
//
// Ids are UUIDs. A tag's value is its path, as in "auto/dog": PUT /tags makes the parents
// that are missing. error is "duplicate" (the photo has the tag), "not_found" (it has it not,
// or there is no photo), "no_permission" or another word. Of a photo or tag that is not
// there, or another's, Immich says 400 or 404. tag.delete is needed by undo alone, and may be
// withheld: Immich drops tags without photos by itself every night.
//
// Immich reads the metadata of a file again when it is asked to, or sees the file
// changed, and may then put the file's tags in the place of all others. So a run can be
// checked: a photo that has lost every tag of the run gets them back; where some are left, a
// person has taken the others off, and that stays.
package immich

import "strings"

// Root is the tag below which all tags of this package are. No other tag is touched.
const Root = "auto"

// valueOf is the tag of a keyword. A slash would make a tag below a tag.
func valueOf(word string) string {
	return Root + "/" + strings.ReplaceAll(strings.TrimSpace(word), "/", "-")
}

// ours reports whether a tag is below Root.
func ours(value string) bool { return strings.HasPrefix(value, Root+"/") }

// leaf is the last part of a tag's value.
func leaf(value string) string { return value[strings.LastIndex(value, "/")+1:] }

// parents are the tags above a tag, and itself, the highest first.
func parents(value string) (all []string) {
	for i, c := range value {
		if c == '/' {
			all = append(all, value[:i])
		}
	}
	return append(all, value)
}
