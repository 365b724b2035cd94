// Package code has the code of the documents: each block of Go in README.md and docs/ is
// a part of a file here or in examples/, where it is compiled, and run as an example or a
// test. TestBlocks finds blocks that are not, and commands that do not exist.
//
// What may live here: what documents show, and the few lines around it that make it run.
package code
