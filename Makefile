# The tasks of this repository. `make demo` and `make test` need Go, git and make alone.
GO      ?= go
BIN     := bin/pipeline
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
# Static programs run in an empty image, which is what --simulate=container needs.
export CGO_ENABLED ?= 0
LDFLAGS := -X github.com/servegate/pipeline/pipeline/internal/cli.version=$(VERSION)

# Packages with property tests, which draw the same each time here and wander in the nightly
# workflow, and packages with simulations that are long when they are whole.
with       = $(sort $(dir $(shell grep -rl --include=*_test.go $(1) .)))
PROPERTIES := $(filter-out ./pipeline/,$(call with,'"pgregory.net/rapid"'))
LONG       := $(filter-out ./pipeline/,$(call with,'flag.Bool."full"'))
# Simulations without sockets, processes or a clock, which nobody waits for: they get the processors that the
# whole program leaves idle.
ARITHMETIC := $(filter ./gates/% ./pipeline/internal/session/,$(LONG))

.PHONY: build demo demo-live test full wander race lint fmt golden bench operating-characteristics contract clean

# -o bin/ because a bare `go build ./pipeline` collides with the folder of that name.
build:
	$(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/ ./pipeline

# The demo holds a regression, so exit status 1 of the run is its expected end. It is carried
# out in virtual time, which takes a second and depends on nothing that else runs here;
# demo-live is the same with processes, sockets and a client, a minute and a half on a
# machine that is not busy.
demo demo-live: build
	@rm -rf out/$@
	@$(BIN) run examples/quickstart/quickstart.pipeline.hcl $(SIMULATE) --out out/$@; status=$$?; \
	if [ $$status -eq 1 ]; then \
		echo; echo "$@: exit status 1, as expected: the gate found the regression."; \
		echo "$@: the report is out/$@/report.md, the evidence is in out/$@/."; \
	else \
		echo "$@: exit status $$status, but 1 was expected"; exit 1; \
	fi
demo: SIMULATE = --simulate=virtual
demo-live: SIMULATE = --simulate

# Packages two at a time for each processor, since many wait for sockets and processes. A flag is
# known to the packages that define it alone, so that each set of flags is a command; vet is
# for make lint. The last ones run the whole program: alone, and its tests many at a time, but
# those with daemons not; of them only those of Kubernetes, which wait for Pods.
JOBS     := -vet=off -p $(shell expr 2 \* $$(getconf _NPROCESSORS_ONLN))
PARALLEL := 6
PROGRAM  := $(GO) test -vet=off -timeout 75m ./pipeline
CLUSTER  := '^TestKubernetes$$'
IDLE      = $(GO) test $(JOBS) $(filter-out $(PROPERTIES),$(ARITHMETIC)) -timeout 75m $(FULL) && $(GO) test $(JOBS) $(filter $(PROPERTIES),$(ARITHMETIC)) $(RAPID) -timeout 75m $(FULL)
RAPID     = -rapid.seed=1 -rapid.checks=$(CHECKS)
CHECKS   := 25
# A test lives for seconds: memory is cheaper than collecting it.
test: export GOGC ?= 400
test:
	$(GO) test $(JOBS) $$($(GO) list ./... | grep -vxF -e "$$($(GO) list ./pipeline $(PROPERTIES) $(if $(FULL),$(LONG)))")
	$(if $(FULL),$(GO) test $(JOBS) $(filter-out $(PROPERTIES) $(ARITHMETIC),$(LONG)) -timeout 60m $(FULL))
	$(GO) test $(JOBS) $(filter-out $(if $(FULL),$(LONG)),$(PROPERTIES)) $(RAPID)
	$(if $(FULL),$(GO) test $(JOBS) $(filter-out $(ARITHMETIC),$(filter $(LONG),$(PROPERTIES))) $(RAPID) -timeout 60m $(FULL))
	$(if $(FULL),nice -n 19 sh -c '$(IDLE)' & arithmetic=$$!;) $(PROGRAM) -parallel $(PARALLEL) $(if $(FULL),$(FULL) -skip $(CLUSTER) && $(PROGRAM) -parallel 6 -run $(CLUSTER); status=$$?; wait $$arithmetic && exit $$status)

# The same with every long simulation whole: error rates at the number of files that they are
# stated for, every mutant, every line of a journal, every failure on every side.
full: FULL = -full
full: PARALLEL = 2
full: CHECKS = 100
full: test

# Property tests from random seeds, many times as long. A failure prints the seed that repeats it.
wander: CHECKS = 2000
wander:
	$(GO) test -count=1 -timeout 60m $(PROPERTIES) -rapid.checks=$(CHECKS)

# The packages with goroutines of their own.
race: export CGO_ENABLED = 1
race:
	$(GO) test -race -short ./steps/load/... ./steps/process/... ./steps/simulate/... ./pipeline/internal/engine/... ./pipeline/internal/event/... ./pipeline/internal/spawn/... ./pipeline/internal/place/...

lint:
	golangci-lint run ./...

fmt:
	gofmt -w .

# Rewrite the golden files after a wanted change, then read the diff.
golden:
	$(GO) test -timeout 45m $$(grep -rl 'flag.Bool("update"' --include=*_test.go . | xargs -n1 dirname | sort -u) -update

bench:
	$(GO) test -run '^$$' -bench . -benchmem ./...

# Error rates and power of the decision, 2,000 files each: some minutes. They are compared with
# docs/statistics.md; ARGS=-update rewrites those.
operating-characteristics:
	$(GO) test ./gates -run OperatingCharacteristics -v -full -timeout 60m $(ARGS)

# Our requests to GitHub against its own OpenAPI description. Needs Node and the npm registry.
contract:
	.ci/contract

clean:
	rm -rf bin out
