#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Builds the site: Doxygen reads the headers, Sphinx the pages. Every warning is an error.
# usage: build.sh FOLDER [SPHINX-BUILD]    the site is FOLDER/html/index.html
set -euo pipefail

docs=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mkdir -p "$1"
out=$(cd "$1" && pwd)
sphinx=${2:-sphinx-build}

export KTOPK_SOURCE=${docs%/*} KTOPK_DOXYGEN=$out/doxygen
# A page of a file that is gone would stay.
rm -rf "$KTOPK_DOXYGEN" "$out/html"
mkdir -p "$KTOPK_DOXYGEN"
(cd "$docs" && doxygen Doxyfile)
"$sphinx" -W --keep-going -q -c "$docs/site" -d "$out/doctrees" -b html -j auto "$docs" "$out/html"
