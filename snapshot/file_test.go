package snapshot

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kinform/kinform/wire"
)

var (
	pods    = Scope{Server: "https://one.example:6443", CA: "abc", Resource: "v1/pods", Form: "protobuf"}
	testKey = bytes.Repeat([]byte{7}, 32)
)

// state is what a snapshot should have.
type state map[string]string

func (s state) entries() []Entry {
	var all []Entry
	for _, key := range slices.Sorted(maps.Keys(s)) {
		all = append(all, Entry{Key: key, Format: wire.Protobuf, Bytes: []byte(s[key])})
	}
	return all
}

// open opens, or ends the test.
func open(t *testing.T, dir string, s Scope, key []byte) *File {
	t.Helper()
	f, err := Open(dir, s, Options{Key: key})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// read returns what a file has.
func read(f *File) (state, Mark, error) {
	got := state{}
	m, err := f.Load(func(e Entry) error {
		if _, twice := got[e.Key]; twice {
			return fmt.Errorf("%s came twice", e.Key)
		}
		if e.Format != wire.Protobuf || e.Gone {
			return fmt.Errorf("%s came as %+v", e.Key, e)
		}
		got[e.Key] = string(e.Bytes)
		return nil
	})
	return got, m, err
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestHistory: after any writes, a file has the last state when it is read again, both
// by the same process and by the next one.
func TestHistory(t *testing.T) {
	for _, key := range [][]byte{nil, testKey} {
		t.Run(fmt.Sprintf("sealed=%v", key != nil), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 2))
			dir, want := t.TempDir(), state{}
			f := open(t, dir, pods, key)
			version := 0
			for range 300 {
				version++
				mark := Mark{Version: fmt.Sprint(version), Seen: time.Unix(int64(version), 0).UTC(), Kind: "Pod", APIVersion: "v1"}
				if f.codec == nil || rng.IntN(20) == 0 {
					must(t, f.Rewrite(slices.Values(want.entries()), mark))
				} else {
					must(t, f.Append(slices.Values(mutate(rng, want)), mark))
				}
				if rng.IntN(5) == 0 {
					must(t, f.Close())
					f = open(t, dir, pods, key)
					got, m, err := read(f)
					must(t, err)
					if !maps.Equal(got, want) || m != mark || f.Dropped() != 0 {
						t.Fatalf("read %d objects at %+v, %d bytes dropped, want %d at %+v", len(got), m, f.Dropped(), len(want), mark)
					}
				}
			}
		})
	}
}

// mutate changes a state and returns the changes, some of them to the same object.
func mutate(rng *rand.Rand, s state) (changes []Entry) {
	for range rng.IntN(6) {
		key := fmt.Sprintf("ns/pod-%d", rng.IntN(20))
		if rng.IntN(3) == 0 {
			delete(s, key)
			changes = append(changes, Entry{Key: key, Gone: true})
			continue
		}
		s[key] = strings.Repeat(fmt.Sprint(rng.IntN(1000)), rng.IntN(50))
		changes = append(changes, Entry{Key: key, Format: wire.Protobuf, Bytes: []byte(s[key])})
	}
	return changes
}

// TestLargeObjects: objects larger than a part of a whole, and than what is compressed.
func TestLargeObjects(t *testing.T) {
	for _, key := range [][]byte{nil, testKey} {
		dir := t.TempDir()
		f := open(t, dir, pods, key)
		want := state{"a": "small", "b": strings.Repeat("b", 3<<20), "c": strings.Repeat("c", 6<<20), "d": "small, too"}
		must(t, f.Rewrite(slices.Values(want.entries()), Mark{Version: "1"}))
		want["e"] = strings.Repeat("e", 5<<20)
		must(t, f.Append(slices.Values([]Entry{{Key: "e", Format: wire.Protobuf, Bytes: []byte(want["e"])}}), Mark{Version: "2"}))
		must(t, f.Close())
		got, m, err := read(open(t, dir, pods, key))
		if err != nil || !maps.Equal(got, want) || m.Version != "2" {
			t.Fatalf("%d objects at %+v, %v", len(got), m, err)
		}
	}
}

// TestSetAside: a snapshot of something else is not read, and the error says why.
func TestSetAside(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Scope)
		key    []byte
		want   error
		says   string
	}{
		{"server", func(s *Scope) { s.Server = "https://two.example" }, nil, ErrServer, "two.example"},
		{"authority", func(s *Scope) { s.CA = "def" }, nil, ErrServer, "certificate"},
		{"resource", func(s *Scope) { s.Resource = "v1/nodes" }, nil, ErrScope, "v1/nodes"},
		{"namespace", func(s *Scope) { s.Namespace = "a" }, nil, ErrScope, "namespace"},
		{"labels", func(s *Scope) { s.LabelSelector = "a=b" }, nil, ErrScope, "a=b"},
		{"fields", func(s *Scope) { s.FieldSelector = "a=b" }, nil, ErrScope, "a=b"},
		{"form", func(s *Scope) { s.Form = "json" }, nil, ErrScope, "json"},
		{"sealed", func(*Scope) {}, testKey, ErrKey, "sealed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			f := open(t, dir, pods, nil)
			must(t, f.Rewrite(slices.Values(state{"a": "1"}.entries()), Mark{Version: "1"}))
			must(t, f.Close())
			other := pods
			c.change(&other)
			g := open(t, t.TempDir(), other, c.key)
			must(t, os.Rename(f.path, g.path)) // scopes have files of their own
			_, _, err := read(g)
			if !errors.Is(err, c.want) || !strings.Contains(fmt.Sprint(err), c.says) {
				t.Fatalf("error %v, want %v that says %q", err, c.want, c.says)
			}
			must(t, g.Rewrite(slices.Values(state{"b": "2"}.entries()), Mark{Version: "2"}))
			if got, _, err := read(g); err != nil || !maps.Equal(got, state{"b": "2"}) {
				t.Fatalf("rewritten: %v, %v", got, err)
			}
		})
	}
}

// TestOtherFormat: a file of another format version is distinguished from a damaged
// one.
func TestOtherFormat(t *testing.T) {
	f := open(t, t.TempDir(), pods, nil)
	must(t, f.Rewrite(slices.Values(state{"a": "1"}.entries()), Mark{Version: "1"}))
	b, err := os.ReadFile(f.path)
	must(t, err)
	b[len(magic)]++
	must(t, os.WriteFile(f.path, b, 0o600))
	if _, _, err := read(f); !errors.Is(err, ErrFormat) {
		t.Fatalf("error %v, want ErrFormat", err)
	}
}

// TestModes: nobody else can read the files, even if the folder around them is
// readable.
func TestModes(t *testing.T) {
	dir := t.TempDir()
	must(t, os.Chmod(dir, 0o777))
	must(t, os.Mkdir(filepath.Join(dir, folder), 0o755))
	f := open(t, dir, pods, nil)
	must(t, f.Rewrite(slices.Values(state{"a": "1"}.entries()), Mark{Version: "1"}))
	must(t, f.Append(slices.Values([]Entry(nil)), Mark{Version: "2"}))
	for path, want := range map[string]os.FileMode{filepath.Dir(f.path): 0o700, f.path: 0o600, f.path + locked: 0o600} {
		info, err := os.Stat(path)
		must(t, err)
		if info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, want %v", path, info.Mode().Perm(), want)
		}
	}
}

// TestGrowth: the size of a file is bounded if it is rewritten when worn.
func TestGrowth(t *testing.T) {
	f := open(t, t.TempDir(), pods, testKey) // sealed, so that nothing is compressed
	s := state{"a": strings.Repeat("x", 1<<20)}
	must(t, f.Rewrite(slices.Values(s.entries()), Mark{Version: "1"}))
	rewritten, largest := 0, int64(0)
	for i := range 40 {
		must(t, f.Append(slices.Values(s.entries()), Mark{Version: fmt.Sprint(i + 2)}))
		largest = max(largest, f.Size())
		if f.Worn() {
			rewritten++
			must(t, f.Rewrite(slices.Values(s.entries()), Mark{Version: fmt.Sprint(i + 2)}))
		}
	}
	info, err := os.Stat(f.path)
	must(t, err)
	if info.Size() != f.Size() || largest > 7<<20 || rewritten == 0 || rewritten > 10 {
		t.Errorf("%d bytes, said to be %d, at most %d, after %d rewritings", info.Size(), f.Size(), largest, rewritten)
	}
}

// TestSweep: files that have long been unused are removed; files in use are not.
func TestSweep(t *testing.T) {
	dir := t.TempDir()
	paths := map[string]string{}
	for _, ns := range []string{"unused", "recent", "used"} {
		scope := pods
		scope.Namespace = ns
		f := open(t, dir, scope, nil)
		must(t, f.Rewrite(slices.Values(state{"a": "1"}.entries()), Mark{Version: "1"}))
		paths[ns] = f.path
		if ns != "used" {
			must(t, f.Close())
		}
		if ns != "recent" {
			long := time.Now().Add(-2 * keepFor)
			must(t, os.Chtimes(f.path, long, long))
			must(t, os.Chtimes(f.path+locked, long, long))
		}
	}
	open(t, dir, pods, nil)
	for ns, want := range map[string]bool{"unused": false, "recent": true, "used": true} {
		for _, end := range []string{"", locked} {
			if _, err := os.Stat(paths[ns] + end); (err == nil) != want {
				t.Errorf("%s%s is there: %v, want %v", ns, end, err == nil, want)
			}
		}
	}
}

// TestDiscard: what was discarded is not read.
func TestDiscard(t *testing.T) {
	f := open(t, t.TempDir(), pods, nil)
	must(t, f.Discard())
	must(t, f.Rewrite(slices.Values(state{"a": "1"}.entries()), Mark{Version: "1"}))
	must(t, f.Discard())
	if err := f.Append(slices.Values([]Entry(nil)), Mark{}); !errors.Is(err, errNothing) {
		t.Errorf("Append: %v", err)
	}
	if _, _, err := read(f); !errors.Is(err, ErrNone) {
		t.Errorf("Load: %v", err)
	}
}
