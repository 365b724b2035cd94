package snapshot

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
)

const (
	magic = "kinsnap\n"
	// formatVersion is raised when older files can no longer be read.
	formatVersion = 1
	// fixedHeader is the magic, the version, whether frames are sealed, and the length of
	// the rest.
	fixedHeader = len(magic) + 2 + 2 + 4
	// largestHeader is larger than the longest selectors that a request can have.
	largestHeader = 1 << 20
)

// castagnoli is used because most processors have an instruction for it.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// header is the beginning of a file.
type header struct {
	// ID is random: no two files have the same.
	ID    []byte `json:"id"`
	Scope Scope  `json:"scope"`

	sealed bool
	// sum is the checksum of the header's bytes, and size their number.
	sum  [sha256.Size]byte
	size int64
}

// newHeader returns the header of a new file, and its bytes.
func newHeader(s Scope, sealed bool) (header, []byte, error) {
	h := header{ID: make([]byte, 32), Scope: s, sealed: sealed}
	_, _ = rand.Read(h.ID) // it never fails
	text, err := json.Marshal(h)
	if err != nil || len(text) > largestHeader {
		return header{}, nil, fmt.Errorf("the scope cannot be written, %d bytes: %w", len(text), err)
	}
	b := []byte(magic)
	b = binary.LittleEndian.AppendUint16(b, formatVersion)
	b = binary.LittleEndian.AppendUint16(b, flag(sealed))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(text)))
	b = append(b, text...)
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
	h.size, h.sum = int64(len(b)), sha256.Sum256(b)
	return h, b, nil
}

func flag(set bool) uint16 {
	if set {
		return 1
	}
	return 0
}

// readHeader reads the header of a file of some size.
func readHeader(r io.ReaderAt, size int64) (h header, err error) {
	var fixed [fixedHeader]byte
	if n, _ := r.ReadAt(fixed[:], 0); n < fixedHeader {
		return h, fmt.Errorf("%w: it has no header", ErrDamaged)
	}
	if !bytes.HasPrefix(fixed[:], []byte(magic)) {
		return h, fmt.Errorf("%w: it does not begin as one", ErrDamaged)
	}
	rest := fixed[len(magic):]
	if v := binary.LittleEndian.Uint16(rest); v != formatVersion {
		return h, fmt.Errorf("%w: %d, known is %d", ErrFormat, v, formatVersion)
	}
	h.sealed = binary.LittleEndian.Uint16(rest[2:]) != 0
	length := int64(binary.LittleEndian.Uint32(rest[4:]))
	h.size = int64(fixedHeader) + length + 4
	if length > largestHeader || h.size > size {
		return h, fmt.Errorf("%w: it ends in its header", ErrDamaged)
	}
	b := make([]byte, h.size)
	if _, err := r.ReadAt(b, 0); err != nil {
		return h, fmt.Errorf("%w: its header: %w", ErrDamaged, err)
	}
	text, sum := b[:h.size-4], binary.LittleEndian.Uint32(b[h.size-4:])
	if crc32.Checksum(text, castagnoli) != sum {
		return h, fmt.Errorf("%w: its header is not what was written", ErrDamaged)
	}
	h.sum = sha256.Sum256(b)
	if err := json.Unmarshal(text[fixedHeader:], &h); err != nil {
		return h, fmt.Errorf("%w: its header: %w", ErrDamaged, err)
	}
	return h, nil
}
