#!/usr/bin/env bash
# Tries each way to install the files that dist/build.sh made: in an empty folder, with a new HOME
# and the system's PATH. What cannot run here is skipped aloud.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
files=$PWD/target/release-files
session=$PWD/$(ls testdata/pi/v1/*/in/*.jsonl | head -n 1)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

skip() { echo "SKIP $1: $2"; }

bare() { # COMMAND...: runs it with nothing of this user
  mkdir -p "$work/home"
  (cd "$work/home" && env -i HOME="$work/home" PATH="${bins:+$bins:}/usr/bin:/bin" "$@")
}

works() { # WAY PROGRAM: the program runs, reads a session and lists an empty home
  local way=$1 program=$2
  bare "$program" --version >/dev/null
  bare "$program" detect "$session" | grep -q 'pi@1'
  bare "$program" list >/dev/null
  echo "ok   $way: $(bare "$program" --version)"
  rm -rf "$work/home"
}

(cd "$files" && sha256sum --quiet -c SHA256SUMS)

tarball=$(ls "$files"/copyist-*-"$(uname -m)"-unknown-linux-musl.tar.gz)
tar -C "$work" -xzf "$tarball"
folder=$work/$(basename "$tarball" .tar.gz)
works tarball "$folder/copyist"
[ "$(ls "$folder"/man/*.1 | wc -l)" -gt 20 ] && [ -s "$folder/completions/_copyist" ]
ldd "$folder/copyist" 2>&1 | grep -q 'statically linked\|not a dynamic' || { echo "not static"; exit 1; }

other=$(ls "$files"/copyist-*-aarch64-unknown-linux-musl.tar.gz 2>/dev/null || true)
if [ -n "$other" ] && [ "$(uname -m)" != aarch64 ]; then
  if command -v qemu-aarch64 >/dev/null; then
    tar -C "$work" -xzf "$other"
    printf '#!/bin/sh\nexec qemu-aarch64 %s "$@"\n' "$work/$(basename "$other" .tar.gz)/copyist" >"$work/emulated"
    chmod +x "$work/emulated"
    works "tarball for aarch64, emulated" "$work/emulated"
  else
    skip "tarball for aarch64" "no qemu-aarch64"
  fi
fi

bare env COPYIST_RELEASES="$files" sh "$files/install.sh" >/dev/null
works install.sh "$work/home/.local/bin/copyist"
cp -r "$files" "$work/broken"
printf x >>"$work/broken/$(basename "$tarball")"
if bare env COPYIST_RELEASES="$work/broken" sh "$files/install.sh" 2>/dev/null; then
  echo "a wrong checksum was accepted"
  exit 1
fi

if command -v dpkg-deb >/dev/null; then
  dpkg-deb -x "$files"/copyist_*_amd64.deb "$work/deb"
  works "Debian package" "$work/deb/usr/bin/copyist"
else
  skip "Debian package" "no dpkg-deb"
fi

if command -v npm >/dev/null; then
  npm install --silent --offline --global --prefix "$work/npm" "$files"/copyist-linux-x64-*.tgz >/dev/null
  works npm "$work/npm/bin/copyist"
else
  skip npm "no npm"
fi

if ls "$files"/copyist-*.whl >/dev/null 2>&1; then
  python3 -m venv "$work/venv"
  "$work/venv/bin/pip" install --quiet --no-deps "$files"/copyist-*.whl
  works wheel "$work/venv/bin/copyist"
else
  skip wheel "it was not built"
fi

if command -v brew >/dev/null && [ -f "$files/copyist.rb" ]; then
  brew install --formula "$files/copyist.rb"
else
  skip Homebrew "no brew, or no formula"
fi
skip "cargo binstall" "nothing is published that it could find"
