package apisim

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"
)

func namespaceCells(n *corev1.Namespace) []any {
	return []any{n.Name, string(n.Status.Phase), age(n)}
}

func configMapCells(c *corev1.ConfigMap) []any {
	return []any{c.Name, int64(len(c.Data) + len(c.BinaryData)), age(c)}
}

func secretCells(s *corev1.Secret) []any {
	return []any{s.Name, string(s.Type), int64(len(s.Data)), age(s)}
}

func leaseCells(l *coordinationv1.Lease) []any {
	holder := ""
	if l.Spec.HolderIdentity != nil {
		holder = *l.Spec.HolderIdentity
	}
	return []any{l.Name, holder, age(l)}
}

func serviceCells(s *corev1.Service) []any {
	internal := none
	if len(s.Spec.ClusterIPs) > 0 {
		internal = s.Spec.ClusterIPs[0]
	}
	var ports []string
	for _, p := range s.Spec.Ports {
		port := strconv.Itoa(int(p.Port))
		if p.NodePort > 0 {
			port += ":" + strconv.Itoa(int(p.NodePort))
		}
		ports = append(ports, port+"/"+string(p.Protocol))
	}
	return []any{
		s.Name, string(s.Spec.Type), internal, externalAddress(s), orElse(strings.Join(ports, ","), none), age(s),
		labels.FormatLabels(s.Spec.Selector),
	}
}

// externalAddress is where a service is reached from outside.
func externalAddress(s *corev1.Service) string {
	switch s.Spec.Type {
	case corev1.ServiceTypeExternalName:
		return s.Spec.ExternalName
	case corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort:
		return orElse(strings.Join(s.Spec.ExternalIPs, ","), none)
	case corev1.ServiceTypeLoadBalancer:
		balancers := map[string]bool{}
		for _, in := range s.Status.LoadBalancer.Ingress {
			if address := cmp.Or(in.IP, in.Hostname); address != "" {
				balancers[address] = true
			}
		}
		all := append(slices.Sorted(maps.Keys(balancers)), s.Spec.ExternalIPs...)
		return orElse(strings.Join(all, ","), "<pending>")
	}
	return "<unknown>"
}

func nodeCells(n *corev1.Node) []any {
	status := "Unknown"
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			status = "NotReady"
			if c.Status == corev1.ConditionTrue {
				status = "Ready"
			}
		}
	}
	if n.Spec.Unschedulable {
		status += ",SchedulingDisabled"
	}
	info := &n.Status.NodeInfo
	kernel := orElse(info.KernelVersion, "<unknown>")
	if info.Architecture != "" {
		kernel += " (" + info.Architecture + ")"
	}
	return []any{
		n.Name, status, orElse(strings.Join(nodeRoles(n), ","), none), age(n), info.KubeletVersion,
		nodeAddress(n, corev1.NodeInternalIP), nodeAddress(n, corev1.NodeExternalIP),
		orElse(info.OSImage, "<unknown>"), kernel, orElse(info.ContainerRuntimeVersion, "<unknown>"),
	}
}

// nodeRoles are written as labels, in one of two ways.
func nodeRoles(n *corev1.Node) []string {
	roles := map[string]bool{}
	for key, value := range n.Labels {
		if role, ok := strings.CutPrefix(key, "node-role.kubernetes.io/"); ok {
			roles[role] = true
		} else if key == "kubernetes.io/role" {
			roles[value] = true
		}
	}
	delete(roles, "")
	return slices.Sorted(maps.Keys(roles))
}

func nodeAddress(n *corev1.Node, kind corev1.NodeAddressType) string {
	for _, a := range n.Status.Addresses {
		if a.Type == kind {
			return a.Address
		}
	}
	return none
}

func eventCells(e *corev1.Event) []any {
	first := cmp.Or(e.FirstTimestamp.Time, e.EventTime.Time)
	last, count := cmp.Or(e.LastTimestamp.Time, first), max(e.Count, 1)
	if e.Series != nil {
		last, count = e.Series.LastObservedTime.Time, e.Series.Count
	}
	about := strings.ToLower(e.InvolvedObject.Kind)
	if e.InvolvedObject.Name != "" {
		about += "/" + e.InvolvedObject.Name
	}
	source := cmp.Or(e.Source.Component, e.ReportingController)
	if host := cmp.Or(e.Source.Host, e.ReportingInstance); host != "" {
		source += ", " + host
	}
	return []any{
		since(last), e.Type, e.Reason, about, e.InvolvedObject.FieldPath, source, strings.TrimSpace(e.Message),
		since(first), int64(count), e.Name,
	}
}

// shown is how many addresses or ports a cell lists.
const shown = 3

// some lists the first few of all, and says how many are left out.
func some(all []string, nothing string) string {
	if len(all) <= shown {
		return orElse(strings.Join(all, ","), nothing)
	}
	return fmt.Sprintf("%s + %d more...", strings.Join(all[:shown], ","), len(all)-shown)
}

func endpointsCells(e *corev1.Endpoints) []any {
	var all []string
	for _, s := range e.Subsets {
		for _, a := range s.Addresses {
			if len(s.Ports) == 0 {
				all = append(all, a.IP)
			}
		}
		for _, p := range s.Ports {
			for _, a := range s.Addresses {
				all = append(all, net.JoinHostPort(a.IP, strconv.Itoa(int(p.Port))))
			}
		}
	}
	nothing := ""
	if len(e.Subsets) == 0 {
		nothing = none
	}
	return []any{e.Name, some(all, nothing), age(e)}
}

func endpointSliceCells(s *discoveryv1.EndpointSlice) []any {
	var ports, addresses []string
	for _, p := range s.Ports {
		switch {
		case p.Port != nil:
			ports = append(ports, strconv.Itoa(int(*p.Port)))
		case p.Name != nil:
			ports = append(ports, *p.Name)
		default:
			ports = append(ports, "*")
		}
	}
	for _, e := range s.Endpoints {
		addresses = append(addresses, e.Addresses...)
	}
	return []any{s.Name, string(s.AddressType), some(ports, "<unset>"), some(addresses, "<unset>"), age(s)}
}

// accessModes are those of volumes, with what tables call them, in order.
var accessModes = []struct {
	mode corev1.PersistentVolumeAccessMode
	name string
}{
	{corev1.ReadWriteOnce, "RWO"}, {corev1.ReadOnlyMany, "ROX"}, {corev1.ReadWriteMany, "RWX"}, {corev1.ReadWriteOncePod, "RWOP"},
}

func claimCells(c *corev1.PersistentVolumeClaim) []any {
	status, capacity, modes := string(c.Status.Phase), "", []string{}
	if c.DeletionTimestamp != nil {
		status = "Terminating"
	}
	if c.Spec.VolumeName != "" {
		capacity = c.Status.Capacity.Storage().String()
		for _, m := range accessModes {
			if slices.Contains(c.Status.AccessModes, m.mode) {
				modes = append(modes, m.name)
			}
		}
	}
	class := c.Annotations[corev1.BetaStorageClassAnnotation]
	if class == "" && c.Spec.StorageClassName != nil {
		class = *c.Spec.StorageClassName
	}
	attributes, volumeMode := "<unset>", "<unset>"
	if c.Spec.VolumeAttributesClassName != nil {
		attributes = *c.Spec.VolumeAttributesClassName
	}
	if c.Spec.VolumeMode != nil {
		volumeMode = string(*c.Spec.VolumeMode)
	}
	return []any{c.Name, status, c.Spec.VolumeName, capacity, strings.Join(modes, ","), class, attributes, age(c), volumeMode}
}
