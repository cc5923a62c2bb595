// Package words names what is on a photo in words that nobody's collection needs to have:
// an encoder of the CLIP kind puts pictures and texts into one space, and the text half of
// the model says which words lie near a photo.
//
//	word ─templates─▶ prompts ─Tokenizer─▶ 77 numbers ─Half─▶ d float32 ─mean─▶ a word's vector ─┐
//	photo ─network.Encoder─▶ its embedding, d float32 ───────────────────────────────────────────┴─ cosine ─▶ scores
//
// All this is done at home. A word is weighed against a list of everyday words (everyday.txt)
// and whatever else was asked for: its score is its share of the softmax over all of them, at
// CLIP's temperature (Radford and others, "Learning Transferable Visual Models From Natural
// Language Supervision", 2021, section 3.1.2). Scores of one photo order words; they are no
// probabilities that a word fits, since several may, and nothing here was calibrated.
//
// The tokenizers are this package's own, a hundred lines each. Of libraries for Go without cgo,
// sugarme/tokenizer 0.3.0 was tried: it panics on CLIP's own tokenizer.json and on damaged
// files, and brings seventeen modules.
package zeroshot
