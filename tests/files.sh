# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# shellcheck shell=bash
# For the tests that read all files: sets `root`, to FOLDER or this checkout.
root=${1:-$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)}

# Outside a git checkout, as in a release archive, every file counts but those of build trees.
files() {
  if [[ -e $root/.git ]]; then
    git -C "$root" ls-files
  else
    (cd "$root" && find . -type f -not -path './build*/*' -printf '%P\n')
  fi
}
