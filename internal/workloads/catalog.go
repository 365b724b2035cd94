package workloads

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// All returns every workload, in the order of the tables.
func All() []Workload { return slices.Concat(contents(), uses()) }

// contents are workloads of objects that differ in size, in how alike they are, and in
// how they change. A handler reads them.
func contents() []Workload {
	return []Workload{
		{
			Name: "events", Title: "Events, all different, short-lived", Resources: of(events), Objects: 2000, ObjectSize: 1500,
			Text: "200 a second are made, each is deleted when 2,000 younger ones are there. One handler reads.",
			Use:  Use{Read: true}, Rate: 400, Limit: 64 * mib, fill: shortLivedEvents,
		},
		{
			Name: "leases", Title: "Leases, ten updates a second each", Resources: of(leases), Objects: 60, ObjectSize: 400,
			Text: "60 leases are renewed ten times a second each. One handler reads.",
			Use:  Use{Read: true}, Rate: 600, Limit: 64 * mib, fill: renewedLeases,
		},
		random("random-1k", 1*kB, 500, 200, 64*mib),
		random("random-100k", 100*kB, 100, 20, 64*mib),
		random("random-1m", 1*mB, 15, 4, 96*mib),
		{
			Name: "endpointslices", Title: "EndpointSlices that grow", Resources: of(endpointSlices), Objects: 40, ObjectSize: 100 * kB,
			Text: "40 slices grow from ten to a thousand endpoints, a few at each of 20 updates a second. One handler reads.",
			Use:  Use{Read: true}, Rate: 20, Limit: 64 * mib, fill: growingSlices,
		},
		{
			Name: "custom-200k", Title: "Custom resources of 200 KB that change each second", Resources: of(databases), Objects: 15, ObjectSize: 200 * kB,
			Text: "15 objects in JSON, each of which has a part of its status changed each second. One handler reads.",
			Use:  Use{Read: true}, Rate: 15, Limit: 64 * mib, fill: largeCustom(200*kB, 40),
		},
		{
			Name: "rollout", Title: "A deployment of 10,000 pods rolled over", Resources: of(pods), Objects: 10_000, ObjectSize: 8 * kB,
			Text: "Pods of the new template come and get ready; pods of the old one are marked, and go. In two minutes all are replaced. One handler reads.",
			Use:  Use{Read: true}, Rate: 340, Limit: 512 * mib, fill: rolledOver,
		},
		{
			Name: "recreate", Title: "1,000 objects deleted and made again under their names", Resources: of(pods), Objects: 1000, ObjectSize: 8 * kB,
			Text: "Pods, one after the other, 100 a second. One handler reads.",
			Use:  Use{Read: true}, Rate: 200, Limit: 96 * mib, fill: madeAgain,
		},
	}
}

// uses are workloads of programs that differ in what they do with objects.
func uses() []Workload {
	return []Workload{
		{
			Name: "list", Title: "List every second", Resources: of(pods), Objects: 3000, ObjectSize: 8 * kB,
			Text: "3,000 pods, 50 updates a second, everything is listed and looked at each second. The handler uses keys.",
			Use:  Use{ListEvery: time.Second}, Rate: 50, Limit: 128 * mib, fill: updatedPods,
		},
		{
			Name: "gets", Title: "50 workers that Get at random", Resources: of(pods), Objects: 3000, ObjectSize: 8 * kB,
			Text: "3,000 pods, 50 updates a second, 50 workers that each get one of them 20 times a second. The handler uses keys.",
			Use:  Use{Getters: 50, GetPause: 50 * time.Millisecond}, Rate: 50, Limit: 128 * mib, fill: updatedPods,
		},
		{
			Name: "slow", Title: "Three slow handlers", Resources: of(pods), Objects: 500, ObjectSize: 8 * kB,
			Text: "500 pods, 200 updates a second, three handlers that read and then take 20 ms for each call, which is a quarter of what comes.",
			Use:  Use{Handlers: 3, Read: true, Slow: 20 * time.Millisecond}, Rate: 200, Limit: 192 * mib, fill: updatedPods,
		},
		{
			Name: "visitor", Title: "An informer that comes and goes", Resources: of(pods), Objects: 1000, ObjectSize: 8 * kB,
			Text: "1,000 pods, 50 updates a second, one informer that stays, and a second one with an index of its own that is started, synced and stopped every two seconds. Handlers use keys.",
			Use:  Use{Visit: 2 * time.Second}, Rate: 50, Limit: 128 * mib, fill: updatedPods,
		},
		{
			Name: "hot-95k", Title: "20 objects of 95 KB, read at each update", Resources: of(databases), Objects: 20, ObjectSize: 95 * kB,
			Text: "Custom resources in JSON, 20 updates a second in all, each of which changes every part of the status. One handler reads.",
			Use:  Use{Read: true}, Rate: 20, Limit: 64 * mib, fill: largeCustom(95*kB, 1),
		},
		{
			Name: "keys-20k", Title: "500 objects of 20 KB, 1,050 updates a second, keys alone", Resources: of(configMaps), Objects: 500, ObjectSize: 20 * kB,
			Text: "ConfigMaps of random bytes, new at each update, in a program with 100 MB of other heap. The handler uses keys.",
			Use:  Use{Ballast: 100 * mB}, Rate: 1050, Limit: 300 * mib, fill: randomBytes(of(configMaps), 20*kB),
		},
	}
}

func of(r ...schema.GroupVersionResource) []schema.GroupVersionResource { return r }

// random is the workload of Secrets and ConfigMaps of random bytes, so many of each.
func random(name string, size, each int, rate float64, limit int64) Workload {
	both := of(secrets, configMaps)
	return Workload{
		Name: name, Title: fmt.Sprintf("Secrets and ConfigMaps of random bytes, %s", sizeText(size)), Resources: both, Objects: each, ObjectSize: size,
		Text: fmt.Sprintf("%d of each, %v updates a second in all, the bytes new each time. One handler for each resource reads.", each, rate),
		Use:  Use{Read: true}, Rate: rate, Limit: limit, fill: randomBytes(both, size),
	}
}

func sizeText(size int) string {
	if size >= mB {
		return fmt.Sprintf("%d MB", size/mB)
	}
	return fmt.Sprintf("%d KB", size/kB)
}

// Select returns the workloads whose name starts with one of the words, which are
// separated by commas; all of them if there is no word.
func Select(words string) []Workload {
	if words == "" {
		return All()
	}
	var chosen []Workload
	for _, w := range All() {
		for word := range strings.SplitSeq(words, ",") {
			if strings.HasPrefix(w.Name, strings.TrimSpace(word)) {
				chosen = append(chosen, w)
				break
			}
		}
	}
	return chosen
}
