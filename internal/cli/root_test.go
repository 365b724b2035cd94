package cli

import (
	"strings"
	"testing"
)

func TestUsage(t *testing.T) {
	tests := []struct {
		args []string
		want string
	}{
		{[]string{"wacth"}, `no command "wacth"; did you mean watch?`},
		{[]string{"watch"}, "which resource?"},
		{[]string{"watch", "--frob"}, "unknown flag: --frob"},
		{[]string{"watch", "pods", "-o", "xml"}, "-o xml is not known: use line, json or diff"},
		{[]string{"watch", "pods", "-n", "a", "-A"}, "-n and -A contradict each other"},
		{[]string{"watch", "pods", "-l", "a=b=c"}, `-l "a=b=c" is no label selector`},
		{[]string{"watch", "pods", "--field-selector", "a"}, `--field-selector "a" is no field selector`},
		{[]string{"watch", "pods", "--full"}, "--full is for -o json"},
		{[]string{"watch", "pods", "--for", "-1s"}, "--for -1s is in the past"},
		{[]string{"demo", "x"}, `kinform demo takes no arguments, but got "x"`},
		{[]string{"demo", "--objects", "0"}, "--objects 0: there must be some"},
		{[]string{"demo", "--rate", "0"}, "--rate 0: there must be some"},
		{[]string{"demo", "--page", ":7070"}, "--page :7070 can be reached from elsewhere"},
		{[]string{"demo", "--page", "x"}, `--page "x" is no address`},
		{[]string{"demo", "--port", "70000"}, "--port 70000 is no port: it is 0, for one that is free, to 65535"},
		{[]string{"watch", "pods/default/web-0"}, "write pods/web-0 -n default"},
		{[]string{"serve"}, "which resource?"},
		{[]string{"serve", "pods", "--for", "-1s"}, "--for -1s is in the past"},
		{[]string{"serve", "pods", "--address", "7070"}, `--address "7070" is no address`},
		{[]string{"version", "x"}, "takes no arguments"},
		{[]string{"completion"}, "which shell? Use bash, zsh or fish"},
		{[]string{"completion", "cmd"}, "which shell? Use bash, zsh or fish"},
		{[]string{"man"}, "into which directory?"},
	}
	for _, tt := range tests {
		code, out, notes := run(t, tt.args...)
		if code != exitUsage || out != "" || !strings.Contains(notes, tt.want) || !strings.Contains(notes, "--help") {
			t.Errorf("%q: exit code %d, said %q, want %d and %q", tt.args, code, notes, exitUsage, tt.want)
		}
		if strings.Count(strings.TrimSpace(notes), "\n") > 1 {
			t.Errorf("%q: it says too much:\n%s", tt.args, notes)
		}
	}
}

func TestEveryCommandShowsExamples(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"watch", "--help"}, {"get", "--help"}, {"top", "--help"}, {"bench", "--help"},
		{"dump", "--help"}, {"serve", "--help"}, {"demo", "--help"}, {"completion", "--help"}, {"man", "--help"}, {"version", "--help"}, {}} {
		code, out, notes := run(t, args...)
		if code != 0 || notes != "" || !strings.Contains(out, "Examples:") || !strings.Contains(out, "Exit codes:\n  0    all went well") ||
			!strings.Contains(out, "\n  130  Ctrl-C") {
			t.Errorf("%q: exit code %d, said %q, output\n%s", args, code, notes, out)
		}
	}
}

func TestVersion(t *testing.T) {
	code, out, notes := run(t, "version")
	if code != 0 || notes != "" || !strings.HasPrefix(out, "kinform ") || !strings.Contains(out, "client-go ") {
		t.Errorf("exit code %d, output %q, said %q", code, out, notes)
	}
}
