package conformance

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

const asTable = asJSON + ";as=Table;g=meta.k8s.io;v=v1"

var tableCases = []Case{
	{Name: "tables/a list has columns, and a row with metadata for each object", run: tableList},
	{Name: "tables/a get has one row", run: tableGet},
	{Name: "tables/rows carry as much of the object as is asked for", run: tableInclude},
	{Name: "tables/only the first event of a watch names the columns", run: tableWatch},
	{Name: "tables/pages go on like those of objects", run: tablePages},
	{Name: "tables/protobuf tables are not acceptable", run: tableProtobuf},
}

// table decodes an answer that must be a table.
func (e *env) table(a *answer) *metav1.Table {
	e.Helper()
	e.want(a, 200)
	return e.asTable(a.body)
}

func (e *env) asTable(data []byte) *metav1.Table {
	e.Helper()
	table := &metav1.Table{}
	must(e, json.Unmarshal(data, table), "decoding a table")
	if table.Kind != "Table" || table.APIVersion != metaVersion {
		e.Fatalf("a %s of %s, want a Table of %s", table.Kind, table.APIVersion, metaVersion)
	}
	return table
}

// wantRow checks that a row is of the object with the given name, shown as kind.
func (e *env) wantRow(row metav1.TableRow, columns []metav1.TableColumnDefinition, name, kind string) {
	e.Helper()
	if len(columns) != 0 && len(row.Cells) != len(columns) {
		e.Errorf("%d cells in %d columns", len(row.Cells), len(columns))
	}
	if len(row.Cells) == 0 || row.Cells[0] != name {
		e.Errorf("cells %v, want %s first", row.Cells, name)
	}
	if object := e.decode(row.Object.Raw); object.GetKind() != kind || object.GetName() != name {
		e.Errorf("the row's object is %s %q, want %s %q", object.GetKind(), object.GetName(), kind, name)
	}
}

func tableList(e *env) {
	e.createAll("a", "b")
	table := e.table(e.getAs(asTable, e.configMaps(), nil))
	e.version(table)
	if len(table.Rows) != 2 || len(table.ColumnDefinitions) == 0 || table.ColumnDefinitions[0].Name != "Name" {
		e.Fatalf("%d rows, columns %v, want 2 rows, and a name in front", len(table.Rows), table.ColumnDefinitions)
	}
	e.wantRow(table.Rows[0], table.ColumnDefinitions, "a", "PartialObjectMetadata")
	e.wantRow(table.Rows[1], table.ColumnDefinitions, "b", "PartialObjectMetadata")
}

func tableGet(e *env) {
	e.create("a", nil)
	table := e.table(e.getAs(asTable, e.configMap("a"), nil))
	if len(table.Rows) != 1 {
		e.Fatalf("%d rows, want 1", len(table.Rows))
	}
	e.wantRow(table.Rows[0], table.ColumnDefinitions, "a", "PartialObjectMetadata")
}

func tableInclude(e *env) {
	e.create("a", nil)
	for include, kind := range map[string]string{"Metadata": "PartialObjectMetadata", "Object": "ConfigMap"} {
		table := e.table(e.getAs(asTable, e.configMaps(), params{"includeObject": include}))
		e.wantRow(table.Rows[0], table.ColumnDefinitions, "a", kind)
	}
	bare := e.table(e.getAs(asTable, e.configMaps(), params{"includeObject": "None"}))
	if raw := bare.Rows[0].Object.Raw; len(raw) != 0 && string(raw) != "null" {
		e.Errorf("a row without its object holds %s", raw)
	}
	e.want(e.getAs(asTable, e.configMaps(), params{"includeObject": "Half"}), 400)
}

func tableWatch(e *env) {
	first := e.create("a", nil)
	w := e.watchAs(asTable, e.configMaps(), params{"resourceVersion": first.ResourceVersion})
	e.set("a", "k", "1")
	e.create("b", nil)
	for i, want := range []struct {
		kind watch.EventType
		name string
	}{{watch.Modified, "a"}, {watch.Added, "b"}} {
		ev := w.next()
		table := e.asTable([]byte(e.text(ev.object.Object)))
		if ev.kind != want.kind || len(table.Rows) != 1 {
			e.Fatalf("event %d is %s", i, ev.frame)
		}
		if named := len(table.ColumnDefinitions) > 0; named != (i == 0) {
			e.Errorf("event %d names its columns: %v", i, named)
		}
		e.wantRow(table.Rows[0], table.ColumnDefinitions, want.name, "PartialObjectMetadata")
	}
}

func tablePages(e *env) {
	e.createAll("a", "b", "c")
	page := e.table(e.getAs(asTable, e.configMaps(), params{"limit": "2"}))
	if len(page.Rows) != 2 || page.Continue == "" || page.RemainingItemCount == nil || *page.RemainingItemCount != 1 {
		e.Fatalf("a page of %d rows has metadata %+v", len(page.Rows), page.ListMeta)
	}
	rest := e.table(e.getAs(asTable, e.configMaps(), params{"continue": page.Continue}))
	if len(rest.Rows) != 1 || rest.ResourceVersion != page.ResourceVersion {
		e.Errorf("the rest is %d rows of version %s, want 1 of %s", len(rest.Rows), rest.ResourceVersion, page.ResourceVersion)
	}
}

func tableProtobuf(e *env) {
	e.want(e.getAs(asProtobuf+";as=Table;g=meta.k8s.io;v=v1", e.configMaps(), nil), 406)
}
