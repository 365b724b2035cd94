package metrics

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/kinform/kinform/internal/engine"
)

// known has the names of all metrics, with those that a histogram has in queries.
func known() map[string]bool {
	names := map[string]bool{}
	for _, m := range all {
		names[m.name] = true
		if m.histogram {
			names[m.name+"_bucket"], names[m.name+"_sum"], names[m.name+"_count"] = true, true, true
		}
	}
	return names
}

var nameInText = regexp.MustCompile(`\bkinform_[a-z_]+`)

// wantKnown checks that all names in a text are metrics, and returns them.
func wantKnown(t *testing.T, where, text string) map[string]bool {
	t.Helper()
	names, found := known(), map[string]bool{}
	for _, name := range nameInText.FindAllString(text, -1) {
		found[name] = true
		if !names[name] {
			t.Errorf("%s: there is no metric %s", where, name)
		}
	}
	return found
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestDocs: docs/metrics.md has every metric, with its meaning, and no others. The same
// holds for the values of labels with fixed values.
func TestDocs(t *testing.T) {
	text := read(t, "../docs/metrics.md")
	wantKnown(t, "docs/metrics.md", text)
	for _, m := range all {
		row := regexp.MustCompile("(?m)^\\| `" + m.name + "` \\| [^|]{5,} \\|.*\\|$")
		if n := len(row.FindAllString(text, -1)); n != 1 {
			t.Errorf("docs/metrics.md has %d rows of %s", n, m.name)
		}
	}
	for _, cause := range engine.Causes {
		if !strings.Contains(text, "`"+string(cause)+"`") {
			t.Errorf("docs/metrics.md does not say what the cause %s is", cause)
		}
	}
}

// wantBalanced checks that the brackets of a query are balanced.
func wantBalanced(t *testing.T, where, query string) {
	t.Helper()
	for _, pair := range []string{"()", "{}", "[]"} {
		if strings.Count(query, pair[:1]) != strings.Count(query, pair[1:]) {
			t.Errorf("%s: %s has unequal %s", where, query, pair)
		}
	}
	if strings.Count(query, `"`)%2 != 0 {
		t.Errorf("%s: %s has a quote too many", where, query)
	}
}

// TestDashboard: each panel queries existing metrics, with labels that they have, and
// each metric has a panel.
func TestDashboard(t *testing.T) {
	var d struct {
		Title, UID string
		Templating struct{ List []struct{ Name string } }
		Panels     []struct {
			ID                       int
			Type, Title, Description string
			Targets                  []struct{ Expr string }
		}
	}
	if err := json.Unmarshal([]byte(read(t, "dashboard.json")), &d); err != nil {
		t.Fatal(err)
	}
	shown, ids := map[string]bool{}, map[int]bool{}
	for _, p := range d.Panels {
		if ids[p.ID] {
			t.Errorf("%s: the id %d is taken", p.Title, p.ID)
		}
		ids[p.ID] = true
		if p.Type == "row" {
			continue
		}
		if len(p.Targets) == 0 || p.Description == "" {
			t.Errorf("%s: no query, or no description", p.Title)
		}
		for _, target := range p.Targets {
			wantBalanced(t, p.Title, target.Expr)
			wantLabels(t, p.Title, target.Expr)
			for name := range wantKnown(t, p.Title, target.Expr) {
				shown[strings.TrimSuffix(name, "_bucket")] = true
			}
		}
	}
	for _, m := range all {
		if !shown[m.name] {
			t.Errorf("no panel shows %s", m.name)
		}
	}
	if len(d.Templating.List) != 3 || d.Title == "" || d.UID == "" {
		t.Errorf("the dashboard %q has %d variables", d.Title, len(d.Templating.List))
	}
}

var selector = regexp.MustCompile(`(kinform_[a-z_]+?)(?:_bucket)?\{([^}]*)\}`)

// wantLabels checks that selectors on a metric name labels that it has.
func wantLabels(t *testing.T, where, query string) {
	t.Helper()
	for _, found := range selector.FindAllStringSubmatch(query, -1) {
		i := slices.IndexFunc(all, func(m *metric) bool { return m.name == found[1] })
		if i < 0 {
			continue // it was reported
		}
		for term := range strings.SplitSeq(found[2], ",") {
			label := term[:strings.IndexAny(term, "=!")]
			if label != "job" && !slices.Contains(all[i].labels, label) {
				t.Errorf("%s: %s has no label %s", where, found[1], label)
			}
		}
	}
}

// TestAlerts: each rule queries existing metrics, and says what has happened and what
// to do.
func TestAlerts(t *testing.T) {
	var file struct {
		Groups []struct {
			Name  string
			Rules []struct {
				Alert, Expr, For    string
				Labels, Annotations map[string]string
			}
		}
	}
	if err := yaml.UnmarshalStrict([]byte(read(t, "alerts.yaml")), &file); err != nil {
		t.Fatal(err)
	}
	rules := map[string]bool{}
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			if !strings.HasPrefix(r.Alert, "Kinform") || rules[r.Alert] {
				t.Errorf("the name %q is taken, or wrong", r.Alert)
			}
			rules[r.Alert] = true
			if len(wantKnown(t, r.Alert, r.Expr)) == 0 {
				t.Errorf("%s: %s asks for no metric", r.Alert, r.Expr)
			}
			wantBalanced(t, r.Alert, r.Expr)
			wantLabels(t, r.Alert, r.Expr)
			wantKnown(t, r.Alert, r.Annotations["action"])
			if !slices.Contains([]string{"critical", "warning", "info"}, r.Labels["severity"]) {
				t.Errorf("%s: the severity is %q", r.Alert, r.Labels["severity"])
			}
			for _, say := range []string{"summary", "action"} {
				if text := r.Annotations[say]; !strings.HasSuffix(text, ".") || len(text) < 30 {
					t.Errorf("%s: the %s is %q", r.Alert, say, text)
				}
			}
		}
	}
	if len(rules) < 10 {
		t.Errorf("there are %d rules", len(rules))
	}
}
