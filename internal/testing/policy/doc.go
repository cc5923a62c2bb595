// Package policy tests the rules that hold for the module as a whole.
//
//	the module's files ─▶ rooms      which package may link which, and why
//	                   ─▶ schemes    where the constant of a scheme may appear
//	                   ─▶ documents  links, names of tests, the byte examples
//	                   ─▶ limits     sizes of files, functions, programs, prose
//
// Every rule is a table in a test file.
package policy
