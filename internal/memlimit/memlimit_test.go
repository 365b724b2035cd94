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
