package chaos

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// The document has a section for each server, which the runs replace one by one.
const (
	documentName = "soak.md"
	documentHead = `# Soak

Writers change objects in a server, some of them of 100 KB several times a second. Native informers (typed, metadata,
unstructured; several views of one watch) and drop-ins (typed, dynamic, metadata; with transforms; several on one store,
coming and going) look on through proxies that inject faults, while the server is restarted, made to forget and restored.
Every few seconds all stops, and every view is compared with the server: keys, versions, every field, indexes, and what
subscribers got. Readers hold on to objects meanwhile, and look whether anybody changes them.

` + "`make soak SOAK_TIME=1h SOAK_DOCS=docs/evidence`" + ` writes this file. Memory is that of the whole process: the informers, the checkers'
models, the proxies, and on apisim the server with its history. The number of objects is bounded. It has not grown if the
median of the last quarter after the warm-up is not above that of the first by more than the tolerance. The slowest
comparison is that of a drop-in after several faults in a row: it waits for up to 45 s before it tries again.
`
)

// Write writes the run's section of the document, and its curve of memory.
func (r *Report) Write(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("write the soak's document: %w", err)
	}
	err := os.WriteFile(filepath.Join(folder, r.curveName()), []byte(r.curve()), 0o644)
	if err == nil {
		err = locked(filepath.Join(folder, "."+documentName+".lock"), func() error {
			return r.replaceSection(filepath.Join(folder, documentName))
		})
	}
	if err != nil {
		return fmt.Errorf("write the soak's document: %w", err)
	}
	return nil
}

func (r *Report) curveName() string { return "soak-" + r.Server + ".svg" }

// locked runs do while no other process runs one: the soaks of two servers may end
// at the same time.
func locked(name string, do func() error) error {
	for deadline := time.Now().Add(10 * time.Second); ; {
		f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err == nil {
			return errors.Join(f.Close(), do(), os.Remove(name))
		}
		if !errors.Is(err, fs.ErrExist) || time.Now().After(deadline) {
			return err
		}
		<-time.After(10 * time.Millisecond)
	}
}

// replaceSection puts the run's section in the place of an earlier one, or at the
// end.
func (r *Report) replaceSection(name string) error {
	old, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	sections := map[string]string{}
	var servers []string
	for _, s := range strings.Split(string(old), "\n## ")[min(1, strings.Count(string(old), "\n## ")):] {
		if server, _, ok := strings.Cut(s, "\n"); ok && strings.Contains(string(old), "\n## "+server+"\n") {
			servers = append(servers, server)
			sections[server] = s
		}
	}
	if sections[r.Server] == "" {
		servers = append(servers, r.Server)
	}
	sections[r.Server] = r.section()
	text := documentHead
	for _, server := range servers {
		text += "\n## " + strings.TrimRight(sections[server], "\n") + "\n"
	}
	return os.WriteFile(name, []byte(text), 0o644)
}

// section is the run as Markdown, without the mark of a heading.
func (r *Report) section() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", r.Server)
	fmt.Fprintf(&b, "%s, seed %d, %.0f%% of one core after the warm-up of %s. Clock jumps: %s.\n\n", r.Time.Round(time.Second), r.Seed,
		100*r.Memory.CPU(), r.Memory.Warmup.Round(time.Second), r.clockNote())
	fmt.Fprintf(&b, "![memory](%s)\n\n", r.curveName())
	b.WriteString("| | |\n|---|---:|\n")
	row := func(name string, value any) { fmt.Fprintf(&b, "| %s | %v |\n", name, value) }
	row("**divergences**", fmt.Sprintf("**%d**", r.Violated))
	row("comparisons with the server", r.Comparisons)
	row("slowest to be equal", r.Slowest.Round(time.Millisecond))
	row("writes", r.Writes)
	row("events delivered", r.Delivered.Total())
	row("objects read meanwhile", r.Reads)
	row("informers that came and went", r.Informers)
	row("informers that came back with what is on disk, of those set aside", fmt.Sprintf("%d, %d", r.Resumed+r.Listed, r.Listed))
	row("changes of an informer's scope", r.Rescoped)
	row("subscribers that came and went", r.Joined)
	row("handlers' panics", r.Panics)
	row("server's history went back", r.Faults["server: restored from a backup"])
	row("faults injected", r.faults())
	b.WriteString("\n| Memory | after the warm-up | at the end | first quarter | last quarter | tolerance | |\n|---|---:|---:|---:|---:|---:|---|\n")
	for _, g := range r.Memory.Growth() {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s |\n", g.Name, g.amount(g.AtWarmup), g.amount(g.AtEnd),
			g.amount(g.First), g.amount(g.Last), g.amount(g.Tolerance), g.verdict())
	}
	b.WriteString("\n| Fault | injected |\n|---|---:|\n")
	for _, kind := range r.kinds() {
		row(kind, r.Faults[kind])
	}
	return b.String()
}
