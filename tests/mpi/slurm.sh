#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What a job of the examples asks srun for, with a srun that tells. usage: slurm.sh JOB
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/srun" <<'END'
#!/bin/sh
echo "$* with $OMP_NUM_THREADS threads, $OMP_PROC_BIND, $OMP_PLACES"
END
chmod +x "$work/srun"

case $(basename "$1") in
  mpi_top_k.slurm) wanted='--cpu-bind=sockets ./mpi_top_k with 32 threads, spread, threads' ;;
  mpi_top_k_gpu.slurm) wanted='--cpus-per-task=8 --cpu-bind=cores ./app with 8 threads, spread, threads' ;;
  *) printf 'unknown job %s\n' "$1" >&2; exit 2 ;;
esac
tasks=$(sed -n 's/^#SBATCH --ntasks-per-node=//p' "$1")
told=$(PATH=$work:$PATH SLURM_CPUS_ON_NODE=64 SLURM_NTASKS_PER_NODE=$tasks bash -euo pipefail "$1")
[[ $told == "$wanted" ]] || { printf 'the job asks for "%s", not "%s"\n' "$told" "$wanted" >&2; exit 1; }
# sbatch reads options up to the first command.
options=$(sed '/^[^#]/q' "$1" | grep -c '^#SBATCH --[a-z-]*\(=[0-9:]*\)\?$')
[[ $options == "$(grep -c '^#SBATCH' "$1")" ]] || { printf 'an option of %s is not read\n' "$1" >&2; exit 1; }
