// Package zeroshot scores keywords for a photo without labelled examples. The
// two halves of a CLIP-like model map images and texts into one vector space,
// so that keywords near a photo describe it.
//
//	keyword ─templates─▶ prompts ─Tokenizer─▶ 77 tokens ─TextModel─▶ d float32 ─mean─▶ vector ─┐
//	image ─encoder.Encoder─▶ embedding, d float32 ─────────────────────────────────────────────┴─ cosine ─▶ scores
//
// A keyword competes with everyday keywords (everyday.txt) and all other
// requested keywords. Its score is its share in a softmax over all of them at
// CLIP's temperature (Radford et al., "Learning Transferable Visual Models From
// Natural Language Supervision", 2021, section 3.1.2). Scores order the
// keywords of one photo and are not probabilities.
//
// The package has its own tokenizers. The alternative without cgo,
// sugarme/tokenizer 0.3.0, panics on CLIP's tokenizer.json and on damaged
// files.
package zeroshot
