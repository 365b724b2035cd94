package apiserver_test

import (
	"context"
	"strings"
	"testing"

	"github.com/kinform/kinform/apisim/cluster"
)

// TestKubectlOnALivingCluster does with kubectl what a user does, on the
// simulated cluster, whose controllers have to follow.
func TestKubectlOnALivingCluster(t *testing.T) {
	if testing.Short() {
		t.Skip("needs kubectl: left out by -short")
	}
	sim, ctx := startApisim(t), inTime(t)
	c, err := cluster.New(sim.Config(), cluster.Options{Objects: 100, Rate: 300, Seed: 5, Load: sim.Load})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Populate(ctx); err != nil {
		t.Fatal(err)
	}
	living, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		_, err := c.Run(living)
		ended <- err
	}()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	k := newTeller(t, sim.Config())
	for _, step := range []struct{ command, want string }{
		{"create deployment mine --image=a:1 --replicas=3", "deployment.apps/mine created"},
		{"rollout status deployment/mine --timeout=60s", `deployment "mine" successfully rolled out`},
		{"wait --for=condition=Available deployment/mine --timeout=60s", "deployment.apps/mine condition met"},
		{"get deployment mine", "mine 3/3 3 3"},
		{"set image deployment/mine a=a:2", "image updated"},
		{"rollout status deployment/mine --timeout=60s", "successfully rolled out"},
		{"get pods -l app=mine -o jsonpath={.items[*].spec.containers[0].image}", "a:2 a:2 a:2---"},
		{"rollout undo deployment/mine", "rolled back"},
		{"rollout status deployment/mine --timeout=60s", "successfully rolled out"},
		{"get pods -l app=mine -o jsonpath={.items[*].spec.containers[0].image}", "a:1 a:1 a:1---"},
		{"scale deployment mine --replicas=5", "scaled"},
		{"wait --for=jsonpath={.status.readyReplicas}=5 deployment/mine --timeout=60s", "condition met"},
		{"delete pods -l app=mine", "deleted"},
		{"wait --for=jsonpath={.status.readyReplicas}=5 deployment/mine --timeout=60s", "condition met"},
		{"run box --image=busybox", "pod/box created"},
		{"wait --for=condition=Ready pod/box --timeout=60s", "pod/box condition met"},
		{"get events --field-selector=involvedObject.name=box", "Scheduled pod/box Successfully assigned default/box"},
		{"describe pod box", "Started container box"},
		{"delete deployment mine", "deleted"},
		{"wait --for=delete pods -l app=mine --timeout=60s", "ends well"},
		{"get pods,replicasets -l app=mine", "No resources found"},
		{"get nodes", "Ready"},
	} {
		if said := k.run(ctx, step.command, ""); !strings.Contains(said, step.want) || !strings.HasSuffix(said, "ends well") {
			t.Fatalf("kubectl %s says\n%s\nwant %q", step.command, said, step.want)
		}
	}
}
