//go:build !unix

package engine

func mapMemory(size int) []byte { return make([]byte, size) }

func unmapMemory([]byte) {}
