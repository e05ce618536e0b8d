#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: pkg_config.sh PKG_CONFIG FOLDER VERSION PROGRAM SOURCE COMPILER [FLAG...]
# Compiles SOURCE with what PKG_CONFIG says of the ktopk.pc in FOLDER, and runs it.
set -euo pipefail
pkg_config=$1 version=$3 program=$4 source=$5
export PKG_CONFIG_PATH=$2
shift 5

says=$("$pkg_config" --modversion ktopk)
[[ $says == "$version" ]] || { printf 'ktopk.pc is of version %s, not %s\n' "$says" "$version" >&2; exit 1; }
read -ra compile <<<"$("$pkg_config" --cflags ktopk)"
read -ra link <<<"$("$pkg_config" --libs ktopk)"
"$@" "${compile[@]}" -o "$program" "$source" "${link[@]}"
"$program"
