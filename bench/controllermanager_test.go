package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestRequestsOfOneProgramAreCounted(t *testing.T) {
	log := filepath.Join(t.TempDir(), "audit.log")
	write := func(verb, agent string) string {
		return fmt.Sprintf("{\"verb\": %q, \"userAgent\": %q}\n", verb, agent)
	}
	if err := os.WriteFile(log, []byte(write("list", "kube-scheduler/v1 before")), 0o644); err != nil {
		t.Fatal(err)
	}
	count, err := countRequests(task{Program: "/cache/kube-scheduler", Server: server{Audit: log}})
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(log, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{write("list", "kube-scheduler/v1 (linux)"), write("watch", "kube-scheduler/v1"), write("list", "bench/v0"), `{"verb": "wat`} {
		if _, err := f.WriteString(line); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	m := metrics{}
	if err := count.end(m); err != nil {
		t.Fatal(err)
	}
	if m["requests"] != 2 || m["requests list"] != 1 || m["requests watch"] != 1 {
		t.Errorf("counted %v, want a list and a watch", m)
	}
}

func TestSidesTakeTurnsInBeingFirst(t *testing.T) {
	b := benchmark{sides: make([]side, 3)}
	if first, second := b.order(0), b.order(1); !slices.Equal(first, []int{0, 1, 2}) || !slices.Equal(second, []int{2, 1, 0}) {
		t.Errorf("the orders of two rounds are %v and %v", first, second)
	}
}
