// Package encoder computes embeddings of photos with an image network from an
// ONNX file. With its folders it forms the encoder room.
//
//	model.onnx, files beside it ─▶ Open ─▶ Encoder ─┐
//	decoded image ──────────────────────────────────┴▶ Embed ─▶ embedding, d float32
//	texts ─▶ zeroshot ─▶ vectors in the space of a CLIP network
//
// The room may import model/ and photo/. It never imports user/ or cloud/.
//
// - onnx reads model files, fetch downloads them, known describes common ones.
// - prepare turns a decoded image into the network's input.
// - engine computes in plain Go, onnxruntime calls ONNX Runtime.
// - zeroshot scores keywords against embeddings.
//
// This package finds the image input (input.go) and the embedding tensor
// (choose.go), tries the network (trial.go), and selects the runtime.
//
// Plain Go is the default and needs no installation. ONNX Runtime is an
// optional C++ library that runs nearly every ONNX file, including networks of
// 8-bit integers, and runs faster. Both runtimes choose the same tensor of a
// file. Their values agree within 1e-4·(1+|value|) but not bit for bit, because
// they sum in different orders. Releases of ONNX Runtime and processors differ
// by as much. One build of one runtime on one processor returns the same bits
// for the same image every time.
//
// Model files are untrusted. Loading determines all shapes and checks sizes,
// work and memory against Limits before it allocates. Running an accepted
// network allocates no more than was counted. This program itself reads the
// files that a model names, only from the model's own folder.
//
// ONNX Runtime runs only if the user names it, or names its library in
// CPAR_ONNXRUNTIME. It receives a graph that onnx.Extract rewrites: the nodes
// the embedding needs, one input, one output, and no other files. Limits apply
// to the file's size, nodes and weights, but not to the memory and work per
// image, because its operators are unknown here. It is C++ in this process.
// Damage known to crash it is refused first. Of randomly damaged files that
// pass, about one in 300,000 still crashed version 1.22, so use it only for
// trusted files.
package encoder
