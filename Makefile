# Run `make` to see what there is.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

GO ?= go
LINT := bin/golangci-lint
# Everything that a test starts, a server or a proxy, counts as end to end.
E2E := ./internal/e2e/... ./scripts/...
UNIT = $$($(GO) list ./... | grep -v -e '/internal/e2e' -e '/scripts')
FUZZTIME ?= 10s

help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "%-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

check: setup fmt vet lint arch test bench-test fuzz e2e ## all that CI checks, and nothing else

setup: ## install what the tests need and this machine lacks
	@scripts/setup

fmt: ## complain about files that gofmt would change
	@out=$$(gofmt -l $$(git ls-files --cached --others --exclude-standard '*.go')); \
	if [ -n "$$out" ]; then echo "gofmt would change:"; echo "$$out"; exit 1; fi

vet: ## go vet, also of the measurements in bench/
	$(GO) vet ./...
	cd bench && $(GO) vet ./...

lint: $(LINT) ## golangci-lint, see .golangci.yml
	$(LINT) run ./...

$(LINT): tools/go.mod tools/go.sum
	cd tools && $(GO) build -o ../$(LINT) github.com/golangci/golangci-lint/v2/cmd/golangci-lint

arch: ## the rules that no single package can keep
	$(GO) test -count=1 ./internal/

test: ## unit tests, with the race detector and in random order
	$(GO) test -race -shuffle=on -timeout 20m $(UNIT)

bench-test: ## tests of the measurements in bench/
	cd bench && $(GO) test -shuffle=on ./...

e2e: ## tests of the real binary: stories, proxies, kill -9
	$(GO) test -count=1 -shuffle=on -timeout 30m $(E2E)

fuzz: ## each fuzz target for FUZZTIME (10s), from its committed corpus
	@scripts/fuzz $(FUZZTIME)

golden: ## write golden files anew; then read the diff, it is the review
	$(GO) test -count=1 $$(grep -rl --include='*_test.go' -e '"verbatim/internal/golden"' . | xargs -n1 dirname | sort -u) -update

generate: ## make the pages in docs/ anew that are made from code
	$(GO) test -count=1 -run 'ReferencePage|ErrorsPage' ./internal/app ./internal/httpapi ./internal/sse -update

bench: ## Go benchmarks
	$(GO) test -run '^$$' -bench . -benchmem ./...

bench-e2e: ## the product against its floors, whole programs over loopback
	cd bench && $(GO) run ./cmd/e2e

bench-search: ## search over a million messages; takes a while
	cd bench && $(GO) run ./cmd/search

oracle: ## our decoder against the provider's own library, on recorded streams
	cd oracle && $(GO) test ./...

long: ## what takes too long for every change: 10 min a fuzz target, 300 kills
	VERBATIM_LONG=1 $(GO) test -race -shuffle=on -timeout 120m $(UNIT)
	VERBATIM_LONG=1 $(GO) test -count=1 -shuffle=on -timeout 120m $(E2E)
	$(MAKE) oracle
	scripts/fuzz 10m

release: ## the binary as it is shipped, in bin/
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w' -o bin/verbatim ./cmd/verbatim

.PHONY: help check setup fmt vet lint arch test bench-test e2e fuzz golden generate bench bench-e2e bench-search oracle long release
