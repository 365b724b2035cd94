package apiserver

import "syscall"

// childAttributes makes the kernel kill the child when its parent dies.
func childAttributes(group int) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pgid: group, Pdeathsig: syscall.SIGKILL}
}
