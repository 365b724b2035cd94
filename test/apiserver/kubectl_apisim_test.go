package apiserver_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/kinform/kinform/apisim"
	"github.com/kinform/kinform/test/apiserver"
)

// The stories below are told to kubectl twice, once with the real server and
// once with apisim, and kubectl must say the same both times. A line that begins
// with "$ " is a command; what follows up to the next one is its input.

const workloadStory = `
$ create namespace work
$ create deployment web --image=nginx --replicas=2 -n work
$ get deployments -n work
$ get deployments -n work -o wide --show-labels
$ get deployment web -n work -o yaml
$ scale deployment web --replicas=3 -n work
$ scale deployment nope --replicas=3 -n work
$ set image deployment/web nginx=nginx:2 -n work
$ set env deployment/web A=B -n work
$ rollout restart deployment/nope -n work
$ get deploy -n work -o jsonpath={.items[0].spec.template.spec.containers[0]}
$ describe deployment web -n work
$ run box --image=busybox:1 -n work --restart=Never
$ get pods -n work
$ get pod box -n work -o name
$ label pod box -n work tier=x
$ annotate pod box -n work note=y
$ get pods -n work -l tier=x -o wide
$ get pods -n work -l tier!=x
$ get pods -A --field-selector=metadata.name=box
$ patch pod box -n work --subresource=status --type=merge -p {"status":{"phase":"Running","podIPs":[{"ip":"10.0.0.7"}],"podIP":"10.0.0.7","conditions":[{"type":"Ready","status":"True"}],"containerStatuses":[{"name":"box","image":"busybox","imageID":"","ready":true,"restartCount":2,"state":{"running":{}}}]}}
$ get pods -n work -o wide
$ wait --for=condition=Ready pod/box -n work --timeout=20s
$ wait --for=jsonpath={.status.phase}=Running pod/box -n work --timeout=20s
$ wait --for=condition=Ready pod/nope -n work --timeout=1s
$ delete pod box -n work --wait=true
$ get pods -n work
$ create job once --image=busybox -n work
$ get jobs -n work
$ create cronjob often --image=busybox --schedule=*/5_*_*_*_* -n work
$ get cronjobs -n work -o wide
$ create serviceaccount robot -n work
$ get serviceaccounts -n work
$ create role reader --verb=get --resource=pods -n work
$ get roles -n work
$ create secret generic keys --from-literal=a=b -n work
$ get secrets -n work
$ get namespace work
$ delete deployment web -n work
$ delete deployment web -n work
$ delete deployment web -n work --ignore-not-found
`

const applyStory = `
$ create namespace apply
$ apply -n apply -f -
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {a: "1"}
$ apply -n apply -f -
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {a: "1"}
$ apply -n apply -f -
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {b: "2"}
$ get configmap settings -n apply -o yaml
$ get configmaps -n apply
$ describe configmap settings -n apply
$ apply -n apply -f -
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "web:1"}, {name: side, image: "side:1"}]}
$ apply -n apply -f -
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "web:2"}]}
$ get deployment web -n apply -o wide
$ patch deployment web -n apply -p {"spec":{"template":{"spec":{"containers":[{"name":"extra","image":"e"}]}}}}
$ get deployment web -n apply -o wide
$ patch deployment web -n apply -p {"spec":{"template":{"spec":{"$setElementOrder/containers":[{"name":"extra"},{"name":"web"}],"containers":[{"name":"web","env":[{"name":"X","value":"1"}]}]}}}}
$ patch deployment web -n apply -p {"spec":{"template":{"spec":{"containers":[{"name":"extra","$patch":"delete"}]}}}}
$ get deployment web -n apply -o yaml
$ patch configmap settings -n apply --type=json -p [{"op":"add","path":"/data/c","value":"3"}]
$ patch configmap settings -n apply --type=merge -p {"data":{"b":null}}
$ replace -n apply -f -
{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"settings"},"data":{"r":"1"}}
$ get configmap settings -n apply -o jsonpath={.data}
$ create configmap dry -n apply --dry-run=server
$ get configmaps -n apply -o custom-columns=NAME:.metadata.name
$ delete configmaps --all -n apply
$ get configmaps -n apply
`

const customStory = `
$ create namespace custom
$ apply -f -
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: databases.kubectl.example.com}
spec:
  group: kubectl.example.com
  scope: Namespaced
  names: {plural: databases, singular: database, kind: Database, shortNames: [dbs]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}, scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}}
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
    additionalPrinterColumns:
    - {name: Engine, type: string, jsonPath: .spec.engine}
    - {name: Replicas, type: integer, jsonPath: .spec.replicas}
    - {name: Ratio, type: number, jsonPath: .spec.ratio}
    - {name: Encrypted, type: boolean, jsonPath: .spec.encrypted}
    - {name: Since, type: date, jsonPath: .spec.since}
    - {name: Detail, type: string, jsonPath: .spec.detail, priority: 1}
    - {name: Age, type: date, jsonPath: .metadata.creationTimestamp}
$ wait --for=condition=Established crd/databases.kubectl.example.com --timeout=30s
$ get crd databases.kubectl.example.com -o name
$ apply -n custom -f -
apiVersion: kubectl.example.com/v1
kind: Database
metadata: {name: orders}
spec: {engine: postgres, replicas: 3, ratio: 0.5, encrypted: true, since: "2020-01-01T00:00:00Z", detail: {a: 1, b: [x, z]}}
$ apply -n custom -f -
apiVersion: kubectl.example.com/v1
kind: Database
metadata: {name: odd}
spec: {engine: 7, ratio: most, encrypted: 1, since: yesterday}
$ get databases -n custom
$ get dbs -n custom -o wide
$ get database orders -n custom -o yaml
$ apply -n custom -f -
apiVersion: kubectl.example.com/v1
kind: Database
metadata: {name: orders}
spec: {engine: mysql, replicas: 4}
$ scale database orders --replicas=6 -n custom
$ patch database orders -n custom --type=merge -p {"spec":{"engine":"oracle"}}
$ get databases.kubectl.example.com orders -n custom
$ delete database --all -n custom
$ get databases -n custom
$ delete crd databases.kubectl.example.com
$ get databases.kubectl.example.com -n custom
`

const mistakeStory = `
$ create namespace wrong
$ get pod nope -n wrong
$ get nonsense
$ get pods -n wrong -l a=b=c
$ get pods -n wrong --field-selector=spec.nope=1
$ create -n wrong -f -
this is: [no yaml
$ create -n wrong -f -
{"kind":"ConfigMap","metadata":{"name":"x"}}
$ create -n nowhere -f -
{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"}}
$ create -n wrong -f -
{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","namespace":"other"}}
$ create -n wrong -f -
{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":{"a":1}}
$ create -n wrong -f -
{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"Bad_Name"}}
$ create -n wrong -f -
{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"date":{"a":"1"}}
$ create -n wrong -f -
{"apiVersion":"nowhere.example.com/v1","kind":"Nonsense","metadata":{"name":"x"}}
$ create -n wrong -f -
{"apiVersion":"v1","kind":"Nonsense","metadata":{"name":"x"}}
$ create -n wrong -f -
{"apiVersion":"apps/v2","kind":"Deployment","metadata":{"name":"x"}}
$ apply -n wrong -f -
{"apiVersion":"nowhere.example.com/v1","kind":"Nonsense","metadata":{"name":"x"}}
$ apply -n wrong -f -
{"apiVersion":"v1","kind":"Nonsense","metadata":{"name":"x"}}
$ create --validate=false -n wrong -f -
{"apiVersion":"v1","kind":"Nonsense","metadata":{"name":"x"}}
$ explain nonsense
$ create -f -
{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"things.wrong.example.com"},"spec":{"group":1,"scope":"Namespaced"}}
$ create -f -
{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"things.wrong.example.com"},"spec":"nothing"}
$ create -f -
{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"things.wrong.example.com"},"spec":{"group":"wrong.example.com","scope":"Namespaced","names":{"plural":"things","kind":"Thing"},"versions":"v1"}}
$ create -f -
{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"things.wrong.example.com"},"spec":{"group":"wrong.example.com","scope":"Namespaced","names":{"plural":"things","kind":"Thing","shortNames":"t"},"versions":[{"name":"v1","served":"yes","storage":true}]}}
$ create -f -
{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"things.wrong.example.com"},"spec":{"group":"wrong.example.com","scope":"Everywhere","names":{"plural":"things","kind":"Thing"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}
$ create -f -
{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"other.wrong.example.com"},"spec":{"group":"wrong.example.com","scope":"Namespaced","names":{"plural":"things","kind":"Thing"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}
$ create -f -
{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"things.wrong.example.com"},"spec":{"group":"wrong.example.com","scope":"Namespaced","names":{"plural":"things","kind":"Thing"},"versions":[{"name":"v1","served":true,"storage":true}]}}
$ create -f -
{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"things.wrong.example.com"},"spec":{"group":"wrong.example.com","scope":"Namespaced","names":{"plural":"things","kind":"Thing"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":1}}}]}}
$ create -f -
{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"things.wrong.example.com"},"spec":{}}
$ create configmap c -n wrong --from-literal=a=b
$ create configmap c -n wrong --from-literal=a=b
$ patch configmap nope -n wrong -p {}
$ patch configmap c -n wrong -p [1]
$ patch configmap c -n wrong -p {broken
$ patch configmap c -n wrong --type=json -p [{"op":"replace","path":"/data/nope","value":"z"}]
$ create deployment d --image=a -n wrong
$ patch deployment d -n wrong -p {"spec":{"replicas":"three"}}
$ patch deployment d -n wrong -p {"spec":{"template":{"spec":{"containers":[{"image":"noname"}]}}}}
$ replace -n wrong -f -
{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"nope"}}
$ delete configmap nope -n wrong
$ get --raw /api/v1/namespaces/wrong/configmaps/c/nope
$ auth can-i create deployments -n wrong
$ version
`

func TestKubectlSaysTheSameOfApisim(t *testing.T) {
	real, sim := apiserver.Shared(t), startApisim(t)
	for name, story := range map[string]string{
		"workloads": workloadStory, "apply": applyStory, "custom resource": customStory, "mistakes": mistakeStory,
	} {
		t.Run(name, func(t *testing.T) {
			ctx := inTime(t)
			tellers := []*teller{newTeller(t, real.Config()), newTeller(t, sim.Config())}
			for _, block := range strings.Split(strings.TrimSpace(story), "\n$ ") {
				command, input, _ := strings.Cut(strings.TrimPrefix(block, "$ "), "\n")
				said := tell(ctx, tellers, command, input)
				if diff := cmp.Diff(said[0], said[1]); diff != "" {
					t.Errorf("kubectl %s (-real +apisim):\n%s", command, diff)
				}
			}
		})
	}
}

// tell runs one command on all servers at the same time.
func tell(ctx context.Context, tellers []*teller, command, input string) []string {
	said := make([]string, len(tellers))
	var wg sync.WaitGroup
	for i, teller := range tellers {
		wg.Go(func() { said[i] = teller.run(ctx, command, input) })
	}
	wg.Wait()
	return said
}

// teller is kubectl for one server, with one cache for all its commands.
type teller struct {
	t      *testing.T
	dir    string
	config *rest.Config
}

func newTeller(t *testing.T, config *rest.Config) *teller { return &teller{t, t.TempDir(), config} }

// command splits at blanks; an underscore stands for a blank inside an
// argument of the option --schedule.
func (k *teller) command(ctx context.Context, line string) *exec.Cmd {
	args := strings.Fields(line)
	for i, arg := range args {
		if strings.HasPrefix(arg, "--schedule=") {
			args[i] = strings.ReplaceAll(arg, "_", " ")
		}
	}
	cmd, err := apiserver.KubectlCommand(ctx, k.dir, k.config, args...)
	if err != nil {
		k.t.Error(err)
		return exec.CommandContext(ctx, "false")
	}
	return cmd
}

// run returns what kubectl says, with all that may differ from server to server
// and from moment to moment replaced.
func (k *teller) run(ctx context.Context, line, input string) string {
	cmd := k.command(ctx, line)
	var out, complaints bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), &out, &complaints
	said := "well"
	if err := cmd.Run(); err != nil {
		said = err.Error()
	}
	return fmt.Sprintf("%s--- complains\n%s--- ends %s", masked(out.String()), masked(complaints.String()), said)
}

// masks are applied in order.
var masks = []struct {
	pattern *regexp.Regexp
	text    string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "UID"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`), "TIME"},
	{regexp.MustCompile(`(resourceVersion: |Resource Version: )"?\d+"?`), "VERSION"},
	{regexp.MustCompile(`\b(\d+[smhdy])+\b`), "AGE"},
	{regexp.MustCompile(` +`), " "},
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "ADDRESS"},
}

func masked(s string) string {
	for _, m := range masks {
		s = m.pattern.ReplaceAllString(s, m.text)
	}
	return s
}

func startApisim(t *testing.T) *apisim.Server {
	t.Helper()
	s, err := apisim.Start(apisim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func inTime(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func TestKubectlWatchesTheSameOfApisim(t *testing.T) {
	real, sim := apiserver.Shared(t), startApisim(t)
	ctx := inTime(t)
	var seen [2][]string
	for i, config := range []*rest.Config{real.Config(), sim.Config()} {
		k := newTeller(t, config)
		k.run(ctx, "create namespace watched", "")
		k.run(ctx, "run first --image=i -n watched --restart=Never", "")
		next, stop := k.watch(ctx, "get pods -n watched -w -o wide")
		read := func(n int) {
			for range n {
				seen[i] = append(seen[i], masked(next()))
			}
		}
		read(2) // the head and the first pod
		k.run(ctx, "run second --image=i -n watched --restart=Never", "")
		read(1)
		k.run(ctx, `patch pod second -n watched --subresource=status --type=merge -p {"status":{"phase":"Running"}}`, "")
		read(1)
		k.run(ctx, "label pod second -n watched a=b", "")
		read(1)
		k.run(ctx, "delete pod first -n watched", "")
		read(1)
		stop()
	}
	if diff := cmp.Diff(seen[0], seen[1]); diff != "" {
		t.Errorf("kubectl get -w (-real +apisim):\n%s", diff)
	}
	if len(seen[1]) != 6 || !strings.HasPrefix(seen[1][0], "NAME READY STATUS RESTARTS AGE IP NODE") {
		t.Errorf("kubectl get -w printed %q", seen[1])
	}
}

// watch starts a command that goes on, and gives its lines.
func (k *teller) watch(ctx context.Context, line string) (next func() string, stop func()) {
	k.t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	cmd := k.command(ctx, line)
	out, err := cmd.StdoutPipe()
	if err != nil {
		k.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		k.t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	next = func() string {
		text, err := lines.ReadString('\n')
		if err != nil {
			k.t.Errorf("kubectl %s ended: %v", line, err)
		}
		return text
	}
	stop = sync.OnceFunc(func() {
		cancel()
		_ = cmd.Wait() // it was interrupted
	})
	k.t.Cleanup(stop)
	return next, stop
}

func TestKubectlFindsTheResourcesOfApisim(t *testing.T) {
	real, sim := apiserver.Shared(t), startApisim(t)
	ctx := inTime(t)
	said := tell(ctx, []*teller{newTeller(t, real.Config()), newTeller(t, sim.Config())}, "api-resources -o wide", "")
	have := strings.Split(said[1], "\n")
	for _, line := range strings.Split(said[0], "\n") {
		// What apisim does not have: aggregation, and the creation of bindings.
		if strings.HasPrefix(line, "apiservices ") || strings.HasPrefix(line, "bindings ") {
			continue
		}
		if !slices.Contains(have, line) {
			t.Errorf("apisim has no resource %q", line)
		}
	}
}

// What apisim does not do, kubectl says in a sentence.
func TestKubectlSaysWhatApisimDoesNotDo(t *testing.T) {
	k := newTeller(t, startApisim(t).Config())
	ctx := inTime(t)
	for _, c := range []struct{ command, input, want string }{
		{"explain pods", "", "error: GVK map[group: kind:Pod version:v1] not found in OpenAPI schema\n"},
		{"explain deployments.spec --recursive", "", "error: GVK map[group:apps kind:Deployment version:v1] not found in OpenAPI schema\n"},
		{"explain pods --output=plaintext-openapiv2", "", "error: couldn't find resource for \"/v1, Kind=Pod\"\n"},
		{"apply --server-side -f -", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"}}`,
			"error: Server-side apply not available on the server: (this server does not do server-side apply"},
	} {
		if said := k.run(ctx, c.command, c.input); !strings.Contains(said, "--- complains\n"+c.want) || !strings.HasSuffix(said, "--- ends exit status 1") {
			t.Errorf("kubectl %s says\n%s\nwant\n%s", c.command, said, c.want)
		}
	}
}
