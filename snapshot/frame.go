package snapshot

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/s2"
)

// kind says what a frame is.
type kind uint8

const (
	part   kind = 1 // of a whole state
	whole  kind = 2 // the last part, with a mark
	change kind = 3 // a batch of changes, with a mark
)

const (
	// framePrefix has the length of the body, the kind, whether the body is compressed,
	// two unused bytes, and the checksum.
	framePrefix = 4 + 1 + 1 + 2 + 4
	// largestFrame is larger than any object that a server accepts.
	largestFrame = 256 << 20
	// largestPacked is the most that is compressed at once, and so the largest size
	// that a compressed body may claim.
	largestPacked = 4 << 20

	packed = 1 // the flag of a compressed body
)

// errEnd: there is no further frame. Whether it was cut off or damaged makes no
// difference to a reader.
var errEnd = errors.New("no further frame")

// codec makes frames of entries and entries of frames, for one file.
type codec struct {
	header
	seal cipher.AEAD // nil: frames are not sealed

	raw, body, plain []byte // memory that is used again
}

// newCodec returns the codec of a file. The key of its frames is derived from the
// program's key and the identity of the file, so that no two files use the same key.
func newCodec(h header, key []byte) (*codec, error) {
	c := &codec{header: h}
	if !h.sealed {
		return c, nil
	}
	own, err := hkdf.Key(sha256.New, key, h.ID, "kinform snapshot", 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(own)
	if err != nil {
		return nil, err
	}
	c.seal, err = cipher.NewGCM(block)
	return c, err
}

// bound is what a frame is bound to: its file, its place there, its kind and its length.
func (c *codec) bound(number uint64, prefix []byte) []byte {
	b := make([]byte, 0, sha256.Size+8+8)
	b = append(b, c.sum[:]...)
	b = binary.LittleEndian.AppendUint64(b, number)
	return append(b, prefix[:8]...)
}

// encode returns a frame of entries. The result is valid until the next call.
func (c *codec) encode(number uint64, k kind, entries []byte) ([]byte, error) {
	if len(entries) > largestFrame-1024 {
		return nil, fmt.Errorf("%w: %d bytes", ErrTooLarge, len(entries))
	}
	out := append(c.body[:0], make([]byte, framePrefix)...)
	out[4] = byte(k)
	switch {
	case c.seal != nil:
		length := c.seal.NonceSize() + len(entries) + c.seal.Overhead()
		binary.LittleEndian.PutUint32(out, uint32(length))
		nonce := make([]byte, c.seal.NonceSize())
		_, _ = rand.Read(nonce) // it never fails
		out = append(out, nonce...)
		out = c.seal.Seal(out, nonce, entries, c.bound(number, out))
	case len(entries) <= largestPacked:
		out[5] = packed
		if need := framePrefix + s2.MaxEncodedLen(len(entries)); cap(out) < need {
			out = append(make([]byte, 0, need), out...)
		}
		n := len(s2.Encode(out[framePrefix:cap(out)], entries))
		out = out[:framePrefix+n]
		binary.LittleEndian.PutUint32(out, uint32(n))
	default:
		out = append(out, entries...)
		binary.LittleEndian.PutUint32(out, uint32(len(entries)))
	}
	binary.LittleEndian.PutUint32(out[8:], c.checksum(number, out))
	if cap(out) <= 2*largestPacked {
		c.body = out
	}
	return out, nil
}

// checksum returns the checksum of a frame, without the checksum field itself.
func (c *codec) checksum(number uint64, frame []byte) uint32 {
	sum := crc32.Checksum(c.bound(number, frame), castagnoli)
	return crc32.Update(sum, castagnoli, frame[framePrefix:])
}

// read reads and checks the frame at an offset of a file of the given size. The result
// is valid until the next call.
func (c *codec) read(r io.ReaderAt, at, size int64, number uint64) ([]byte, error) {
	var prefix [framePrefix]byte
	if size-at < framePrefix {
		return nil, errEnd
	}
	if _, err := r.ReadAt(prefix[:], at); err != nil {
		return nil, ended(err)
	}
	length := int64(binary.LittleEndian.Uint32(prefix[:]))
	if length > largestFrame || length > size-at-framePrefix {
		return nil, errEnd
	}
	need := int(framePrefix + length)
	if cap(c.raw) < need {
		c.raw = make([]byte, need)
	}
	frame := c.raw[:need]
	if _, err := r.ReadAt(frame, at); err != nil {
		return nil, ended(err)
	}
	if c.checksum(number, frame) != binary.LittleEndian.Uint32(frame[8:]) {
		return nil, errEnd
	}
	return frame, nil
}

// ended distinguishes the end of the file from a disk that cannot be read.
func ended(err error) error {
	if err == io.EOF {
		return errEnd
	}
	return err
}

// entries returns those of a frame that was read. The result is valid until the next call.
func (c *codec) entries(number uint64, frame []byte) ([]byte, error) {
	body := frame[framePrefix:]
	switch {
	case c.seal != nil:
		n := c.seal.NonceSize()
		if len(body) < n {
			return nil, errEnd
		}
		var err error
		c.plain, err = c.seal.Open(c.plain[:0], body[:n], body[n:], c.bound(number, frame))
		if err != nil {
			return nil, fmt.Errorf("%w, or was tampered with", ErrKey)
		}
		return c.plain, nil
	case frame[5] != packed:
		return body, nil
	}
	if n, err := s2.DecodedLen(body); err != nil || n > largestPacked {
		return nil, errEnd
	}
	plain, err := s2.Decode(c.plain[:cap(c.plain)], body)
	if err != nil {
		return nil, errEnd
	}
	c.plain = plain
	return plain, nil
}
