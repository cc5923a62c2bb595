// Package zeroshot scores keywords for a photo without labelled examples. A
// CLIP-like encoder maps images and texts into one space, so the text half of
// the model can find keywords near a photo.
//
//	keyword ─templates─▶ prompts ─Tokenizer─▶ 77 tokens ─TextModel─▶ d float32 ─mean─▶ vector ─┐
//	image ─encoder.Encoder─▶ embedding, d float32 ─────────────────────────────────────────────┴─ cosine ─▶ scores
//
// A keyword competes with everyday keywords (everyday.txt) and all other
// requested keywords. Its score is its share of their softmax at CLIP's
// temperature (Radford et al., "Learning Transferable Visual Models From
// Natural Language Supervision", 2021, section 3.1.2). Scores order the
// keywords of one photo and are not probabilities.
//
// The package has its own tokenizers, because sugarme/tokenizer 0.3.0, which
// needs no cgo either, panics on CLIP's tokenizer.json and on damaged files.
package zeroshot
