// Package photo lists the photos in files and folders, with a reason for every
// file and folder that it leaves out.
//
//	files, folders ─▶ List ─▶ by name ─▶ one per shot ─▶ Listing
//	                              │                       Photos   in traversal order
//	                              └─ a reason ──────────▶ Skipped  every entry left out
//
// The packages below photo/ read photo files. They produce photos with
// keywords, and decoded images:
//
//	photo/           files and folders ─▶ the photos in them
//	photo/decode     a photo file      ─▶ an upright RGB image
//	photo/video      a video           ─▶ images of some frames
//	photo/arrival    folders           ─▶ photos as they arrive
//	photo/metadata   IPTC, XMP, EXIF   ─▶ keywords, and keywords back into files
//	photo/dataset    a folder of photos or a published data set ─▶ a Collection
//
// None of these packages handles keys or vectors or may import user/, cloud/,
// model/ or encoder/.
//
// List opens no file. The extension decides whether a file is a photo, except
// for files that the caller names. Below a folder that the caller names:
//
//   - List does not enter hidden folders, trash, and folders of thumbnails
//     (@eaDir of a NAS) or of files recovered by a disk check.
//   - A link to a file counts as a file, as users expect. List does not follow
//     links to folders, so that it ends and lists no photo twice.
//   - A RAW file and the JPEG of the same shot (IMG_1.CR2, IMG_1.JPG) are one
//     [Photo].
package photo
