// Package photo lists the photos in files and folders, and records a reason for
// every file and folder it leaves out.
//
//	files, folders ─▶ List ─▶ by name ─▶ one per shot ─▶ Listing
//	                              │                       Photos   in traversal order
//	                              └─ a reason ──────────▶ Skipped  every entry left out
//
// The room photo/ reads photo files. It produces photos with keywords, and
// decoded images:
//
//	photo/           files and folders ─▶ the photos in them
//	photo/decode     a photo file      ─▶ an upright RGB image
//	photo/video      a video           ─▶ images of some frames
//	photo/arrival    folders           ─▶ photos as they arrive
//	photo/metadata   IPTC, XMP, EXIF   ─▶ keywords, and keywords back into files
//	photo/dataset    a folder of photos or a published data set ─▶ a Collection
//
// No package here sees a key or a vector, and none may import user/, cloud/,
// model/ or encoder/.
//
// List opens no file. The extension decides what counts as a photo, except for
// a file named by the caller. Below a named folder:
//
//   - Hidden folders and the folders of programs are not entered: trash,
//     thumbnails of a NAS (@eaDir), files recovered by a disk check.
//   - A link to a file counts as a file, because that is what a user sees. A
//     link to a folder is not followed, so that the traversal ends and reads
//     nothing twice.
//   - A RAW file and the JPEG of the same shot (IMG_1.CR2, IMG_1.JPG) are one
//     [Photo].
package photo
