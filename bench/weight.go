package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// weight builds the smallest program with an informer of pods, from nothing, and
// looks at what came of it.
func weight(ctx context.Context, t task) (metrics, error) {
	program := map[string]string{clientGo: "./weight/clientgo", kinformTyped: "./weight/kinform"}[t.Side]
	dir, err := os.MkdirTemp("", "kinform-weight-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	deps, _, err := goCommand(ctx, nil, "list", "-deps", program)
	if err != nil {
		return nil, err
	}
	binary := filepath.Join(dir, "program")
	_, spent, err := goCommand(ctx, []string{"GOCACHE=" + filepath.Join(dir, "cache")}, "build", "-trimpath", "-ldflags=-s -w", "-o", binary, program)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(binary)
	if err != nil {
		return nil, err
	}
	return metrics{"packages": float64(bytes.Count(deps, []byte("\n"))), "binary": float64(info.Size()), "build": spent}, nil
}

// goCommand runs the go command and returns its output and the CPU seconds that
// it and its compilers took.
func goCommand(ctx context.Context, env []string, args ...string) ([]byte, float64, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, 0, fmt.Errorf("go %v: %w", args, err)
	}
	return out, (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(), nil
}
