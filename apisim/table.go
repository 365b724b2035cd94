package apisim

import (
	"encoding/json"
	"net/http"

	metainternalscheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
)

// tablesServed turns on the negotiation of Table.
const tablesServed = true

// tableForm is how a client wants its tables. Like format, it is comparable.
type tableForm struct {
	// include says what of each object goes with its row.
	include metav1.IncludeObjectPolicy
	// bare leaves out the column definitions, as all events of a watch but
	// the first do.
	bare bool
}

// tableFormOf reads the options of a request for tables.
func tableFormOf(h *http.Request) (tableForm, error) {
	var o metav1.TableOptions
	if err := metainternalscheme.ParameterCodec.DecodeParameters(h.URL.Query(), metav1.SchemeGroupVersion, &o); err != nil {
		return tableForm{}, badRequest("%v", err)
	}
	switch errs := metav1validation.ValidateTableOptions(&o); len(errs) {
	case 0:
		return tableForm{include: o.IncludeObject}, nil
	case 1:
		return tableForm{}, badRequest("Unable to convert to Table as requested: %v", errs[0])
	default:
		return tableForm{}, badRequest("Unable to convert to Table as requested: %v", errs)
	}
}

// columnsAndCells is how the objects of a resource are shown.
type columnsAndCells struct {
	columns []metav1.TableColumnDefinition
	cells   func(obj runtime.Object) []any
	// conditions, if not nil, marks rows, such as those of pods that are done.
	conditions func(obj runtime.Object) []metav1.TableRowCondition
}

// printer chooses how the objects of a resource are shown.
func (r *resource) printer() columnsAndCells {
	if r.custom != nil {
		return customPrinter(r)
	}
	if p, ok := builtinPrinters[r.store.codec.kind().GroupKind()]; ok {
		return p
	}
	return plainPrinter
}

// tableItem is the Table of one object, with the version of the object.
func (r *resource) tableItem(f format, o *object) ([]byte, error) {
	return r.table(f, []*object{o}, metav1.ListMeta{})
}

// table shows objects as a Table, in JSON.
func (r *resource) table(f format, objects []*object, list metav1.ListMeta) ([]byte, error) {
	p := r.printer()
	t := metav1.Table{ListMeta: list, Rows: make([]metav1.TableRow, 0, len(objects))}
	t.SetGroupVersionKind(f.version.WithKind("Table"))
	if !f.table.bare {
		t.ColumnDefinitions = p.columns
	}
	for _, o := range objects {
		obj, err := r.store.codec.decode(o.data())
		if err != nil {
			return nil, err
		}
		if t.ResourceVersion == "" {
			t.ResourceVersion = metaOf(obj).GetResourceVersion()
		}
		row := metav1.TableRow{Cells: p.cells(obj)}
		if p.conditions != nil {
			row.Conditions = p.conditions(obj)
		}
		if row.Object.Raw, err = r.rowObject(f, o); err != nil {
			return nil, err
		}
		t.Rows = append(t.Rows, row)
	}
	return json.Marshal(&t)
}

// rowObject is what goes with a row: the metadata, unless the client said
// otherwise.
func (r *resource) rowObject(f format, o *object) ([]byte, error) {
	switch f.table.include {
	case metav1.IncludeNone:
		return nil, nil
	case metav1.IncludeObject:
		apiVersion, kind := r.gvk.ToAPIVersionAndKind()
		item, err := r.item(format{media: mediaJSON, version: r.gvk.GroupVersion()}, o)
		if err != nil {
			return nil, err
		}
		return appendTyped(nil, apiVersion, kind, item), nil
	default:
		return r.metadataItem(format{media: mediaJSON, shape: asMetadata, version: f.version}, o)
	}
}
