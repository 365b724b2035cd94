package memlimit

import (
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"
)

// TestControlGroups reads the limits of control groups as kernels show them.
func TestControlGroups(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string
		want  int64
	}{
		{"none", map[string]string{}, math.MaxInt64},
		{"version 2, in a container", map[string]string{
			"proc/self/cgroup":         "0::/\n",
			"sys/fs/cgroup/memory.max": "1073741824\n",
		}, 1 << 30},
		{"version 2, no limit", map[string]string{
			"proc/self/cgroup":         "0::/\n",
			"sys/fs/cgroup/memory.max": "max\n",
		}, math.MaxInt64},
		{"version 2, of a group above", map[string]string{
			"proc/self/cgroup":                                  "0::/system.slice/app.service\n",
			"sys/fs/cgroup/system.slice/memory.max":             "536870912\n",
			"sys/fs/cgroup/system.slice/app.service/memory.max": "max\n",
		}, 512 << 20},
		{"version 2, throttled", map[string]string{
			"proc/self/cgroup":          "0::/\n",
			"sys/fs/cgroup/memory.max":  "1073741824\n",
			"sys/fs/cgroup/memory.high": "805306368\n",
		}, 768 << 20},
		{"version 1", map[string]string{
			"proc/self/cgroup": "5:cpu,cpuacct:/x\n4:memory:/pod\n",
			"sys/fs/cgroup/memory/pod/memory.limit_in_bytes": "268435456\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes":     "9223372036854771712\n",
		}, 256 << 20},
		{"version 1, in a container that sees its own group as the root", map[string]string{
			"proc/self/cgroup":                           "4:memory:/kubepods/pod1/abc\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "268435456\n",
		}, 256 << 20},
		{"nonsense", map[string]string{
			"proc/self/cgroup":         "what\n::\n0::\n",
			"sys/fs/cgroup/memory.max": "-3 apples\n",
		}, math.MaxInt64},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir() + "/"
			for name, text := range c.files {
				if err := os.MkdirAll(filepath.Dir(root+name), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(root+name, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if got := ofGroups(root); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}

func TestGOMEMLIMIT(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(100 << 20))
	if got := read(t.TempDir() + "/"); got.limit != 100<<20 {
		t.Errorf("got %d", got.limit)
	}
}

// TestReserve: what is reserved is taken off the limit that the program has set, and
// given back.
func TestReserve(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(640 << 20))
	defer Reserve(0)
	for _, c := range []struct{ reserve, program, want int64 }{
		{100 << 20, 0, 540 << 20},
		{101 << 20, 0, 540 << 20}, // not worth a change
		{200 << 20, 0, 440 << 20},
		{600 << 20, 0, 320 << 20}, // no less than half
		{0, 0, 640 << 20},
		{64 << 20, 1 << 30, 960 << 20}, // the program has set another one
		{0, 0, 1 << 30},
		{100 << 20, math.MaxInt64, math.MaxInt64}, // it has no limit any more
	} {
		if c.program != 0 {
			debug.SetMemoryLimit(c.program)
		}
		Reserve(c.reserve)
		if got := debug.SetMemoryLimit(-1); got != c.want {
			t.Errorf("%d reserved: the runtime's limit is %d, want %d", c.reserve, got, c.want)
		}
		if c.program != 0 && ofProgram() != c.program {
			t.Errorf("the program's limit is %d, not %d", ofProgram(), c.program)
		}
	}
}
