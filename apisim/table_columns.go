package apisim

import (
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/duration"
)

// columns reads the columns of a table from one line: their names with a
// slash between, "+" in front of those that only the wide output shows and
// "#" in front of the type if it is not string. The column Name is the name
// of the object.
func columns(line string) []metav1.TableColumnDefinition {
	var out []metav1.TableColumnDefinition
	for _, word := range strings.Split(line, "/") {
		name, kind, typed := strings.Cut(word, "#")
		if !typed {
			kind = "string"
		}
		c := metav1.TableColumnDefinition{Name: strings.TrimPrefix(name, "+"), Type: kind}
		if c.Name != name {
			c.Priority = 1
		}
		switch c.Name {
		case "Name":
			c.Format, c.Description = "name", metaDocs["name"]
		case "Age", "Created At":
			c.Description = metaDocs["creationTimestamp"]
		}
		out = append(out, c)
	}
	return out
}

var metaDocs = metav1.ObjectMeta{}.SwaggerDoc()

// plainPrinter is for kinds that have no columns of their own.
var plainPrinter = columnsAndCells{
	columns: columns("Name/Age"),
	cells: func(obj runtime.Object) []any {
		return []any{metaOf(obj).GetName(), age(metaOf(obj))}
	},
}

// datedPrinter shows the moment of creation instead of the age.
var datedPrinter = columnsAndCells{
	columns: columns("Name/Created At#date"),
	cells: func(obj runtime.Object) []any {
		return []any{metaOf(obj).GetName(), metaOf(obj).GetCreationTimestamp().UTC().Format(time.RFC3339)}
	},
}

// printerFor is the printer of one Go type; line is the argument of columns.
func printerFor[T runtime.Object](line string, cells func(T) []any) columnsAndCells {
	return columnsAndCells{columns: columns(line), cells: func(obj runtime.Object) []any { return cells(obj.(T)) }}
}

// builtinPrinters are by the kind that objects are kept in.
var builtinPrinters = map[schema.GroupKind]columnsAndCells{
	{Kind: "Pod"}:                                             podPrinter(),
	{Kind: "Service"}:                                         printerFor("Name/Type/Cluster-IP/External-IP/Port(s)/Age/+Selector", serviceCells),
	{Kind: "Node"}:                                            printerFor("Name/Status/Roles/Age/Version/+Internal-IP/+External-IP/+OS-Image/+Kernel-Version/+Container-Runtime", nodeCells),
	{Kind: "Namespace"}:                                       printerFor("Name/Status/Age", namespaceCells),
	{Kind: "ConfigMap"}:                                       printerFor("Name/Data/Age", configMapCells),
	{Kind: "Secret"}:                                          printerFor("Name/Type/Data/Age", secretCells),
	{Kind: "Event"}:                                           printerFor("Last Seen/Type/Reason/Object/+Subobject/+Source/Message/+First Seen/+Count/+Name", eventCells),
	{Kind: "Endpoints"}:                                       printerFor("Name/Endpoints/Age", endpointsCells),
	{Kind: "PersistentVolumeClaim"}:                           printerFor("Name/Status/Volume/Capacity/Access Modes/StorageClass/VolumeAttributesClass/Age/+VolumeMode", claimCells),
	{Kind: "ReplicationController"}:                           printerFor("Name/Desired#integer/Current#integer/Ready#integer/Age/+Containers/+Images/+Selector", controllerCells),
	{Group: "apps", Kind: "Deployment"}:                       printerFor("Name/Ready/Up-to-date/Available/Age/+Containers/+Images/+Selector", deploymentCells),
	{Group: "apps", Kind: "ReplicaSet"}:                       printerFor("Name/Desired#integer/Current#integer/Ready#integer/Age/+Containers/+Images/+Selector", replicaSetCells),
	{Group: "apps", Kind: "StatefulSet"}:                      printerFor("Name/Ready/Age/+Containers/+Images", statefulSetCells),
	{Group: "apps", Kind: "DaemonSet"}:                        printerFor("Name/Desired#integer/Current#integer/Ready#integer/Up-to-date#integer/Available#integer/Node Selector/Age/+Containers/+Images/+Selector", daemonSetCells),
	{Group: "batch", Kind: "Job"}:                             printerFor("Name/Status/Completions/Duration/Age/+Containers/+Images/+Selector", jobCells),
	{Group: "batch", Kind: "CronJob"}:                         printerFor("Name/Schedule/Timezone/Suspend#boolean/Active#integer/Last Schedule/Age/+Containers/+Images/+Selector", cronJobCells),
	{Group: "rbac.authorization.k8s.io", Kind: "Role"}:        datedPrinter,
	{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"}: datedPrinter,
	{Group: "coordination.k8s.io", Kind: "Lease"}:             printerFor("Name/Holder/Age", leaseCells),
	{Group: "discovery.k8s.io", Kind: "EndpointSlice"}:        printerFor("Name/AddressType/Ports/Endpoints/Age", endpointSliceCells),
}

// age is how long ago an object was made.
func age(m metav1.Object) string { return since(m.GetCreationTimestamp().Time) }

func since(t time.Time) string {
	if t.IsZero() {
		return "<unknown>"
	}
	return duration.HumanDuration(time.Since(t))
}

func orElse(s, instead string) string {
	if s == "" {
		return instead
	}
	return s
}

const none = "<none>"
