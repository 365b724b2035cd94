package snapshot

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"os"
	"runtime"
	"slices"
	"testing"

	"github.com/klauspost/compress/s2"

	"github.com/kinform/kinform/wire"
)

// moment is a state that a file had, and the length of the file then.
type moment struct {
	state   state
	version string
	size    int64
}

// small writes a small file, of several parts and batches, and returns its moments.
func small(t *testing.T, f *File) []moment {
	t.Helper()
	s := state{"ns/a": "1", "ns/b": "2", "ns/c": "3"}
	must(t, f.Rewrite(slices.Values(s.entries()), Mark{Version: "10"}))
	all := []moment{{maps.Clone(s), "10", f.Size()}}
	for i, ch := range []Entry{
		{Key: "ns/a", Format: wire.Protobuf, Bytes: []byte("one")},
		{Key: "ns/b", Gone: true},
		{Key: "ns/d", Format: wire.Protobuf, Bytes: []byte("4")},
	} {
		if s[ch.Key] = string(ch.Bytes); ch.Gone {
			delete(s, ch.Key)
		}
		version := fmt.Sprint(11 + i)
		must(t, f.Append(slices.Values([]Entry{ch}), Mark{Version: version}))
		all = append(all, moment{maps.Clone(s), version, f.Size()})
	}
	return all
}

// checkDamaged loads a file that is intact up to some offset. Load must return the last
// moment before that offset or, if there is none, an error; and the file must remain
// writable.
func checkDamaged(t *testing.T, f *File, damaged []byte, all []moment, intact int64, name string) {
	t.Helper()
	must(t, f.shut())
	must(t, os.WriteFile(f.path, damaged, 0o600))
	got, m, err := read(f)
	var want *moment
	for i := range all {
		if all[i].size <= intact {
			want = &all[i]
		}
	}
	if want == nil {
		if err == nil {
			t.Fatalf("%s: loaded %v at %s", name, got, m.Version)
		}
		if !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrFormat) && !errors.Is(err, ErrKey) {
			t.Fatalf("%s: %v", name, err)
		}
		if !f.Worn() {
			t.Fatalf("%s: a damaged file is appended to", name)
		}
		return
	}
	if errors.Is(err, ErrKey) && f.key != nil {
		return // a checksum can be mended, a seal cannot
	}
	if err != nil || !maps.Equal(got, want.state) || m.Version != want.version {
		t.Fatalf("%s: %v at %q, %v; want %v at %s", name, got, m.Version, err, want.state, want.version)
	}
	if f.Dropped() != int64(len(damaged))-want.size {
		t.Fatalf("%s: %d bytes dropped of %d", name, f.Dropped(), len(damaged))
	}
	if intact%4 != 0 {
		return // what follows takes time, and does not depend on the byte
	}
	after := maps.Clone(want.state)
	after["ns/new"] = "new"
	must(t, f.Append(slices.Values([]Entry{{Key: "ns/new", Format: wire.Protobuf, Bytes: []byte("new")}}), Mark{Version: "99"}))
	if got, m, err = read(f); err != nil || !maps.Equal(got, after) || m.Version != "99" {
		t.Fatalf("%s: after another batch: %v at %q, %v; want %v", name, got, m.Version, err, after)
	}
}

// TestCutOff cuts a file off at each byte.
func TestCutOff(t *testing.T) {
	for _, key := range [][]byte{nil, testKey} {
		t.Run(fmt.Sprintf("sealed=%v", key != nil), func(t *testing.T) {
			f := open(t, t.TempDir(), Scope{Resource: "a"}, key)
			all := small(t, f)
			good, err := os.ReadFile(f.path)
			must(t, err)
			for n := range len(good) {
				checkDamaged(t, f, good[:n], all, int64(n), fmt.Sprintf("cut off at %d", n))
				// What a file system may leave behind after a power failure.
				zeros := append(bytes.Clone(good[:n]), make([]byte, 100)...)
				if !bytes.HasPrefix(zeros, good[:n+1]) {
					checkDamaged(t, f, zeros, all, int64(n), fmt.Sprintf("zeros from %d", n))
				}
			}
		})
	}
}

// TestBitFlips flips each bit of a file.
func TestBitFlips(t *testing.T) {
	for _, key := range [][]byte{nil, testKey} {
		t.Run(fmt.Sprintf("sealed=%v", key != nil), func(t *testing.T) {
			f := open(t, t.TempDir(), Scope{Resource: "a"}, key)
			all := small(t, f)
			good, err := os.ReadFile(f.path)
			must(t, err)
			step := 1
			if key != nil {
				step = 5 // the same code, and slower
			}
			for n := 0; n < len(good)*8; n += step {
				bad := bytes.Clone(good)
				bad[n/8] ^= 1 << (n % 8)
				checkDamaged(t, f, bad, all, int64(n/8), fmt.Sprintf("bit %d of byte %d", n%8, n/8))
			}
		})
	}
}

// TestFramesHaveTheirPlace: reordered frames, and frames of another file, are rejected.
func TestFramesHaveTheirPlace(t *testing.T) {
	for _, key := range [][]byte{nil, testKey} {
		t.Run(fmt.Sprintf("sealed=%v", key != nil), func(t *testing.T) {
			f := open(t, t.TempDir(), pods, key)
			all := small(t, f)
			good, err := os.ReadFile(f.path)
			must(t, err)
			cut := func(i int) []byte { return good[all[i-1].size:all[i].size] }
			swapped := slices.Concat(good[:all[0].size], cut(2), cut(1), cut(3))
			checkDamaged(t, f, swapped, all, all[0].size, "swapped")
			twice := slices.Concat(good[:all[1].size], cut(1), cut(2))
			checkDamaged(t, f, twice, all, all[1].size, "repeated")
			left := slices.Concat(good[:all[0].size], cut(2), cut(3))
			checkDamaged(t, f, left, all, all[0].size, "left out")

			g := open(t, t.TempDir(), pods, key)
			others := small(t, g)
			foreign, err := os.ReadFile(g.path)
			must(t, err)
			mixed := slices.Concat(good[:all[1].size], foreign[others[1].size:])
			checkDamaged(t, f, mixed, all, all[1].size, "of another file")
		})
	}
}

// TestClaims: lengths that a file claims, with a valid checksum, do not make the
// program allocate memory.
func TestClaims(t *testing.T) {
	f := open(t, t.TempDir(), pods, nil)
	_ = small(t, f)
	must(t, f.shut())
	good, err := os.ReadFile(f.path)
	must(t, err)
	header := good[:f.codec.header.size]
	frame := func(length uint32, flags byte, body []byte) []byte {
		b := binary.LittleEndian.AppendUint32(nil, length)
		b = append(b, byte(whole), flags, 0, 0, 0, 0, 0, 0)
		b = append(b, body...)
		binary.LittleEndian.PutUint32(b[8:], f.codec.checksum(0, b))
		return b
	}
	own := func(flags byte, body []byte) []byte { return frame(uint32(len(body)), flags, body) }
	huge := binary.AppendUvarint(nil, 1<<40)
	for name, b := range map[string][]byte{
		"length of a frame":      frame(1<<31, 0, []byte("x")),
		"length when unpacked":   own(packed, append(huge, 0)),
		"4 GiB when unpacked":    own(packed, append(binary.AppendUvarint(nil, 1<<32-1), 0)),
		"packed nonsense":        own(packed, append(binary.AppendUvarint(nil, 1<<20), 0xff, 0xff)),
		"length of a key":        own(0, append([]byte{2}, huge...)),
		"length of an object":    own(0, append([]byte{2, 1, 'a'}, huge...)),
		"length that overflows":  own(0, append([]byte{2}, bytes.Repeat([]byte{0xff}, 12)...)),
		"mark that is none":      own(0, appendText([]byte{isMark}, "{")),
		"no mark":                own(0, appendEntry(nil, Entry{Key: "a", Format: wire.JSON})),
		"a mark of another type": own(0, appendText([]byte{isMark}, `{"version":5}`)),
	} {
		must(t, os.WriteFile(f.path, append(bytes.Clone(header), b...), 0o600))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _, err := read(f)
		runtime.ReadMemStats(&after)
		if !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v, want ErrDamaged", name, err)
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > 2*largestPacked {
			t.Errorf("%s: %d bytes allocated", name, n)
		}
	}
	long := bytes.Clone(header)
	binary.LittleEndian.PutUint32(long[len(magic)+4:], 1<<31)
	must(t, os.WriteFile(f.path, long, 0o600))
	if _, _, err := read(f); !errors.Is(err, ErrDamaged) {
		t.Errorf("length of the header: %v", err)
	}
}

// FuzzLoad: no file makes the program panic, or accept a state without a mark.
func FuzzLoad(f *testing.F) {
	dir := f.TempDir()
	file, err := Open(dir, pods, Options{})
	if err != nil {
		f.Fatal(err)
	}
	defer file.Close()
	h, text, err := newHeader(pods, false)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(appendMark(appendEntry(nil, Entry{Key: "a", Format: wire.JSON, Bytes: []byte("{}")}), Mark{Version: "1"}), true)
	f.Add([]byte{2, 0, 0, isMark, 2, '{', '}'}, false)
	f.Fuzz(func(t *testing.T, body []byte, unpacked bool) {
		// The checksum is valid, so that the code behind it is reached.
		b := binary.LittleEndian.AppendUint32(nil, uint32(len(body)))
		b = append(b, byte(whole), packed, 0, 0, 0, 0, 0, 0)
		if unpacked {
			b[5] = 0
		}
		b = append(b, body...)
		sum := crc32.Checksum((&codec{header: h}).bound(0, b), castagnoli)
		binary.LittleEndian.PutUint32(b[8:], crc32.Update(sum, castagnoli, body))
		if err := os.WriteFile(file.path, append(bytes.Clone(text), b...), 0o600); err != nil {
			t.Fatal(err)
		}
		entries, unpack := body, error(nil)
		if !unpacked {
			entries, unpack = s2.Decode(nil, body)
		}
		if _, err := file.Load(func(Entry) error { return nil }); err == nil && (unpack != nil || !bytes.Contains(entries, []byte{isMark})) {
			t.Fatal("loaded what has no mark")
		}
	})
}
