// Package immich tags the photos of an Immich library with keywords from an
// encrypted index, and can remove the tags again:
//
//	Immich ─▶ previews ─▶ device.Index ║─▶ the cloud
//	       ◀─ tags auto/… ◀─ keywords  ║
//	            └─▶ journal (user/localstore): tags about to be set, then the outcome
//
// The calls below follow the published description and the source of Immich 2
// and later, which were read and not copied. All paths are below ADDRESS/api.
// Bodies are JSON, and the header x-api-key carries the API key.
//
//	call                           sent                                   used from response             permission
//	POST   /search/metadata        type "IMAGE", page, size 1000, order,  assets.items[].id, .checksum,  asset.read
//	                               takenAfter, albumIds, tagIds,          .originalFileName;
//	                               withDeleted                            assets.nextPage string or null
//	GET    /assets/{id}            –                                      tags[].value                   asset.read
//	GET    /assets/{id}/thumbnail  ?size=preview                          an image                       asset.view
//	GET    /tags                   –                                      [].id, .value, .parentId       tag.read
//	PUT    /tags                   tags: values                           [].id, .value                  tag.create
//	PUT    /tags/{id}/assets       ids                                    [].id, .success, .error        tag.asset
//	DELETE /tags/{id}/assets       ids                                    [].id, .success, .error        tag.asset
//	DELETE /tags/{id}              –                                      status 204                     tag.delete
//
// Ids are UUIDs. A tag's value is its path, such as "auto/dog", and PUT /tags
// creates missing parents. The field `error` is "duplicate" (the photo already
// has the tag), "not_found" (the photo lacks the tag or does not exist),
// "no_permission" or another string. Immich returns status 400 or 404 for a
// photo or tag that does not exist or belongs to another user. Only undo needs
// tag.delete. Without it, unused tags remain until Immich drops them at night.
//
// When Immich reads a file's metadata again, it may replace all tags of the
// photo by the tags in the file. Check therefore restores the tags of a photo
// that has lost every tag of a run. If only some tags are missing, a user has
// removed them, and Check does not restore them.
package immich

import "strings"

// Root is the parent of all tags of this package. Other tags are never changed.
const Root = "auto"

// valueOf returns the tag of a keyword. It replaces slashes, which separate
// levels of tags.
func valueOf(word string) string {
	return Root + "/" + strings.ReplaceAll(strings.TrimSpace(word), "/", "-")
}

func ours(value string) bool { return strings.HasPrefix(value, Root+"/") }

// parents returns the ancestors of a tag and the tag itself, root first.
func parents(value string) (all []string) {
	for i, c := range value {
		if c == '/' {
			all = append(all, value[:i])
		}
	}
	return append(all, value)
}
