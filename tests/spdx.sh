#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Every file that can carry a comment names its license in its first line, or its second after a #! or zsh's #compdef.
# usage: spdx.sh [FOLDER]
set -euo pipefail

# shellcheck source=tests/files.sh
source "$(dirname "${BASH_SOURCE[0]}")/files.sh"
# REUSE-IgnoreStart
wanted='SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception'
# REUSE-IgnoreEnd

has_line() {
  local lines=1
  case $(head -c 8 "$1" | tr -d '\0') in
    '#!'* | '#compdef') lines=2 ;;
  esac
  head -n "$lines" "$1" | grep -qF "$wanted"
}

missing=0 checked=0
while IFS= read -r file; do
  case $file in
    LICENSE | LICENSES/* | */LICENSE) continue ;;
    docs/programs/*.txt | examples/samples/*.txt) continue ;; # what programs print
    *.json | *.csv | *.npy | *.png | *.svg | *.?vecs) continue ;; # no comments, or generated
  esac
  [[ -f $root/$file ]] || continue
  checked=$((checked + 1))
  has_line "$root/$file" || {
    printf '%s: no "%s"\n' "$file" "$wanted" >&2
    missing=$((missing + 1))
  }
done <<<"$(files)"

if ((checked == 0)); then
  printf 'spdx: no file found in %s\n' "$root" >&2
  exit 1
fi
printf 'spdx: %d files, %d without the line\n' "$checked" "$missing"
((missing == 0))
