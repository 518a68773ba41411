FUZZTIME ?= 30s

.DEFAULT_GOAL := help
.PHONY: help test race long proof bench lint golden fuzz cover ci release aws site

help: ## list these targets
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /\1\t/' | expand -t 10

test: ## run all tests; those without a database are skipped
	go test ./...
	.ci/modules go test ./...

race: ## run the tests of packages where goroutines meet with the race detector
	.ci/race

long: ## the long run of the packages that have one: random tests, fault campaigns, oracles
	.ci/long

proof: long ## the long run, and histories, fault cases and changed guards in full: prints the tables of docs/design/tests-and-proof.md
	DYNASTRATA_LONG=1 DYNASTRATA_REQUIRE_DB=1 go -C cmd/dynastrata test -count=1 -timeout 1h ./...
	DYNASTRATA_LONG=1 DYNASTRATA_REQUIRE_DB=1 go -C contrib/beam test -count=1 -timeout 1h ./...
	DYNASTRATA_LONG=1 DYNASTRATA_REQUIRE_DB=1 go -C tests/proof test -count=1 -timeout 3h
	go -C tests/proof run ./mutants

bench: ## measure CPU time, allocations, requests and growth: docs/performance.md (BENCH='-rows get -rounds 40')
	go -C tests/bench run . $(BENCH)

lint: ## gofmt, go vet, golangci-lint
	.ci/lint

golden: ## rewrite golden files and the examples in the documents; review the difference
	for dir in $$(grep -rlE --include='*_test.go' 'flag.Bool\("update"|tests/goldentest"' . | xargs -n 1 dirname | sort -u); do go -C $$dir test . -update || exit 1; done

fuzz: ## fuzz each target for FUZZTIME (30s)
	@for file in $$(grep -rlE --include='*_test.go' '^func Fuzz' . | sort); do \
		for target in $$(grep -oE '^func Fuzz[A-Za-z0-9_]*' $$file | cut -c 6-); do \
			echo "$$file $$target"; \
			go -C "$$(dirname $$file)" test . -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) || exit 1; \
		done; \
	done

cover: ## run all tests and print the coverage of each function
	go test -coverpkg=./... -coverprofile=coverage.out ./...
	go tool cover -func=coverage.out

aws: ## try every verb on tables of your own account, with TABLE_PREFIX and REGION; asks first, and deletes the tables
	@go -C tests/aws run . -prefix "$(TABLE_PREFIX)" -region "$(REGION)"

site: ## make the pages of the documents, and one text of them all, in site/, with Node; fails on a dead link or anchor
	npm --prefix .github/site ci
	npm --prefix .github/site run build
	go -C docs test . -count=1 -run TestForModels -models ../site

release: ## check the tree, and tag every module with VERSION (v0.1.0); publish nothing
	.ci/release $(VERSION)

ci: ## everything that continuous integration runs
	.ci/run
