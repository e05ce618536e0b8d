#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Every file and folder of the tree that a Markdown page names exists: `dispatch/select.cpp` from the root on, `select.cpp` and
# `core/backend.hpp` in quotes anywhere in the tree. Links are checked by docs/links.sh.
# usage: doc_paths.sh [FOLDER]
set -euo pipefail

# shellcheck source=tests/files.sh
source "$(dirname "${BASH_SOURCE[0]}")/files.sh"

# The past, and an index with a test of its own.
skipped='^(CHANGELOG|perf/results/README)[.]md$'
# Placeholders, an example, files of others, and what `./dev compare` writes.
allowed='NAME|TAG|^backends/hip/|^Kokkos_|^report[.]md$|^results[.]csv$'

all=$(files)
folders=$(sed -nE 's|^([a-z]+)/.*|\1|p' <<<"$all" | sort -u | paste -sd '|')

# The words of a page that begin with a folder of the tree, without a full stop behind them.
paths_in() {
  grep -oE "(^|[^A-Za-z0-9_./-])($folders)/[A-Za-z0-9_./*-]*" "$1" | sed -E 's/^[^a-z]//; s/[.]$//' | sort -u || true
}

# The names of source files, scripts and measurements that stand in quotes.
names_in() {
  # shellcheck disable=SC2016 # backquotes of Markdown
  grep -oE '`[^`]+`' "$1" | grep -oE '[A-Za-z0-9_./*-]+[.](hpp|cpp|cu|cuh|sh|cmake|py|json|csv|md)\b' | sort -u || true
}

# exists BEGIN NAME: whether a file or folder has this name, with * for any letters, behind BEGIN.
exists() {
  local pattern=${2%/}
  pattern=${pattern//./[.]}
  grep -qE "$1${pattern//\*/[^/]*}(/|\$)" <<<"$all"
}

checked=0 missing=0
# check PAGE BEGIN: reads names.
check() {
  local name
  while IFS= read -r name; do
    [[ $name && ! $name =~ $allowed ]] || continue
    checked=$((checked + 1))
    exists "$2" "${name#./}" || {
      printf '%s: no %s\n' "$1" "$name" >&2
      missing=$((missing + 1))
    }
  done
}

cd "$root"
while IFS= read -r page; do
  [[ $page == *.md && ! $page =~ $skipped && -f $page ]] || continue
  check "$page" '^' <<<"$(paths_in "$page")"
  check "$page" '(^|/)' <<<"$(names_in "$page")"
done <<<"$all"

if ((checked < 50)); then
  printf 'doc_paths: only %d names found in %s\n' "$checked" "$root" >&2
  exit 1
fi
printf 'doc_paths: %d checked, %d missing\n' "$checked" "$missing"
((missing == 0))
