// Package browser tests the page of package debug in a real browser.
//
// It is a module of its own: what drives the browser is nobody else's dependency.
// browser.sh finds the browser, or installs it.
package browser
