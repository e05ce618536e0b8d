#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Every relative link in a Markdown file leads to a file or folder of the tree.
# usage: links.sh [FOLDER]
set -euo pipefail

root=${1:-$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)}

pages() {
  (cd "$root" && find . -name '*.md' -not -path './build*/*' -not -path './.*/*' -printf '%P\n')
}

# The targets of [text](target) without an anchor; web addresses, anchors in the page and code are left out.
targets() {
  # shellcheck disable=SC2016 # backquotes of Markdown
  sed '/^ *```/,/^ *```/d' "$1" | grep -oE '\]\([^)]+\)' | sed -E 's/^\]\(([^)#]*).*/\1/' | grep -vE '^(https?:|mailto:|$)' || true
}

checked=0 broken=0
while IFS= read -r page; do
  while IFS= read -r target; do
    [[ $target ]] || continue
    checked=$((checked + 1))
    [[ -e $root/$(dirname "$page")/$target ]] || {
      printf '%s: no %s\n' "$page" "$target" >&2
      broken=$((broken + 1))
    }
  done <<<"$(targets "$root/$page")"
done <<<"$(pages)"

if ((checked == 0)); then
  printf 'links: no link found in %s\n' "$root" >&2
  exit 1
fi
printf 'links: %d checked, %d broken\n' "$checked" "$broken"
((broken == 0))
