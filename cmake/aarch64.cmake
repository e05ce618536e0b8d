# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A toolchain for ARM hosts: Debian's cross compiler (crossbuild-essential-arm64), and QEMU to run what it makes.

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /usr/aarch64-linux-gnu)
