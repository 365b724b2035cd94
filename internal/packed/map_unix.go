//go:build unix

package packed

import (
	"fmt"
	"syscall"
)

func mapMemory(size int) []byte {
	mem, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		// There is no more memory: what the runtime does when the heap has none.
		panic(fmt.Sprintf("kinform: cannot map %d bytes: %v", size, err))
	}
	return mem
}

func unmapMemory(mem []byte) { _ = syscall.Munmap(mem) }
