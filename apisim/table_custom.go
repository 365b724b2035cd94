package apisim

import (
	"encoding/json"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/jsonpath"
)

// ageColumn is what custom resources show when their definition says nothing.
var ageColumn = []printerColumn{{
	Name: "Age", Type: "date", JSONPath: ".metadata.creationTimestamp", Description: metaDocs["creationTimestamp"],
}}

// customPrinter shows the columns of a definition.
func customPrinter(r *resource) columnsAndCells {
	if r.gvr == crdGVR {
		return datedPrinter
	}
	wanted := r.custom.columns
	if len(wanted) == 0 {
		wanted = ageColumn
	}
	p := columnsAndCells{columns: columns("Name")}
	var paths []*jsonpath.JSONPath
	for _, c := range wanted {
		path := jsonpath.New(c.Name).AllowMissingKeys(true)
		if path.Parse("{"+c.JSONPath+"}") != nil {
			path = nil // the cell stays empty
		}
		paths = append(paths, path)
		p.columns = append(p.columns, metav1.TableColumnDefinition{
			Name: c.Name, Type: c.Type, Format: c.Format, Priority: c.Priority,
			Description: orElse(c.Description, "Custom resource definition column (in JSONPath format): "+c.JSONPath),
		})
	}
	p.cells = func(obj runtime.Object) []any {
		cells := []any{metaOf(obj).GetName()}
		for i, path := range paths {
			cells = append(cells, customCell(path, wanted[i].Type, obj.(*unstructured.Unstructured).Object))
		}
		return cells
	}
	return p
}

// customCell is the first value that a path leads to, or nil if there is none
// or it is not of the column's type.
func customCell(path *jsonpath.JSONPath, kind string, content map[string]any) any {
	if path == nil {
		return nil
	}
	found, err := path.FindResults(content)
	if err != nil || len(found) == 0 || len(found[0]) == 0 {
		return nil
	}
	if kind == "string" {
		var text strings.Builder
		if path.PrintResults(&text, found[0][:1]) != nil {
			return nil
		}
		return text.String()
	}
	return typedCell(kind, found[0][0].Interface())
}

func typedCell(kind string, value any) any {
	switch kind {
	case "integer":
		switch v := value.(type) {
		case int64:
			return v
		case float64:
			return int64(v)
		case json.Number:
			if n, err := v.Int64(); err == nil {
				return n
			}
		}
	case "number":
		switch v := value.(type) {
		case int64:
			return float64(v)
		case float64:
			return v
		case json.Number:
			if n, err := v.Float64(); err == nil {
				return n
			}
		}
	case "boolean":
		if b, ok := value.(bool); ok {
			return b
		}
	case "date":
		if s, ok := value.(string); ok {
			var t metav1.Time
			if t.UnmarshalQueryParameter(s) != nil {
				return "<invalid>"
			}
			return since(t.Time)
		}
	}
	return nil
}
