# The tasks of this repository. `make demo` and `make test` need Go, git and make alone.
GO      ?= go
BIN     := bin/pipeline
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
# Static programs run in an empty image, which is what --simulate=container needs.
export CGO_ENABLED ?= 0
LDFLAGS := -s -w -X github.com/servegate/pipeline/pipeline/internal/cli.version=$(VERSION)

# One set of flags for building, testing, vetting and linting: they share the compiled packages.
export GOFLAGS ?= -trimpath

# Packages with property tests, which draw the same each time here and wander in the nightly
# workflow, and packages with simulations that are long when they are whole.
with       = $(sort $(dir $(shell grep -rl --include=*_test.go $(1) .)))
PROPERTIES := $(filter-out ./pipeline/,$(call with,'"pgregory.net/rapid"'))
LONG       := $(filter-out ./pipeline/,$(call with,'flag.Bool."full"'))

.PHONY: build demo demo-live demo-real llamacpp tester test packages program full soak times wander race lint docs fmt golden pictures bench operating-characteristics contract clean

# -o bin/ because plain `go build ./pipeline` collides with the folder of that name.
build:
	$(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/ ./pipeline

# The demo holds a regression, so exit status 1 of the run is its expected end. It is carried
# out in virtual time, which takes a second and depends on nothing that else runs here;
# demo-live is the same with processes, sockets and a client, a minute and a half on a
# machine that is not busy. demo-real installs llama.cpp for Python and measures it.
demo demo-live demo-real: build
	@rm -rf out/$@
	@$(BIN) run $(FILE) $(SIMULATE) --out out/$@; status=$$?; \
	if [ $$status -eq 1 ]; then \
		echo; echo "$@: exit status 1, as expected: the gate found the regression."; \
		echo "$@: the report is out/$@/report.md, the evidence is in out/$@/."; \
	else \
		echo "$@: exit status $$status, but 1 was expected"; exit 1; \
	fi
demo: SIMULATE = --simulate=virtual
demo-live: SIMULATE = --simulate
demo demo-live: FILE = examples/quickstart/quickstart.pipeline.hcl
demo-real: FILE = examples/llamacpp/llamacpp.pipeline.hcl
demo-real: llamacpp
llamacpp:
	@examples/llamacpp/setup.sh out/llamacpp

# .ci/tests runs `go test`, prints failures and skipped tests, and keeps the times of all in LOG.
# Packages run two at a time for each processor, since many wait for sockets and processes: one of each set. A flag is
# known to the packages that define it alone, so that each set of flags is a command, and all run at once, those that
# take longest first; vet is for make lint. The tests of the whole program, which mostly wait, run beside them, in one
# binary that each group of them uses.
TESTS    := bin/tests
LOG      ?= bin/tests.jsonl
JOBS     := -vet=off -p $(shell getconf _NPROCESSORS_ONLN)
PARALLEL := 6
RAPID     = -rapid.seed=1 -rapid.checks=$(CHECKS)
CHECKS   := 25
SLOW     := ./pipeline/internal/cli
PLAIN     = $$($(GO) list ./... | grep -vxF -e "$$($(GO) list ./pipeline $(PROPERTIES) $(if $(FULL),$(LONG)))")
# A test lives for seconds: memory is cheaper than collecting it.
test packages program full soak: export GOGC ?= 400
test: tester
	@rm -f $(LOG)
	@$(MAKE) --no-print-directory -j2 packages program
	@$(TESTS) summary $(LOG)

tester:
	@$(GO) build -o $(TESTS) ./.ci/tests

packages: tester
	$(TESTS) run $(LOG) $(JOBS) -timeout 60m $(if $(FULL),,$(SLOW)) $(PLAIN) -- \
		$(JOBS) -timeout 60m $(filter-out $(if $(FULL),$(LONG)),$(PROPERTIES)) $(RAPID)
	$(if $(FULL),$(TESTS) run $(LOG) $(JOBS) -timeout 75m $(filter-out $(PROPERTIES),$(LONG)) $(FULL))
	$(if $(FULL),$(TESTS) run $(LOG) $(JOBS) -timeout 75m $(filter $(LONG),$(PROPERTIES)) $(RAPID) $(FULL))

# ONLY='-run X' or '-skip X' selects a group of the tests of the whole program, which start bin/pipeline.
bin/pipeline.test: FORCE
	$(GO) test -c -vet=off -ldflags '-s -w' -o $@ ./pipeline
program: export PIPELINE_PROGRAM ?= $(CURDIR)/bin/pipeline
program: build tester bin/pipeline.test
	$(TESTS) binary $(LOG) ./pipeline bin/pipeline.test -test.timeout=75m -test.parallel=$(PARALLEL) $(ONLY) $(FULL)
FORCE:

# The same with every long simulation whole: error rates at the number of files that they are
# stated for, every mutant, every line of a journal, every failure on every side.
full soak: FULL = -full
full soak: PARALLEL = 2
full soak: CHECKS = 100
full: tester
	@rm -f $(LOG)
	@$(MAKE) --no-print-directory packages program FULL='$(FULL)' PARALLEL=$(PARALLEL) CHECKS=$(CHECKS)
	@$(TESTS) summary $(LOG)

# The same again, with each end of a run on a cluster played many times. .ci/run soak starts the clusters.
soak: export PIPELINE_SLURM_TIMES ?= 10
soak: export PIPELINE_KUBERNETES_TIMES ?= 20
soak: export PIPELINE_STACK_TIMES ?= 20
soak: full

# Write the times of the last .ci/run into CONTRIBUTING.md.
times: tester
	$(TESTS) write CONTRIBUTING.md bin/stages.tsv bin/ci-*.jsonl

# Property tests from random seeds, many times as long. A failure prints the seed that repeats it.
wander: CHECKS = 2000
wander:
	$(GO) test -count=1 -timeout 60m $(PROPERTIES) -rapid.checks=$(CHECKS)

# The packages that measure and launch, with all their goroutines. The nightly workflow runs those of places as well,
# which compile the clients of clusters.
RACE := ./steps/load/... ./steps/process/... ./steps/simulate/... ./pipeline/internal/engine/... ./pipeline/internal/event/... \
	./pipeline/internal/spawn/...
race: export CGO_ENABLED = 1
race:
	$(GO) test -race -short $(RACE)

lint:
	golangci-lint run ./...

# The site of docs/ in out/site. A link that leads nowhere is an error. Needs Python 3.11.
docs:
	.ci/docs/build

fmt:
	gofmt -w .

# Rewrite the golden files after a wanted change, then read the diff.
golden:
	$(GO) test -timeout 45m $$(grep -rl 'pipeline/internal/golden"' --include=*_test.go . | grep -v '^./internal/golden/' | xargs -n1 dirname | sort -u) -update

# Take the pictures of comments and of the report in examples/github anew: a rehearsal of each in virtual time writes
# the text beside the picture, and Chromium shows it (apt-get install chromium fonts-noto-color-emoji). Without a browser
# TestComments and TestGithubReport hold the texts to what the program writes, and TestPictures the pictures to the texts.
pictures:
	$(GO) test ./pipeline -run 'TestComments|TestGithubReport' -update
	$(GO) run ./.ci/pictures

bench:
	$(GO) test -run '^$$' -bench . -benchmem ./...

# Error rates and power of the decision, 2,000 files each: some minutes. They are compared with
# docs/evidence/error-rates.md; ARGS=-update rewrites those.
operating-characteristics:
	$(GO) test ./gates -run OperatingCharacteristics -v -full -timeout 60m $(ARGS)

# Our requests to GitHub against its own OpenAPI description. Needs Node and the npm registry.
contract:
	.ci/contract

clean:
	rm -rf bin out
