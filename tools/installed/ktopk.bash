# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Printed by `ktopk completion bash`.
_ktopk() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
  local command=${COMP_WORDS[1]} words='' files=no
  ((COMP_CWORD > 1)) || command='' previous=''
  case $command:$previous in
    :) words='select calibrate info completion man -h --help --version' ;;
    select:-k) : ;;
    select:--kth) : ;;
    select:--quantiles) : ;;
    select:--interpolation) words='higher linear lower midpoint nearest' ;;
    select:--from) words='bvecs csv fvecs ivecs npy raw text tsv' ;;
    select:--type) words='bf16 f16 f32 f64 i16 i32 i64 i8 u16 u32 u64 u8' ;;
    select:--shape) : ;;
    select:--column) : ;;
    select:--sep) : ;;
    select:--by) words='magnitude value' ;;
    select:--nan) words='greatest least' ;;
    select:--ties) words='any highest lowest' ;;
    select:--algorithm) words='automatic one_pass radix bitonic heap bucket sample quick sort bisection queue delegate' ;;
    select:--backend) words='serial openmp threads cuda hip sycl' ;;
    select:--output) files=yes ;;
    select:--to) words='csv npy table tsv' ;;
    select:--columns) words='both indices values' ;;
    select:--indices) files=yes ;;
    select:--values) files=yes ;;
    calibrate:--output) files=yes ;;
    calibrate:--backend) words='serial openmp threads cuda hip sycl' ;;
    info:--shape) : ;;
    info:-k) : ;;
    info:--type) words='bf16 f16 f32 f64 i16 i32 i64 i8 u16 u32 u64 u8' ;;
    info:--algorithm) words='automatic one_pass radix bitonic heap bucket sample quick sort bisection queue delegate' ;;
    info:--backend) words='serial openmp threads cuda hip sycl' ;;
    *)
      case $command:$current in
        select:-*) words='-h --help -k --kth --quantiles --interpolation --from --type --shape --column --sep --header --no-header --largest --smallest --by --nan --unsorted --ties --algorithm --backend --output --to --columns --indices --values' ;;
        select:*) files=yes ;;
        calibrate:-*) words='-h --help --output --backend' ;;
        info:-*) words='-h --help --shape -k --type --unsorted --algorithm --backend' ;;
        completion:-*) words='-h --help' ;;
        completion:*) words='bash zsh' ;;
        man:-*) words='-h --help' ;;
      esac
      ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
  if [[ $files == yes ]]; then
    compopt -o filenames
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
  fi
}
complete -F _ktopk ktopk
