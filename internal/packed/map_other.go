//go:build !unix

package packed

func mapMemory(size int) []byte { return make([]byte, size) }

func unmapMemory([]byte) {}
