#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Every text that names the version names that of CMakeLists.txt; with an argument, makes it the version of all of them.
# usage: version.sh [MAJOR.MINOR.PATCH]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# file, what stands before the number: the first line with it counts. A find_package names the major and minor number alone.
places=(
  'CMakeLists.txt' 'project\(ktopk VERSION '
  'CHANGELOG.md' '^## '
  'CITATION.cff' '^version: '
  'README.md' 'find_package\(ktopk '
  'docs/start.md' 'find_package\(ktopk '
  'docs/start.md' 'tar xf ktopk-'
  'docs/command.md' '^version: '
  'packaging/conda/recipe.yaml' '^  version: "'
)
number='[0-9]+([.][0-9]+)+'

version_in() { sed -nE "s/.*$2($number).*/\\1/p" "$1" | head -n 1; }

# expected BEFORE: what of the version stands there.
expected() { if [[ $1 == find_package* ]]; then echo "${version%.*}"; else echo "$version"; fi; }

set_version() {
  local i
  for ((i = 0; i < ${#places[@]}; i += 2)); do
    sed -i -E "0,/${places[i + 1]}$number/s/(${places[i + 1]})$number/\\1$(expected "${places[i + 1]}")/" "${places[i]}"
  done
}

check_version() {
  local i wrong=0 found wanted
  for ((i = 0; i < ${#places[@]}; i += 2)); do
    found=$(version_in "${places[i]}" "${places[i + 1]}") wanted=$(expected "${places[i + 1]}")
    if [[ $found != "$wanted" ]]; then
      printf '%s names version %s, and CMakeLists.txt %s\n' "${places[i]}" "${found:-(none)}" "$wanted" >&2
      wrong=$((wrong + 1))
    fi
  done
  printf 'version: %s, %d texts, %d of them with another\n' "$version" $((${#places[@]} / 2)) "$wrong"
  ((wrong == 0))
}

version=${1:-$(version_in CMakeLists.txt 'project\(ktopk VERSION ')}
[[ $version =~ ^[0-9]+[.][0-9]+[.][0-9]+$ ]] || { printf 'a version is MAJOR.MINOR.PATCH, not %s\n' "$version" >&2; exit 2; }
((!$#)) || set_version
check_version
