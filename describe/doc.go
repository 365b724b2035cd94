// Package describe renders an informer: its whole running configuration and how
// it is doing, as one value that people read ([Description.String]) and programs
// (as JSON, whose names are stable).
//
// Package kinform and the drop-ins fill the same [Description]; so do kinform dump
// and whoever shows informers on a page. Nothing of the objects is in it: no keys'
// values, no fields, no words of errors that quote them. What informers are made
// of lives in the packages that make them.
package describe
