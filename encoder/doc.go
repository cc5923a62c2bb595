// Package encoder computes embeddings of photos with an image network from an
// ONNX file. With its folders it forms the encoder room.
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
//   - engine computes in plain Go, onnxruntime calls ONNX Runtime.
//   - zeroshot scores keywords against embeddings.
//
// This package finds the image input (input.go) and the embedding tensor
// (choose.go), tries the network (trial.go), and selects the runtime.
//
// Plain Go is the default. ONNX Runtime is an optional C++ library that runs
// nearly every ONNX file, including networks of 8-bit integers, and runs
// faster. Both choose the same tensor. Their values agree within
// 1e-4·(1+|value|) but not bit for bit, because they sum in different orders.
// One build of one runtime on one processor is deterministic.
//
// Model files are untrusted. Loading checks sizes, work and memory against
// Limits before it allocates, and a run allocates no more than was counted.
// Files that a model names are read only from the model's own folder.
//
// ONNX Runtime runs only if the user names it or its library
// (CPAR_ONNXRUNTIME). It receives a graph that onnx.Extract rewrites: the nodes
// the embedding needs, one input, one output, and no other files. Limits cover
// the file's size, nodes and weights, but not memory and work per image. It is
// C++ in this process. Damage known to crash it is refused, but of randomly
// damaged files that pass, about one in 300,000 still crashed version 1.22. Use
// it only for trusted files.
package encoder
