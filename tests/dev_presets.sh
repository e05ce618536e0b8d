#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Which preset and which architecture ./dev takes for a GPU: with programs that answer as those of a machine would.
# shellcheck disable=SC2016 # what other shells expand
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

# program NAME TEXT: a program of the machine that prints the text.
program() {
  printf '#!/bin/sh\ncat <<END\n%s\nEND\n' "$2" >"$work/bin/$1"
  chmod +x "$work/bin/$1"
}

nvidia_gpu() {
  program nvidia-smi ''
  printf '#!/bin/sh\ncase $1 in\n-L) echo "GPU 0: a test" ;;\n*) printf "%s\\n" ;;\nesac\n' "$1" >"$work/bin/nvidia-smi"
}
nvcc() { program nvcc "$(printf 'compute_%s\n' "$@")"; }
newest=(75 80 86 87 88 89 90 100 110 103 120 121)

machine() {
  rm -rf "${work:?}/bin" && mkdir "$work/bin"
  # Nothing else of this machine's own.
  local tool
  for tool in bash cat grep head paste sed sh sort; do ln -s "$(command -v $tool)" "$work/bin/$tool"; done
  unset KTOPK_CUDA_ARCHITECTURE KTOPK_HIP_ARCHITECTURE
  amd=$work/none
}

# ask COMMAND: in a shell that knows what ./dev knows, on this machine.
ask() {
  PATH=$work/bin bash -euo pipefail -c '
    say() { printf "%s\n" "$*"; }
    die() { printf "%s\n" "$*"; exit 2; }
    our_kokkos=0
    installed_kokkos() { :; }
    . "$1/cmake/devices.bash"
    amd_device=$2
    eval "$3"' - "$root" "$amd" "$1" 2>&1
}

# expect WHAT TEXT COMMAND: the command's output has the text.
expect() {
  local output
  output=$(ask "$3") || true
  [[ $output == *"$2"* ]] || {
    printf '%s: not "%s" but:\n%s\n' "$1" "$2" "$output" >&2
    failed=$((failed + 1))
  }
}
cuda='choose_architecture cuda; echo "[$cuda_architecture${kokkos_cuda_names[$cuda_architecture]}$(architecture_suffix cuda)]"'
hip='choose_architecture hip; echo "[$hip_architecture$(architecture_suffix hip)]"'

machine
expect "a machine without a GPU" openmp device_preset
nvcc "${newest[@]}"
expect "nvcc without a GPU" openmp device_preset
expect "nvcc without a GPU" "[90HOPPER90]" "$cuda"
expect "nvcc without a GPU" "architecture sm_90, for no GPU here" "$cuda"
expect "another preset" "[]" 'choose_architecture openmp; echo "[$cuda_architecture$(architecture_suffix openmp)]"'

nvidia_gpu 9.0
expect "an H100" cuda device_preset
expect "an H100" "[90HOPPER90]" "$cuda"
nvidia_gpu 8.0
expect "an A100" "[80AMPERE80-sm_80]" "$cuda"
expect "an A100" "architecture sm_80, that of the GPU here" "$cuda"
nvidia_gpu 12.0
expect "an RTX 5090" "[120BLACKWELL120-sm_120]" "$cuda"
nvidia_gpu 12.1
expect "a GB10" "[120BLACKWELL120-sm_120]" "$cuda"
expect "a GB10" "sm_120, the nearest" "$cuda"
nvidia_gpu '9.0\n8.6'
expect "two GPUs" "[86AMPERE86-sm_86]" "$cuda"
nvidia_gpu 'Field "compute_cap" is not a valid field to query.'
expect "an old driver" "[90HOPPER90]" "$cuda"
nvidia_gpu 6.1
expect "a GPU that is too old" "the GPU here is an sm_61, which is older than all" "$cuda"
nvidia_gpu 10.0 && nvcc 50 60 70 75 80 86 87 89 90 90a
expect "an nvcc that is older than the GPU" "[90HOPPER90]" "$cuda"

export KTOPK_CUDA_ARCHITECTURE=86
expect "a named architecture" "[86AMPERE86-sm_86]" "$cuda"
expect "a named architecture" "which KTOPK_CUDA_ARCHITECTURE names" "$cuda"
KTOPK_CUDA_ARCHITECTURE=8.6
expect "a misspelled architecture" "KTOPK_CUDA_ARCHITECTURE is '8.6', which is none of those" "$cuda"
expect "a misspelled architecture" "know: 70 75 80 86 87 89 90" "$cuda"

machine
amd=$work
expect "an AMD GPU without hipcc" openmp device_preset
program hipcc ''
expect "an AMD GPU" hip device_preset
expect "an AMD GPU of an unknown kind" "[gfx942]" "$hip"
program rocm_agent_enumerator $'gfx000\ngfx90a'
expect "an MI250" "[gfx90a-gfx90a]" "$hip"
export KTOPK_HIP_ARCHITECTURE=gfx1100
expect "a named architecture" "[gfx1100-gfx1100]" "$hip"
nvcc "${newest[@]}" && nvidia_gpu 8.9
expect "both GPUs" cuda device_preset

((failed == 0)) && printf 'dev_presets: passed\n'
