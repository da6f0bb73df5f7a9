#!/bin/sh
# The NEON build: cross-compiled for 64-bit Arm, its tests, a check and the judge run by qemu-user. `./run neon` installs
# the compiler first. The libraries are unpacked into build/neon-root: the machine's own packages stay as they are.
set -eu
cd "$(dirname "$0")/.."
root=$PWD/build/neon-root
# Programs whose subject the processor is; what runs a backend that is the same code everywhere is left to the other builds.
tests='cpu[a-z_]*|interface|errors|axpy|select|special_values'
# The libraries that ./run's packages bring, with what they load. libgfortran, for OpenBLAS, comes with the compiler.
libraries="doctest-dev libboost-context1.74-dev libboost-context1.74.0 libboost1.74-dev libcli11-dev libeigen3-dev
  libfmt-dev libfmt9 libhwy-dev libhwy1 libopenblas0-pthread nlohmann-json3-dev"

started=$(date +%s)
step() { printf '\n== %s (after %s s)\n' "$1" "$(($(date +%s) - started))"; }

# apt ARCHITECTURE ARGUMENT...: apt-get with lists of its own, which neither reads nor writes what is installed.
apt() {
  of=$1; shift
  mkdir -p "$root/apt/$of/lists/partial" "$root/apt/$of/cache/archives/partial"
  apt-get -q -o APT::Architecture="$of" -o APT::Architectures="$of" -o Dir::State::status=/dev/null \
    -o Dir::State::lists="$root/apt/$of/lists" -o Dir::Cache="$root/apt/$of/cache" -o APT::Sandbox::User= \
    -o APT::Update::Error-Mode=any "$@"
}

# The machine's mirror of Debian, and its release.
mirror() { apt arm64 indextargets --format '$(REPO_URI) $(CODENAME)' 'Created-By: Packages' 'Label: Debian' 'Component: main'; }

unpack_libraries() {
  apt arm64 update
  (cd "$root/packages" && apt arm64 download $libraries)
  for package in "$root"/packages/*.deb; do dpkg-deb -x "$package" "$root"; done
  # Debian's alternatives would make this link.
  ln -sf openblas-pthread/libopenblas.so.0 "$root/usr/lib/aarch64-linux-gnu/libopenblas.so.0"
}

# Before version 8 qemu-user kept a record of every page that is reserved: gigabytes for the judge's unmapped windows.
qemu_is_new() {
  version=$(qemu-aarch64 --version 2>/dev/null | sed -n 's/^qemu-aarch64 version \([0-9]*\).*/\1/p')
  [ "${version:-0}" -ge 8 ]
}

# Debian 12 has such a qemu among its backports.
unpack_qemu() {
  host=$(dpkg --print-architecture)
  mirror | grep -v -e '-updates$' | sed -n '1s/\([^ ]*\) \(.*\)/deb \1 \2 main\ndeb \1 \2-backports main/p' >"$root/qemu.list"
  release=$(sed -n '1s/.* \(.*\) main/\1/p' "$root/qemu.list")
  set -- "$host" -o Dir::Etc::SourceList="$root/qemu.list" -o Dir::Etc::SourceParts=/dev/null
  apt "$@" update
  (cd "$root" && apt "$@" -t "$release-backports" download qemu-user)
  dpkg-deb --fsys-tarfile "$root"/qemu-user_*.deb | tar -x -C "$root" ./usr/bin/qemu-aarch64
  rm "$root"/qemu-user_*.deb
}

# logged NAME COMMAND...: keeps its output in build/NAME.log, and shows the end where it fails.
logged() {
  log=build/$1.log; shift
  if ! "$@" >"$log" 2>&1; then
    tail -n 40 "$log" >&2
    echo "run: '$*' failed (whole log: $log)" >&2
    exit 1
  fi
}

export PATH="$root/usr/bin:$PATH"
if [ "$(cat "$root/complete" 2>/dev/null)" != "$libraries" ] || ! qemu_is_new; then
  if [ "${TANDEM_SETUP:-1}" = 0 ]; then
    echo "run: build/neon-root lacks libraries or qemu-user (TANDEM_SETUP=0: nothing is fetched)" >&2
    exit 1
  fi
  step "arm64 libraries and qemu, into build/neon-root"
  rm -rf "$root"
  mkdir -p "$root/packages"
  logged neon-root unpack_libraries
  qemu_is_new || logged neon-qemu unpack_qemu
  rm -r "$root/apt" "$root/packages"
  echo "$libraries" >"$root/complete"
fi
qemu-aarch64 --version | head -n 1

step "building preset neon (log: build/neon.log)"
logged neon-configure cmake --preset neon ${TANDEM_CMAKE_ARGS:-}
programs=$(ninja -C build/neon -t targets all | sed -nE "s/^(test_($tests)): phony\$/\1/p")
logged neon cmake --build --preset neon --target tandem_command $programs

step "tests"
mkdir -p build/neon/junit
ctest --test-dir build/neon -R "^($tests)\$" --output-on-failure --output-junit junit/ctest.xml

emulator=$(sed -n 's/^CMAKE_CROSSCOMPILING_EMULATOR:STRING=//p' build/neon/CMakeCache.txt | tr ';' ' ')
tandem() { $emulator build/neon/tandem "$@"; }
step "every NEON kernel on odd shapes, beside Eigen and OpenBLAS"
odd="--m 1,37,65 --n 1,41,97 --k 1,67"
# shellcheck disable=SC2086  # several words
tandem check --kernels 'cpu.neon.*' --against eigen,openblas $odd --jobs 0
# With tiny caches the blocks are small, and all five loops wrap on small shapes.
# shellcheck disable=SC2086  # several words
TANDEM_CACHES=2K,8K,32K tandem check --kernels 'cpu.neon.*' --against eigen,openblas $odd --jobs 0

step "the judge"
tandem check --kernels 'cpu.neon.*' --level quick
step "done"
