package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// auditPolicy has the server write down each request as it comes in, without its body.
const auditPolicy = `{"apiVersion": "audit.k8s.io/v1", "kind": "Policy",
"omitStages": ["ResponseStarted", "ResponseComplete", "Panic"], "rules": [{"level": "Metadata"}]}`

// auditFlags writes the policy into a folder, and returns the flags of a server that
// writes requests down, and the file where it does.
func auditFlags(dir string) (flags []string, log string, err error) {
	policy := filepath.Join(dir, "audit-policy.json")
	log = filepath.Join(dir, "audit.log")
	return []string{
		"--audit-policy-file=" + policy,
		"--audit-log-path=" + log,
		"--audit-log-maxsize=10000", // megabytes: it is never begun anew
	}, log, os.WriteFile(policy, []byte(auditPolicy), 0o644)
}

// requests counts what somebody asked the server for.
type requests struct {
	file   *os.File
	client string // how the user agent begins
}

// countRequests begins to count what the program that is measured asks for from now on.
func countRequests(t task) (*requests, error) {
	f, err := os.Open(t.Server.Audit)
	if err != nil {
		return nil, fmt.Errorf("the server's audit log: %w", err)
	}
	_, err = f.Seek(0, io.SeekEnd)
	return &requests{f, filepath.Base(t.Program) + "/"}, err
}

// end adds to the metrics how many requests there were, all of them, the lists and the
// watches.
func (r *requests) end(m metrics) error {
	defer r.file.Close()
	lines := bufio.NewReader(r.file)
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return nil // a line that is not whole was written just now
		}
		if err != nil {
			return err
		}
		var event struct{ Verb, UserAgent string }
		if err := json.Unmarshal(line, &event); err != nil {
			return fmt.Errorf("the server's audit log: %w", err)
		}
		if !strings.HasPrefix(event.UserAgent, r.client) {
			continue
		}
		m["requests"]++
		m["requests "+event.Verb]++
	}
}
