package cache

import (
	"fmt"
	"path"
	"runtime"
	"strings"
)

// thisPackage is how the names of functions here, and in the packages below,
// begin.
const thisPackage = "github.com/kinform/kinform/cache"

// callSite names the nearest caller outside this package, as package/file:line. A
// goroutine that began in this package has none.
func callSite() string {
	var callers [32]uintptr
	frames := runtime.CallersFrames(callers[:runtime.Callers(2, callers[:])])
	for {
		frame, more := frames.Next()
		if !strings.HasPrefix(frame.Function, thisPackage) && !strings.HasPrefix(frame.Function, "runtime.") && frame.Function != "" {
			return fmt.Sprintf("%s/%s:%d", packageOf(frame.Function), path.Base(frame.File), frame.Line)
		}
		if !more {
			return "????"
		}
	}
}

// packageOf is a function's name up to the first dot after the last slash.
func packageOf(function string) string {
	slash := strings.LastIndex(function, "/") + 1
	dot := strings.Index(function[slash:], ".")
	return function[:slash+max(dot, 0)]
}
