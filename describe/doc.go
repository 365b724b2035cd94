// Package describe renders an informer: its whole running configuration and how
// it is doing, as one value that people read ([Description.String]) and programs
// (as JSON, whose names are stable).
//
// Package kinform and the drop-ins fill the same [Description]; so do kinform dump
// and programs that show informers on a page. It contains no object data: no values,
// no fields, no text of errors that quote them. The packages that make informers
// know what they are made of; this one does not.
package describe
