// Package encoder computes embeddings of photos with an image network from an
// ONNX file. With its subfolders, it forms the "encoder" room of the
// architecture (docs/ARCHITECTURE.md).
//
//	model.onnx, files beside it ─▶ Open ─▶ Encoder ─┐
//	decoded image ──────────────────────────────────┴▶ Embed ─▶ embedding, d float32
//	texts ─▶ zeroshot ─▶ vectors in the space of a CLIP network
//
// The room may import model/ and photo/. It never imports user/ or cloud/.
//
//   - onnx reads model files, fetch downloads them, known describes common ones,
//     and bundled holds the default one.
//   - prepare turns a decoded image into the network's input.
//   - engine runs networks in plain Go, and onnxruntime runs them in ONNX
//     Runtime.
//   - zeroshot scores keywords against embeddings.
//
// This package finds the image input (input.go) and the embedding tensor
// (choose.go), tries the network (trial.go), and selects the runtime.
//
// Plain Go is the default. ONNX Runtime is an optional C++ library that is
// faster and runs nearly every ONNX file. With both runtimes, the same tensor
// is chosen. The computed values differ by at most 1e-4·(1+|value|), because
// the runtimes sum in different orders.
//
// Model files are untrusted. Limits bound what loading and running allocate.
// Files that a model names are read only from the model's own folder.
//
// ONNX Runtime runs only if the user names it or its library (environment
// variable CPAR_ONNXRUNTIME). It receives only the part of the graph that the
// embedding needs (see onnx.Extract). Limits do not cover its memory and its
// work per image. Files with damage known to crash it are refused. Of the
// randomly damaged files that were accepted, about one in 300,000 still crashed
// version 1.22. Use it only for trusted files.
package encoder
