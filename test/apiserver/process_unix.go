//go:build unix && !linux

package apiserver

import "syscall"

// childAttributes has no way to bind the child to its parent's life here; the
// watchdog ends the group.
func childAttributes(group int) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pgid: group}
}
