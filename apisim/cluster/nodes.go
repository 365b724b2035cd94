package cluster

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// node is a node that renews its lease, and fails now and then.
type node struct {
	name   string
	failed bool
	// failing is set by the story of a failing node.
	failing bool
	queued  bool
}

func (n *node) waiting() *bool { return &n.queued }

// do is one heartbeat of the node, or its failure or recovery.
func (n *node) do(ctx context.Context, c *Cluster) (bool, error) {
	if n.failing != n.failed {
		return n.turn(ctx, c)
	}
	if n.failed { // it comes back the next time
		n.failing = false
		return true, nil
	}
	body := encode(map[string]any{"spec": map[string]any{"renewTime": metav1.NewMicroTime(c.now())}})
	_, err := c.client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Patch(ctx, n.name, types.MergePatchType, body, metav1.PatchOptions{})
	if apierrors.IsNotFound(err) { // a node of somebody else's making
		return n.beat(ctx, c)
	}
	return false, failure("renew", "Lease", objectName{corev1.NamespaceNodeLease, n.name}, c.wrote("Lease", "patch", err))
}

func (n *node) turn(ctx context.Context, c *Cluster) (bool, error) {
	n.failed = n.failing
	more, err := n.beat(ctx, c)
	if err != nil {
		n.failed = !n.failing
		return more, err
	}
	reason := "NodeReady"
	if n.failed {
		reason = "NodeNotReady"
	}
	c.say(corev1.ObjectReference{Kind: "Node", Name: n.name, UID: types.UID(n.name)}, corev1.EventTypeNormal, reason, "node-controller",
		fmt.Sprintf("Node %s status is now: %s", n.name, reason))
	return n.failed, nil
}

// beat writes the conditions of the node.
func (n *node) beat(ctx context.Context, c *Cluster) (bool, error) {
	at := metav1.NewTime(c.now())
	condition := func(kind corev1.NodeConditionType, status corev1.ConditionStatus, reason, message string) corev1.NodeCondition {
		return corev1.NodeCondition{Type: kind, Status: status, Reason: reason, Message: message, LastHeartbeatTime: at, LastTransitionTime: at}
	}
	ready := condition(corev1.NodeReady, corev1.ConditionTrue, "KubeletReady", "kubelet is posting ready status")
	if n.failed {
		ready = condition(corev1.NodeReady, corev1.ConditionUnknown, "NodeStatusUnknown", "Kubelet stopped posting node status.")
	}
	body := encode(map[string]any{"status": map[string]any{"conditions": []corev1.NodeCondition{
		condition(corev1.NodeMemoryPressure, corev1.ConditionFalse, "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
		condition(corev1.NodeDiskPressure, corev1.ConditionFalse, "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
		condition(corev1.NodePIDPressure, corev1.ConditionFalse, "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
		ready,
	}}})
	_, err := c.client.CoreV1().Nodes().Patch(ctx, n.name, types.MergePatchType, body, metav1.PatchOptions{}, "status")
	if err := c.wrote("Node", "patch", err); err != nil {
		return retired(failure("patch the status of", "Node", objectName{"", n.name}, err))
	}
	return false, nil
}

// findNodes reads the nodes of a cluster that Populate has not made.
func (c *Cluster) findNodes(ctx context.Context) error {
	if len(c.nodes) > 0 {
		return nil
	}
	list, err := c.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list the nodes: %w", err)
	}
	for i := range list.Items {
		c.nodes = append(c.nodes, &node{name: list.Items[i].Name})
	}
	return nil
}
