package engine

import (
	"testing"
	"unsafe"
)

// TestRecordIsSmall: there may be a million of them, so a field more is noticed.
func TestRecordIsSmall(t *testing.T) {
	if size := unsafe.Sizeof(Record{}); size > 96 {
		t.Errorf("a record has %d bytes, which take 128 and more; it had 96", size)
	}
}
