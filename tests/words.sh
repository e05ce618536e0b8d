#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Names and prose use the field's terms: fails where a word of this list stands alone or as a part of a name.
# usage: words.sh [FOLDER]
set -euo pipefail

# shellcheck source=tests/files.sh
source "$(dirname "${BASH_SOURCE[0]}")/files.sh"

# Only words that have no other sense here.
declare -A instead=(
  [borderline]='tie splitter'
  [course]='monotonicity'
  [door]='API'
  [hall]='dispatcher'
  [judge]='validate'
  [peer]='baseline'
  [sieve]='prefilter'
  [sift]='filter'
  [stripe]='SIMD chunk'
  [survey]='min/max pass'
  [trial]='pilot read'
  [verdict]='validation'
  [winner]='selected element'
)

# Names of stored measurements and their inputs.
allowed='winners_last|-(few|many)-winners'

# Measurements, and this file.
skipped='perf/results/|tests/words[.]sh$'

# A word alone or as a part of a name: peer, Peers, peer_name, is_peer, isPeer, PEERS; but not appear.
pattern() {
  local word=$1 begins
  begins="(^|[^A-Za-z])($word|${word^}|${word^^})"
  printf '(%s|[a-z]%s)[sS]?([^a-z]|$)' "$begins" "${word^}"
}

# Prints each line of the files, and each of their paths, that matches without the allowed names.
search() {
  # shellcheck disable=SC2016 # awk's own fields
  local program='{ text = $0; gsub(ENVIRON["ALLOWED"], "", text) } text ~ ENVIRON["PATTERN"]'
  export ALLOWED=$allowed PATTERN=$1
  printf '%s\n' "${checked[@]}" | awk "$program"
  awk "$program { print FILENAME \":\" FNR \": \" \$0 }" "${checked[@]}"
}

cd "$root"
checked=()
while IFS= read -r file; do
  [[ ! -f $file || $file =~ ^($skipped) || $file =~ [.](npy|png|svg)$ ]] || checked+=("$file")
done <<<"$(files)"
if ((${#checked[@]} == 0)); then
  printf 'words: no file found in %s\n' "$root" >&2
  exit 1
fi

found=0
for word in "${!instead[@]}"; do
  lines=$(search "$(pattern "$word")")
  [[ $lines ]] || continue
  found=$((found + 1))
  printf '%s\n  say "%s", not "%s"\n' "$lines" "${instead[$word]}" "$word" >&2
done
printf 'words: %d files, %d words of the list in them\n' "${#checked[@]}" "$found"
((found == 0))
