#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The completions complete, and man reads the manual page. What this machine lacks is left out with a note.
# usage: installed.sh FOLDER
set -euo pipefail

folder=$(cd "$1" && pwd)
failed=0
cd "$folder" # whose files bash completes

# completes "EXPECTED" WORD...: what bash offers for the last word, in one line.
completes() {
  local expected=$1
  shift
  COMP_WORDS=(ktopk "$@") COMP_CWORD=$# COMPREPLY=()
  _ktopk
  [[ "${COMPREPLY[*]}" == "$expected" ]] && return
  printf 'ktopk %s: bash offers "%s", not "%s"\n' "$*" "${COMPREPLY[*]}" "$expected" >&2
  failed=1
}

compopt() { :; } # bash has it while it completes alone

# shellcheck source=tools/installed/ktopk.bash
source "$folder/ktopk.bash"
completes 'calibrate' ca
completes 'select' se
completes 'highest' select keys.npy --ties h
completes 'csv npy table tsv' select keys.npy -k 3 --to ''
completes '' select keys.npy -k ''
completes '--quantiles' select keys.npy --q
completes 'ktopk.bash' select --output ktopk.b
completes 'bash zsh' completion ''
completes '--unsorted' info --shape 9 --u
completes '' nonsense ''

in_zsh='fpath=($1 $fpath) && autoload -U compinit && compinit -D -u && [[ $_comps[ktopk] == _ktopk ]] && autoload +X _ktopk'
if ! command -v zsh >/dev/null; then
  printf 'note: no zsh here, so its completion was not read\n'
elif ! zsh -n "$folder/_ktopk" || ! zsh -f -c "$in_zsh" zsh "$folder"; then
  printf 'zsh does not read _ktopk\n' >&2
  failed=1
fi

if ! command -v man >/dev/null; then
  printf 'note: no man here, so the manual page was not read\n'
else
  warnings=$(MANWIDTH=80 man --warnings -l "$folder/ktopk.1" 2>&1 >/dev/null)
  page=$(MANWIDTH=80 man -l "$folder/ktopk.1" | cat)
  if [[ $warnings || $page != *--quantiles* ]]; then
    printf 'man does not read ktopk.1: %s\n' "$warnings" >&2
    failed=1
  fi
fi

exit "$failed"
