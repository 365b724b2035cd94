//go:build unix

package snapshot

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/kinform/kinform/wire"
)

// What the test program does when it runs as a child process.
const childVariable = "KINFORM_SNAPSHOT_CHILD"

var children = map[string]func(dir string) error{
	"write": writeForever,
	"full":  writeUntilFull,
	"wait":  func(dir string) error { return waitWith(dir) },
	"try":   func(dir string) error { return tryToOpen(dir) },
}

func TestMain(m *testing.M) {
	if name, dir, ok := strings.Cut(os.Getenv(childVariable), ":"); ok {
		if err := children[name](dir); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child returns a command that does something in a folder.
func child(t *testing.T, binary, name, dir string) *exec.Cmd {
	t.Helper()
	if binary == "" {
		var err error
		binary, err = os.Executable()
		must(t, err)
	}
	cmd := exec.Command(binary)
	cmd.Env = append(os.Environ(), childVariable+"="+name+":"+dir)
	cmd.Stderr = os.Stderr
	return cmd
}

// stateAt returns the state that writeForever has at a version: each version changes
// one of ten objects, and every seventh version removes it.
func stateAt(version int) state {
	s := state{}
	for v := max(1, version-9); v <= version; v++ {
		if v%7 != 0 {
			s[fmt.Sprintf("ns/%d", v%10)] = valueAt(v)
		}
	}
	return s
}

func valueAt(v int) string { return strings.Repeat(fmt.Sprint(v, " "), 200) }

func markAt(version int) Mark { return Mark{Version: fmt.Sprint(version)} }

// writeForever continues from the existing snapshot, and prints the versions it has
// written.
func writeForever(dir string) error {
	f, err := Open(dir, pods, Options{Key: testKey})
	if err != nil {
		return err
	}
	version := 0
	got, m, err := read(f)
	if err == nil {
		if version, err = strconv.Atoi(m.Version); err != nil || !maps.Equal(got, stateAt(version)) {
			return fmt.Errorf("at %s: %v, %w", m.Version, got, err)
		}
	} else if !errors.Is(err, ErrNone) {
		return err
	}
	for {
		version++
		if f.codec == nil || version%11 == 0 {
			err = f.Rewrite(slices.Values(stateAt(version).entries()), markAt(version))
		} else {
			e := Entry{Key: fmt.Sprintf("ns/%d", version%10), Format: wire.Protobuf, Bytes: []byte(valueAt(version)), Gone: version%7 == 0}
			err = f.Append(slices.Values([]Entry{e}), markAt(version))
		}
		if err != nil {
			return err
		}
		fmt.Println(version)
	}
}

// TestKilled kills a process 100 times while it writes. The next process finds every
// batch except the one that was being written.
func TestKilled(t *testing.T) {
	dir := t.TempDir()
	rng := rand.New(rand.NewPCG(3, 4))
	said := 0
	for i := range 100 {
		cmd := child(t, "", "write", dir)
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		lines := bufio.NewScanner(out)
		for n := rng.IntN(15); lines.Scan(); n-- {
			v, err := strconv.Atoi(lines.Text())
			if err != nil {
				t.Fatalf("run %d: %s", i, lines.Text())
			}
			if said = v; n <= 0 { // and then to its end: it may say more before it dies
				_ = cmd.Process.Kill()
			}
		}
		_ = cmd.Wait()

		f := open(t, dir, pods, testKey)
		got, m, err := read(f)
		if errors.Is(err, ErrNone) && said == 0 {
			must(t, f.Close())
			continue
		}
		must(t, err)
		version, err := strconv.Atoi(m.Version)
		must(t, err)
		if version < said || !maps.Equal(got, stateAt(version)) {
			t.Fatalf("run %d: %d objects at %d, after %d was said to be written", i, len(got), version, said)
		}
		if left, _ := filepath.Glob(f.path + fresh); left != nil {
			t.Fatalf("%v is left", left)
		}
		must(t, f.Close())
	}
	if said < 100 {
		t.Errorf("only %d batches were written", said)
	}
}

// waitWith keeps a file open until it is told to stop.
func waitWith(dir string) error {
	if _, err := Open(dir, pods, Options{}); err != nil {
		return err
	}
	fmt.Println("open")
	_, _ = io.Copy(io.Discard, os.Stdin)
	return nil
}

// TestLocked: while one process has a file open, no other process can open it; once the
// first is killed, another can.
func TestLocked(t *testing.T) {
	dir := t.TempDir()
	cmd := child(t, "", "wait", dir)
	stdin, err := cmd.StdinPipe()
	must(t, err)
	defer stdin.Close()
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	if line != "open\n" {
		t.Fatal(line, err)
	}
	if _, err := Open(dir, pods, Options{}); !errors.Is(err, ErrLocked) {
		t.Errorf("while it is open: %v", err)
	}
	must(t, cmd.Process.Kill())
	_ = cmd.Wait()
	f := open(t, dir, pods, nil)
	if _, err := Open(dir, pods, Options{}); !errors.Is(err, ErrLocked) {
		t.Errorf("a second time in the same process: %v", err)
	}
	must(t, f.Close())
	open(t, dir, pods, nil)
}

// writeUntilFull writes until the system refuses, and continues when it no longer does.
func writeUntilFull(dir string) error {
	signal.Ignore(syscall.SIGXFSZ)
	limit := func(n uint64) error {
		return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: n, Max: ^uint64(0)})
	}
	if err := limit(20_000); err != nil {
		return err
	}
	f, err := Open(dir, pods, Options{Key: testKey})
	if err != nil {
		return err
	}
	want := state{"a": strings.Repeat("a", 1000)}
	if err := f.Rewrite(slices.Values(want.entries()), markAt(1)); err != nil {
		return err
	}
	failed := 0
	for v := 2; v < 40; v++ {
		e := Entry{Key: fmt.Sprint("k", v), Format: wire.Protobuf, Bytes: bytes.Repeat([]byte("k"), 1000)}
		if err := f.Append(slices.Values([]Entry{e}), markAt(v)); err != nil {
			if failed++; !errors.Is(err, syscall.EFBIG) {
				return err
			}
			continue
		}
		if failed > 0 {
			return fmt.Errorf("version %d was written behind one that was not", v)
		}
		want[e.Key] = string(e.Bytes)
	}
	large := state{"a": strings.Repeat("a", 30_000)}
	if err := f.Rewrite(slices.Values(large.entries()), markAt(50)); !errors.Is(err, syscall.EFBIG) {
		return fmt.Errorf("rewriting: %w", err)
	}
	if got, _, err := read(f); err != nil || !maps.Equal(got, want) || failed == 0 {
		return fmt.Errorf("%d objects of %d, %d failures, %w", len(got), len(want), failed, err)
	}
	if err := limit(1 << 20); err != nil {
		return err
	}
	if err := f.Rewrite(slices.Values(large.entries()), markAt(51)); err != nil {
		return err
	}
	if got, m, err := read(f); err != nil || !maps.Equal(got, large) || m.Version != "51" {
		return fmt.Errorf("with room again: %d objects at %s, %w", len(got), m.Version, err)
	}
	return nil
}

// TestDiskFull: what was written before the disk was full remains, and nothing else is
// read.
func TestDiskFull(t *testing.T) {
	dir := t.TempDir()
	if out, err := child(t, "", "full", dir).Output(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, folder, "*"+fresh)); left != nil {
		t.Errorf("%v is left", left)
	}
}

// tryToOpen says what opening leads to.
func tryToOpen(dir string) error {
	f, err := Open(dir, pods, Options{})
	if err != nil {
		return err
	}
	return f.Rewrite(slices.Values(state{"a": "1"}.entries()), markAt(1))
}

// TestReadOnly: opening a read-only folder returns an error that says so. A user other
// than root tries it, because root can write to every folder.
func TestReadOnly(t *testing.T) {
	top := t.TempDir()
	binary := filepath.Join(top, "child")
	own, err := os.Executable()
	must(t, err)
	program, err := os.ReadFile(own)
	must(t, err)
	must(t, os.WriteFile(binary, program, 0o755))
	dir := filepath.Join(top, "readonly")
	must(t, os.Mkdir(dir, 0o555))
	cmd := child(t, binary, "try", dir)
	if os.Geteuid() == 0 {
		for d := top; d != os.TempDir() && len(d) > 1; d = filepath.Dir(d) {
			must(t, os.Chmod(d, 0o755))
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	out, err := cmd.Output()
	if err == nil || !strings.Contains(string(out), "permission denied") || !strings.Contains(string(out), dir) {
		t.Errorf("%v: %s", err, out)
	}
}

// brokenDisk fails after a number of bytes, and may fail to take back what it wrote.
type brokenDisk struct {
	disk
	left     *int
	stubborn bool // once it is full
}

func (d *brokenDisk) Write(b []byte) (int, error) {
	n := min(len(b), *d.left)
	*d.left -= n
	wrote, err := d.disk.Write(b[:n])
	if err == nil && n < len(b) {
		err = syscall.ENOSPC
	}
	return wrote, err
}

func (d *brokenDisk) Truncate(size int64) error {
	if d.stubborn && *d.left == 0 {
		return syscall.EIO
	}
	return d.disk.Truncate(size)
}

// TestNoSpaceAtEachByte: whichever byte is the last that the disk has room for, what was
// written whole before is there, and once there is room again, so is the rest.
func TestNoSpaceAtEachByte(t *testing.T) {
	for _, stubborn := range []bool{false, true} {
		for room, failed := 0, true; failed; room += 3 {
			f := open(t, t.TempDir(), Scope{Resource: "a"}, nil)
			left := room
			f.open = func(path string, flag int) (disk, error) {
				out, err := openFile(path, flag)
				return &brokenDisk{out, &left, stubborn}, err
			}
			failed = false
			for v := 1; v <= 4; v++ {
				err := writeAt(f, v)
				if err == nil {
					continue
				}
				if failed = true; !errors.Is(err, syscall.ENOSPC) && !(stubborn && errors.Is(err, syscall.EIO)) {
					t.Fatalf("room for %d: %v", room, err)
				}
				g := *f // as another process would read it
				checkAt(t, &g, v-1, fmt.Sprintf("room for %d", room))
				left = 1 << 30
				must(t, writeAt(f, v))
			}
			_ = f.shut()
			checkAt(t, f, 4, fmt.Sprintf("room for %d, and then enough", room))
			must(t, f.Close())
		}
	}
}

// writeAt writes a version as writeForever does.
func writeAt(f *File, v int) error {
	if v == 1 || f.codec == nil {
		return f.Rewrite(slices.Values(stateAt(v).entries()), markAt(v))
	}
	e := Entry{Key: fmt.Sprintf("ns/%d", v%10), Format: wire.Protobuf, Bytes: []byte(valueAt(v))}
	return f.Append(slices.Values([]Entry{e}), markAt(v))
}

// checkAt checks that a file has the state of a version; of 0, that there is no file.
func checkAt(t *testing.T, f *File, version int, name string) {
	t.Helper()
	got, m, err := read(f)
	if version == 0 && errors.Is(err, ErrNone) {
		return
	}
	if err != nil || m.Version != fmt.Sprint(version) || !maps.Equal(got, stateAt(version)) {
		t.Fatalf("%s: %d objects at %q, %v; want version %d", name, len(got), m.Version, err, version)
	}
}

// TestSealed: nothing of what is sealed can be found on the disk, and with another key
// nothing is read.
func TestSealed(t *testing.T) {
	dir := t.TempDir()
	f := open(t, dir, pods, testKey)
	must(t, f.Rewrite(slices.Values(state{"ns/hidden-name": "hidden-value"}.entries()), Mark{Version: "1"}))
	must(t, f.Append(slices.Values(state{"ns/hidden-too": "hidden-value"}.entries()), Mark{Version: "2"}))
	must(t, f.Close())
	all, err := os.ReadDir(filepath.Dir(f.path))
	must(t, err)
	for _, file := range all {
		b, err := os.ReadFile(filepath.Join(filepath.Dir(f.path), file.Name()))
		must(t, err)
		if bytes.Contains(b, []byte("hidden")) {
			t.Errorf("%s has it in clear", file.Name())
		}
	}
	if _, _, err := read(open(t, dir, pods, bytes.Repeat([]byte{8}, 32))); !errors.Is(err, ErrKey) {
		t.Errorf("with another key: %v", err)
	}
	if _, err := Open(dir, pods, Options{Key: []byte("short")}); err == nil {
		t.Error("a short key is taken")
	}
}
