// Package network runs an image network from an ONNX file, in plain Go or in ONNX
// Runtime.
//
//	model.onnx, files beside it ─▶ Open ─▶ Encoder ─┐
//	photo ──────────────────────────────────────────┴▶ Embed ─▶ embedding, d float32
//
// Its rooms: package onnx reads files, prepare makes the input from a picture, engine
// computes in plain Go, onnxruntime calls ONNX Runtime. What is here is the front door:
// which input is the image (input.go), which tensor the embedding (choose.go), whether it
// makes sense (trial.go), and which runtime computes it.
//
// Plain Go needs nothing installed, and is the default. Networks of which it lacks an
// operator, and those of 8-bit integers, are left to ONNX Runtime, a C++ library that the
// user may have: it runs nearly every ONNX file, and faster. Both choose the same tensor
// of a file, and their values agree within 1e-4·(1+|value|), but not bit for bit: sums are
// taken in different orders. The same holds between releases of ONNX Runtime and between
// processors. One build of one runtime on one processor gives the same bits for the same
// image each time.
//
// A model file comes from strangers. All shapes are determined during loading. Sizes,
// work and memory are checked against Limits before anything is allocated for them, and
// running what was accepted allocates no more than what was counted. Files that a model
// names are read by this program, from the model's own folder only; no runtime reads any.
//
// ONNX Runtime deserves less trust, and runs only for who asks for it: by name, or by
// naming its library in CPAR_ONNXRUNTIME. It gets what package onnx has written anew from
// the parts that the embedding needs (onnx.Extract): one graph, one input, one output, no
// other files. The file's size, nodes and weights are checked against Limits, but the
// memory and work of an image are not, since its operators are unknown here. It is C++ in
// this process. Damage that was found to crash it is refused first; of randomly damaged
// files that pass, about one in 300,000 still crashed version 1.22. Ask for it only with
// files from a source that you trust.
package encoder
