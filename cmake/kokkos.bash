# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# shellcheck shell=bash
# How ./dev comes by a Kokkos for a preset: an installed one, or one built in the user's cache folder.

oldest_kokkos=4.5.01
our_kokkos=4.7.00

devices_of() {
  case $1 in
    serial | aarch64) echo Serial ;;
    openmp | papers) echo Serial OpenMP ;;
    # One host backend halves what is to be compiled, and is a Kokkos that users have, too.
    asan) echo OpenMP ;;
    threads | tsan) echo Threads ;;
    cuda | portable) echo Serial Cuda ;;
    hip) echo Serial HIP ;;
    *) die "no preset '$1' (there are serial, openmp, threads, cuda, portable, hip, aarch64, asan, tsan)" ;;
  esac
}

# installed_kokkos device: prints the prefix of the first new enough Kokkos that has it.
installed_kokkos() {
  local prefix config version
  for prefix in ${Kokkos_ROOT:+"$Kokkos_ROOT"} /usr/local /usr; do
    for config in "$prefix"/lib*/cmake/Kokkos "$prefix"/lib/*/cmake/Kokkos; do
      [[ -f $config/KokkosConfigVersion.cmake ]] || continue
      version=$(sed -nE 's/^ *set\(PACKAGE_VERSION "(.*)"\)/\1/Ip' "$config/KokkosConfigVersion.cmake" | head -n 1)
      at_least $oldest_kokkos "$version" || continue
      grep -qiE "^ *set\(Kokkos_DEVICES.*\b$1\b" "$config/KokkosConfigCommon.cmake" || continue
      echo "$prefix"
      return
    done
  done
}

# No source package is Kokkos alone; these two carry it whole and unchanged.
fetch_kokkos() {
  local version=$1 package folder sum
  case $version in
    4.7.00) package=pygenten-0.1.5 folder=tpls/kokkos sum=e620f05c742905e2db705d875f1cac92ef0ed453f9e6734e9beda26cc0f9cce7 ;;
    4.5.01) package=pycompadre-1.7.6 folder=kokkos sum=c766ec4d445ce076069be4b8c51a23ffac4ee79ea949ca86446bfd8c299b154c ;;
  esac
  local work=$cache/src.partial name=${package%-*}
  rm -rf "$work" &&
    mkdir -p "$work" "$cache/src" &&
    "$cache/venv/bin/pip" download --no-deps --no-binary "$name" -d "$work" "$name==${package#*-}" &&
    sha256sum -c <<<"$sum  $work/$package.tar.gz" &&
    tar xzf "$work/$package.tar.gz" -C "$work" "$package/$folder" &&
    patch_for_cuda_13 "$work/$package/$folder/core/src/Cuda/Kokkos_Cuda_Instance.hpp" &&
    mv "$work/$package/$folder" "$cache/src/kokkos-$version" &&
    rm -rf "$work"
}

need_kokkos_source() {
  [[ ! -d $cache/src/kokkos-$1 ]] || return 0
  pip_venv
  step "getting the source of Kokkos $1 (about 10 s)" fetch_kokkos "$1"
}

# Kokkos 4.7.00 is older than CUDA 13, which changed the arguments of two functions.
patch_for_cuda_13() {
  sed -i -E \
    -e 's/^( *)return cudaGraphAddDependencies\(graph, from, to, numDependencies\);/#if CUDART_VERSION >= 13000\n\1return cudaGraphAddDependencies(graph, from, to, nullptr, numDependencies);\n#else\n&\n#endif/' \
    -e 's/^( *)return cudaMemPrefetchAsync\(devPtr, count, dstDevice, m_stream\);/#if CUDART_VERSION >= 13000\n\1cudaMemLocation place{};\n\1place.type = dstDevice < 0 ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice;\n\1place.id = dstDevice < 0 ? 0 : dstDevice;\n\1return cudaMemPrefetchAsync(devPtr, count, place, 0, m_stream);\n#else\n&\n#endif/' \
    "$1"
}

# build_kokkos preset source prefix device...
build_kokkos() {
  local preset=$1 source=$2 prefix=$3 flags='' work=$3.build device
  shift 3
  [[ $preset != tsan ]] || flags='-fsanitize=thread -g'
  local options=(-DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_STANDARD=20 -DCMAKE_POSITION_INDEPENDENT_CODE=ON
    -DCMAKE_CXX_EXTENSIONS=OFF "-DCMAKE_CXX_FLAGS=$flags" "-DCMAKE_INSTALL_PREFIX=$prefix")
  for device in "$@"; do
    options+=("-DKokkos_ENABLE_${device^^}=ON")
  done
  case " $* " in
    # Legacy Views: from nvcc 12.9 on, the mdspan Views of 4.7.00 differ between host and device.
    *' Cuda '*) options+=(-DKokkos_ENABLE_COMPILE_AS_CMAKE_LANGUAGE=ON -DKokkos_ENABLE_IMPL_VIEW_LEGACY=ON
      "-DKokkos_ARCH_${kokkos_cuda_names[$cuda_architecture]}=ON" -DCMAKE_CUDA_RUNTIME_LIBRARY=Static) ;;
    *' HIP '*) options+=(-DCMAKE_CXX_COMPILER=hipcc "-DKokkos_ARCH_AMD_${hip_architecture^^}=ON") ;;
  esac
  # A cross compiler's CMake does not find libdl, which only profiling tools need.
  [[ $preset != aarch64 ]] ||
    options+=("-DCMAKE_TOOLCHAIN_FILE=$root/cmake/aarch64.cmake" -DKokkos_ENABLE_LIBDL=OFF)
  rm -rf "$work" "$prefix" &&
    cmake -S "$source" -B "$work" -G Ninja "${options[@]}" &&
    cmake --build "$work" --target install &&
    rm -rf "$work" &&
    touch "$prefix/complete"
}

# use_kokkos preset [version]: sets kokkos to the prefix of one that fits, building it if it must.
use_kokkos() {
  local preset=$1 version=${2:-} devices compiler
  read -ra devices <<<"$(devices_of "$preset")"
  # devices_of has said why, but in a shell of its own.
  ((${#devices[@]})) || exit 2
  kokkos=''
  [[ $version || $preset == tsan || $preset == aarch64 ]] || kokkos=$(installed_kokkos "${devices[-1]}")
  if [[ $kokkos ]]; then
    say "Kokkos for $preset: the installed one in $kokkos"
    return
  fi
  version=${version:-$our_kokkos}
  choose_architecture "$preset"
  compiler=$(basename "$CXX")-$("$CXX" -dumpfullversion -dumpversion)
  case $preset in
    cuda | portable)
      compiler+=-nvcc-$(nvcc --version | sed -nE 's/.*, V([0-9.]+)$/\1/p')$(architecture_suffix "$preset") ;;
    aarch64) compiler=aarch64-linux-gnu-g++-$(aarch64-linux-gnu-g++ -dumpfullversion) ;;
    hip) compiler=hipcc-$(hipcc --version | sed -nE 's/^HIP version: ([0-9.]+).*/\1/p')-$hip_architecture ;;
  esac
  kokkos=$cache/kokkos-$version/$compiler-$(IFS=-; echo "${devices[*]}")
  [[ $preset != tsan ]] || kokkos+=-thread
  if [[ ! -e $kokkos/complete ]]; then
    need_kokkos_source "$version"
    step "building Kokkos $version with ${devices[*]} (about $([[ ${devices[-1]} == Cuda ]] && echo 80 || echo 30) s on 2 cores)" \
      build_kokkos "$preset" "$cache/src/kokkos-$version" "$kokkos" "${devices[@]}"
  fi
  say "Kokkos for $preset: $version in $kokkos"
  [[ ! ${2:-} ]] || return 0
  mkdir -p "$cache/preset"
  ln -sfn "$kokkos" "$cache/preset/$preset"
}
