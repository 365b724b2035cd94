# Every target that people use says what it does after ##; `make` alone lists them.

SERVERS := go -C test/apiserver run ./cmd/build
MODULES := ctrlcache metrics tracing examples/operator test/apiserver test/browser test/controllerruntime test/foreign bench tools/lint tools/release
GOTEST  := go test -race -timeout 15m

.DEFAULT_GOAL := help
.PHONY: help test short check unit real modules browser servers bench workloads lint fuzz soak demo

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-9s %s\n", $$1, $$2}'

test: check lint servers unit real modules browser ## all the set-up there is, then every test, real servers included

short: ## the tests that need no real server, without the race detector
	go test -short ./...

check: ## formatting and vet, in every module
	@unformatted=$$(gofmt -l $$(git ls-files -co --exclude-standard '*.go')); \
	  if [ -n "$$unformatted" ]; then echo "not gofmt'ed: $$unformatted"; exit 1; fi
	go vet ./...
	@for m in $(MODULES); do echo "go vet in $$m"; go -C $$m vet ./... || exit 1; done
	go -C bench vet -tags controllerruntime .

servers: ## build etcd, kube-apiserver and kubectl once, into the user's cache folder
	$(SERVERS)

unit: ## the tests of the library, the embedded server and the program
	$(GOTEST) ./...
	go test -run 'TestAllGoneAtOnce|TestBlockedHandler' ./internal/engine # up to a million, without the race detector

real: servers ## the tests against the real kube-apiserver and etcd
	go -C test/apiserver test -race -timeout 25m ./...

OLDER := -modfile=go036.mod -tags clientgo036
modules: servers ## the tests of the other modules, and the drop-ins with client-go's minor before
	go -C ctrlcache test -race -timeout 10m ./...
	go -C metrics test -race -timeout 10m ./...
	go -C tracing test -race -timeout 10m ./...
	go -C examples/operator test -timeout 10m ./...
	go -C test/controllerruntime test -timeout 10m ./...
	go -C test/foreign test ./...
	go -C bench test . ./programs
	go -C tools/release test ./...
	go build $(OLDER) ./cache/... ./informers/... ./dynamicinformer ./metadatainformer
	go test $(OLDER) -timeout 10m ./cache ./informers ./informers/internal/kinds ./dynamicinformer ./metadatainformer ./internal/dropin

PAGE ?=
browser: ## the page in a real browser, which is installed on Debian; PAGE='-screenshots ../../docs' renews the pictures, PAGE='-run NONE -bench . -benchtime 1x' measures
	CHROMIUM="$$(test/browser/browser.sh)" go -C test/browser test -count=1 -timeout 15m . $(PAGE)

BENCH ?= -million -docs ../docs/evidence
bench: servers ## side by side with client-go; writes docs/evidence/benchmarks.md, fails on a ratio worse than its limit (about two hours)
	go -C bench run . $(BENCH)

WORKLOADS ?= -docs ../docs/evidence
workloads: ## loads that nobody tuned for, next to client-go; writes docs/evidence/workloads.md, fails where kinform is worse (half an hour)
	go -C bench run . -workloads $(WORKLOADS)

LINT := $(CURDIR)/bin/lint
lint: ## staticcheck's rules and some of our own (tools/lint)
	go -C tools/lint build -o $(LINT) .
	go vet -vettool=$(LINT) ./...
	go -C ctrlcache vet -vettool=$(LINT) ./...
	go -C metrics vet -vettool=$(LINT) ./...
	go -C tracing vet -vettool=$(LINT) ./...
	go -C examples/operator vet -vettool=$(LINT) ./...

# Nothing is minimized: of inputs as long as objects are, a worker would do that for a minute each, and try few others.
FUZZTIME ?= 60s
fuzz: ## each fuzz target for FUZZTIME (default 60s)
	@for p in ./wire ./apisim ./internal/unmarshal; do \
	  for f in $$(go test -list '^Fuzz' $$p | grep ^Fuzz); do \
	    echo "$$p $$f"; go test -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 0x $$p || exit 1; done; done

# Both at the same time, at a pace that takes about half of a core each.
SOAK_TIME ?= 20m
SOAK_SEED ?= 0
SOAK_PACE ?= 0.15
SOAK      := -tags setclock -count=1 -timeout 0 -v -run '^TestSoak$$'
SOAKFLAGS := -soak.time=$(SOAK_TIME) -soak.seed=$(SOAK_SEED) -soak.pace=$(SOAK_PACE) $(if $(SOAK_DOCS),-soak.docs=$(abspath $(SOAK_DOCS)))
soak: servers ## chaos on both servers for SOAK_TIME (default 20m); SOAK_SEED=N repeats one, SOAK_DOCS=docs/evidence writes docs/evidence/soak.md (with 1h)
	@overlay=$$(go run ./internal/chaos/setclock) || exit 1; \
	  go test ./internal/chaos -overlay $$overlay $(SOAK) $(SOAKFLAGS) & embedded=$$!; \
	  go -C test/apiserver test . -overlay $$overlay $(SOAK) $(SOAKFLAGS); real=$$?; \
	  wait $$embedded && exit $$real

demo: ## the main job on the embedded server
	go run ./cmd/kinform demo --for 10s
