package cache

import (
	"fmt"
	"path"
	"runtime"
	"slices"
	"strings"
)

// insiders are packages, with those below them, that make informers on behalf of others:
// nobody would know an informer by a line of theirs.
var insiders = []string{
	"github.com/kinform/kinform/cache",
	"github.com/kinform/kinform/informers",
	"github.com/kinform/kinform/dynamicinformer",
	"github.com/kinform/kinform/metadatainformer",
	"github.com/kinform/kinform/ctrlcache",
	"github.com/kinform/kinform/internal",
	"k8s.io/client-go",
	"runtime",
}

// callSite names the nearest caller outside of kinform's drop-ins and client-go, as
// package/file:line. A goroutine that began inside has none.
func callSite() string {
	var callers [64]uintptr
	frames := runtime.CallersFrames(callers[:runtime.Callers(2, callers[:])])
	for {
		frame, more := frames.Next()
		if of := packageOf(frame.Function); of != "" && !isInsider(of) {
			return fmt.Sprintf("%s/%s:%d", of, path.Base(frame.File), frame.Line)
		}
		if !more {
			return "????"
		}
	}
}

func isInsider(of string) bool {
	return slices.ContainsFunc(insiders, func(p string) bool { return of == p || strings.HasPrefix(of, p+"/") })
}

// packageOf is a function's name up to the first dot after the last slash.
func packageOf(function string) string {
	slash := strings.LastIndex(function, "/") + 1
	dot := strings.Index(function[slash:], ".")
	return function[:slash+max(dot, 0)]
}
