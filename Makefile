# nsweep: see README.md. Every target works on a fresh Debian machine with Go,
# git and make.

GO     ?= go
STATIC := CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w'
TOOLS  := -modfile=internal/tools/go.mod

# What the tests need beside Go: a C compiler for the race detector, a real
# Redis, a browser with a font for the live page, and a network to cut.
NEED_COMMANDS := gcc redis-server chromium ip
NEED_PACKAGES := gcc libc6-dev redis-server chromium fonts-dejavu-core iproute2

.PHONY: all build test soak bench lint fmt deps clean

all: build

build: ## the binary, in dist/
	@mkdir -p dist
	$(STATIC) -o dist/nsweep ./cmd/nsweep

test: deps lint ## everything but the long tests, with the race detector
	CGO_ENABLED=1 $(GO) test -race -timeout 60m ./...

soak: deps ## the long tests as well
	NSWEEP_SOAK=1 CGO_ENABLED=1 $(GO) test -timeout 85m -count=1 ./...

# The plain C++ programs and the Go benchmarks of the same work, in one run.
# Needs g++. Lines are ready for benchstat.
bench: build ## the engines beside the programs that people write first
	@mkdir -p dist/bench
	g++ -O2 -o dist/bench/table engine/hopping/testdata/bench/table.cpp
	g++ -O2 -o dist/bench/memo engine/bezout/testdata/bench/memo.cpp
	g++ -O2 -o dist/bench/linear engine/bezout/testdata/bench/linear.cpp
	dist/bench/table sum 1000
	dist/bench/table sum 10000
	dist/bench/table one 1000000
	dist/bench/memo 1000000000
	dist/bench/memo 10000000000
	dist/bench/memo 100000000000
	dist/bench/linear 100000000
	$(GO) test -run '^$$' -bench . -count 1 ./engine/...
	dist/nsweep bench

lint: ## gofmt, go vet, staticcheck, and the compose file against its schema
	@bad=$$(gofmt -l $$(git ls-files '*.go')); if [ -n "$$bad" ]; then echo "gofmt would change:"; echo "$$bad"; exit 1; fi
	$(GO) vet ./...
	$(GO) tool $(TOOLS) staticcheck ./...
	cd internal/tools && $(GO) run ./composecheck ../../docker-compose.yml

fmt:
	gofmt -w $$(git ls-files '*.go')

deps: ## install what the tests need, where it is missing
	@./internal/tools/deps.sh "$(NEED_COMMANDS)" "$(NEED_PACKAGES)"

clean:
	rm -rf dist
