#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Writes the archive of a release, build/ktopk-VERSION.tar.gz, from the tag vVERSION of the checkout, and prints the line of
# the Spack recipe. The same tag gives the same bytes.
# usage: archive.sh VERSION
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

die() { printf 'archive: %s\n' "$*" >&2; exit 2; }

version=${1:?archive.sh needs a version, for example 0.2.0}
archive=build/ktopk-$version.tar.gz
git rev-parse -q --verify "v$version^{commit}" >/dev/null || die "there is no tag v$version"
named=$(git show "v$version:CMakeLists.txt" | sed -nE 's/^project\(ktopk VERSION ([0-9.]+).*/\1/p')
[[ $named == "$version" ]] || die "CMakeLists.txt of the tag v$version names version $named"

mkdir -p build
git archive --prefix="ktopk-$version/" "v$version" | gzip -9n >"$archive"
sum=$(sha256sum "$archive")
printf 'wrote %s; in spack/spack_repo/ktopk/packages/ktopk/package.py:\n    version("%s", sha256="%s")\n' \
  "$archive" "$version" "${sum%% *}"
