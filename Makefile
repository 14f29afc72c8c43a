# nsweep: see README.md. Every target works on a fresh Debian machine with Go,
# git and make.

GO     ?= go
STATIC := CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w'
TOOLS  := -modfile=internal/tools/go.mod

# What the tests need beside Go: a C compiler for the race detector and a real
# Redis.
NEED_COMMANDS := gcc redis-server
NEED_PACKAGES := gcc libc6-dev redis-server

.PHONY: all build test soak bench lint fmt deps clean

all: build

build: ## the binary, in dist/
	@mkdir -p dist
	$(STATIC) -o dist/nsweep ./cmd/nsweep

test: deps lint ## everything but the long tests, with the race detector
	CGO_ENABLED=1 $(GO) test -race -timeout 9m ./...

soak: deps ## the long tests as well
	NSWEEP_SOAK=1 CGO_ENABLED=1 $(GO) test -timeout 85m -count=1 ./...

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
