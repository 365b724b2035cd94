package objects

import (
	"fmt"
	"iter"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// nodeName is the name of node i.
func (g *Generator) nodeName(i int) string {
	return fmt.Sprintf("ip-172-16-%d-%d.%s.compute.internal", byte(i>>8), byte(i), zones[0][:len(zones[0])-1])
}

// Nodes returns n nodes; the first Options.Nodes of them are those that pods run on.
func (g *Generator) Nodes(n int) iter.Seq[*corev1.Node] { return sequence(n, g.node) }

func (g *Generator) node(i int) *corev1.Node {
	r := g.randomFor("node", i)
	name, machine, zone := g.nodeName(i), pick(r, machines), zones[i%len(zones)]
	node := &corev1.Node{
		ObjectMeta: g.meta(r, 300_000, i, "", name, map[string]string{
			corev1.LabelHostname: name, corev1.LabelInstanceTypeStable: machine, corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64",
			corev1.LabelTopologyZone: zone, corev1.LabelTopologyRegion: zone[:len(zone)-1],
			"node.example.com/pool": pick(r, []string{"general", "compute", "memory"}),
		}),
		Spec: corev1.NodeSpec{
			PodCIDR: fmt.Sprintf("10.%d.%d.0/24", 64+byte(i>>8), byte(i)), PodCIDRs: []string{fmt.Sprintf("10.%d.%d.0/24", 64+byte(i>>8), byte(i))},
			ProviderID: "aws:///" + zone + "/i-0" + r.hex(16),
		},
	}
	node.Annotations = map[string]string{
		"node.alpha.kubernetes.io/ttl":                           "0",
		"volumes.kubernetes.io/controller-managed-attach-detach": "true",
		"csi.volume.kubernetes.io/nodeid":                        `{"ebs.csi.aws.com":"i-0` + r.hex(16) + `"}`,
		"projectcalico.org/IPv4Address":                          hostAddress(i) + "/20",
	}
	node.Status = g.nodeStatus(r, i, name, node.CreationTimestamp.Time)
	if !g.opts.NoManagedFields {
		node.ManagedFields = nodeManagers(node, g.opts.Now)
	}
	return node
}

func (g *Generator) nodeStatus(r random, i int, name string, created time.Time) corev1.NodeStatus {
	capacity := corev1.ResourceList{
		corev1.ResourceCPU: quantity("16"), corev1.ResourceMemory: quantity(fmt.Sprintf("%dKi", 64_000_000+r.between(0, 900_000))),
		corev1.ResourcePods: quantity("110"), corev1.ResourceEphemeralStorage: quantity("209702892Ki"),
		"hugepages-1Gi": quantity("0"), "hugepages-2Mi": quantity("0"),
	}
	allocatable := corev1.ResourceList{}
	for k, v := range capacity {
		allocatable[k] = v
	}
	allocatable[corev1.ResourceCPU] = quantity("15890m")
	status := corev1.NodeStatus{
		Capacity: capacity, Allocatable: allocatable,
		Addresses: []corev1.NodeAddress{
			{Type: corev1.NodeInternalIP, Address: hostAddress(i)}, {Type: corev1.NodeInternalDNS, Address: name}, {Type: corev1.NodeHostName, Address: name},
		},
		DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: 10250}},
		NodeInfo: corev1.NodeSystemInfo{
			MachineID: r.hex(32), SystemUUID: string(r.uid()), BootID: string(r.uid()), KernelVersion: "6.12.40-63.114.amzn2023.x86_64",
			OSImage: "Amazon Linux 2023.8.20260110", ContainerRuntimeVersion: "containerd://2.1.5", KubeletVersion: "v1.36.3",
			OperatingSystem: "linux", Architecture: "amd64",
		},
	}
	beat := stamp(r.before(g.opts.Now, 5*time.Minute))
	for _, c := range []struct {
		kind            corev1.NodeConditionType
		status          corev1.ConditionStatus
		reason, message string
	}{
		{corev1.NodeMemoryPressure, corev1.ConditionFalse, "KubeletHasSufficientMemory", "kubelet has sufficient memory available"},
		{corev1.NodeDiskPressure, corev1.ConditionFalse, "KubeletHasNoDiskPressure", "kubelet has no disk pressure"},
		{corev1.NodePIDPressure, corev1.ConditionFalse, "KubeletHasSufficientPID", "kubelet has sufficient PID available"},
		{corev1.NodeReady, corev1.ConditionTrue, "KubeletReady", "kubelet is posting ready status"},
	} {
		status.Conditions = append(status.Conditions, corev1.NodeCondition{
			Type: c.kind, Status: c.status, Reason: c.reason, Message: c.message, LastHeartbeatTime: beat, LastTransitionTime: stamp(created),
		})
	}
	for range r.between(10, 50) {
		image := fmt.Sprintf("%s/%s/%s-%s", pick(r, registries), pick(r, teams), pick(r, systems), pick(r, roles))
		status.Images = append(status.Images, corev1.ContainerImage{
			Names: []string{image + "@sha256:" + r.hex(64), image + ":" + versionOf(r)}, SizeBytes: int64(r.between(5_000_000, 900_000_000)),
		})
	}
	return status
}

func nodeManagers(node *corev1.Node, now time.Time) []metav1.ManagedFieldsEntry {
	created := node.CreationTimestamp.Time
	return []metav1.ManagedFieldsEntry{
		managedBy("kubelet", "v1", "", created, fieldsOf(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: node.Labels, Annotations: node.Annotations}, Spec: corev1.NodeSpec{ProviderID: node.Spec.ProviderID}})),
		managedBy("kube-controller-manager", "v1", "", created, fieldsOf(&corev1.Node{Spec: corev1.NodeSpec{PodCIDR: node.Spec.PodCIDR, PodCIDRs: node.Spec.PodCIDRs}})),
		managedBy("kubelet", "v1", "status", now, fieldsOf(&corev1.Node{Status: node.Status})),
	}
}
