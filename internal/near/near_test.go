package near

import "testing"

func TestWords(t *testing.T) {
	known := []string{"pods", "nodes", "deployments", "statefulsets", "events", "configmaps", "podtemplates", "jobs"}
	tests := []struct{ word, want string }{
		{"pod5", "pods"},
		{"opds", "pods"},
		{"PODS", "pods"},
		{"node", "nodes"},
		{"deploymnet", "deployments"},
		{"statefullset", "statefulsets"},
		{"config", "configmaps"},
		{"podt", "pods or podtemplates"},
		{"xyzzy", ""},
		{"", ""},
	}
	for _, tt := range tests {
		if got := Or(Words(tt.word, known)); got != tt.want {
			t.Errorf("Words(%q): got %q, want %q", tt.word, got, tt.want)
		}
	}
}
