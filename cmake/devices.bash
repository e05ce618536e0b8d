# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# shellcheck shell=bash
# What GPU ./dev builds for: its preset and its architecture. The caller has say, die,
# our_kokkos and installed_kokkos.

amd_device=/dev/kfd

has_device() {
  case $1 in
    cuda | portable) nvidia-smi -L 2>/dev/null | grep -q GPU ;;
    hip) [[ -e $amd_device ]] ;;
  esac
}

# device_preset: that of the GPU here, if its compiler is here, too.
device_preset() {
  if command -v nvcc >/dev/null && has_device cuda; then
    echo cuda
  elif command -v hipcc >/dev/null && has_device hip; then
    echo hip
  else
    echo openmp
  fi
}

# How our Kokkos names the architectures of NVIDIA's that it knows.
declare -A kokkos_cuda_names=([70]=VOLTA70 [72]=VOLTA72 [75]=TURING75 [80]=AMPERE80 [86]=AMPERE86 [87]=AMPERE87
  [89]=ADA89 [90]=HOPPER90 [100]=BLACKWELL100 [120]=BLACKWELL120)

# Those of them that nvcc compiles for, in ascending order.
cuda_architectures() {
  local number
  for number in $(nvcc --list-gpu-arch 2>/dev/null | sed -n 's/^compute_//p' | sort -n); do
    [[ ! ${kokkos_cuda_names[$number]:-} ]] || echo "$number"
  done
}

# Of several GPUs the oldest: the others run its code, but not the reverse.
cuda_capability() {
  nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null |
    sed -nE 's/^ *([0-9]+)[.]([0-9]) *$/\1\2/p' | sort -n | head -n 1
}

# nearest_architecture number architecture...: the largest one that is not above the number.
nearest_architecture() {
  local number=$1 nearest='' architecture
  shift
  for architecture in "$@"; do
    ((architecture > number)) || nearest=$architecture
  done
  echo "$nearest"
}

# choose_cuda_architecture: sets cuda_architecture, and architecture_reason. What the user says counts before the GPU.
cuda_architecture=''
choose_cuda_architecture() {
  local all device wanted=${KTOPK_CUDA_ARCHITECTURE:-}
  read -ra all <<<"$(cuda_architectures | paste -sd ' ')"
  device=$(cuda_capability) || true
  if [[ $wanted ]]; then
    cuda_architecture=$wanted architecture_reason="which KTOPK_CUDA_ARCHITECTURE names"
    [[ " ${all[*]} " == *" $wanted "* ]] ||
      die "KTOPK_CUDA_ARCHITECTURE is '$wanted', which is none of those that nvcc and Kokkos $our_kokkos know: ${all[*]}"
  elif [[ $device ]]; then
    cuda_architecture=$(nearest_architecture "$device" "${all[@]}") architecture_reason="that of the GPU here"
    [[ $cuda_architecture ]] ||
      die "the GPU here is an sm_$device, which is older than all that nvcc and Kokkos $our_kokkos know: ${all[*]}"
    [[ $cuda_architecture == "$device" ]] ||
      architecture_reason="the nearest that nvcc and Kokkos $our_kokkos know to the GPU here, an sm_$device"
  else
    cuda_architecture=90 architecture_reason="for no GPU here names another, nor does KTOPK_CUDA_ARCHITECTURE"
  fi
}

# choose_hip_architecture: sets hip_architecture, in the same order. gfx000 is the processor.
hip_architecture=''
choose_hip_architecture() {
  local device
  device=$(rocm_agent_enumerator 2>/dev/null | grep -v '^gfx000$' | head -n 1) || true
  hip_architecture=${KTOPK_HIP_ARCHITECTURE:-${device:-gfx942}}
  if [[ ${KTOPK_HIP_ARCHITECTURE:-} ]]; then
    architecture_reason="which KTOPK_HIP_ARCHITECTURE names"
  elif [[ $device ]]; then
    architecture_reason="that of the GPU here"
  else
    architecture_reason="for no GPU here names another, nor does KTOPK_HIP_ARCHITECTURE"
  fi
}

# choose_architecture preset: once, and only where ./dev builds the Kokkos: an installed one has its own.
choose_architecture() {
  case $1 in
    cuda | portable)
      [[ ! $cuda_architecture && ! $(installed_kokkos Cuda) ]] || return 0
      choose_cuda_architecture
      say "architecture sm_$cuda_architecture, $architecture_reason"
      ;;
    hip)
      [[ ! $hip_architecture && ! $(installed_kokkos HIP) ]] || return 0
      choose_hip_architecture
      say "architecture $hip_architecture, $architecture_reason"
      ;;
  esac
}

# architecture_suffix preset: what the names of its folders have, unless it is the usual one.
architecture_suffix() {
  case $1 in
    cuda | portable) [[ ${cuda_architecture:-90} == 90 ]] || echo "-sm_$cuda_architecture" ;;
    hip) [[ ${hip_architecture:-gfx942} == gfx942 ]] || echo "-$hip_architecture" ;;
  esac
}
