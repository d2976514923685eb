#!/usr/bin/env bash
# Builds the files of a release into target/release-files: for each target a tarball with a static
# binary, manual pages and completions; a Debian package, an npm package, a wheel, a Homebrew
# formula, checksums. What cannot be built here is skipped aloud. Publishes nothing.
#
#   dist/build.sh [TARGET]...        the default is x86_64-unknown-linux-musl
#
# Needs Rust and a C compiler for each target (Debian: musl-tools; for aarch64-unknown-linux-musl,
# also gcc-aarch64-linux-gnu). COPYIST_RELEASES is the address below which the files will be
# published, one folder for each version; without it, no formula is written.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
out=target/release-files
# Files of one commit are the same wherever they are built.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
if [ $# -gt 0 ]; then targets=("$@"); else targets=(x86_64-unknown-linux-musl); fi

skip() { echo "SKIP $1: $2"; }

packed() { # FOLDER FILE: a tarball that does not depend on who packs it
  tar -C "$(dirname "$1")" --sort=name --owner=0 --group=0 --numeric-owner \
    --mtime="@$SOURCE_DATE_EPOCH" -cf - "$(basename "$1")" | gzip -n9 >"$2"
}

compiled() { # TARGET: builds the binary
  rustup target add "$1" >/dev/null 2>&1 || true
  if [ "$1" = aarch64-unknown-linux-musl ]; then
    export CC_aarch64_unknown_linux_musl=aarch64-linux-gnu-gcc
    # The compiler has the headers of glibc, whose names for large files musl does not have.
    export CFLAGS_aarch64_unknown_linux_musl="-U_FORTIFY_SOURCE -DSQLITE_DISABLE_LFS"
    export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_LINKER=rust-lld
  fi
  CARGO_PROFILE_DIST_STRIP=symbols cargo build --locked --quiet --profile dist --target "$1"
}

described() { # FOLDER: adds manual pages and completions, made by a binary that runs here
  local folder=$1
  "$program" man --force "$folder/man" >/dev/null
  mkdir -p "$folder/completions"
  "$program" completions bash >"$folder/completions/copyist.bash"
  "$program" completions zsh >"$folder/completions/_copyist"
  "$program" completions fish >"$folder/completions/copyist.fish"
}

debian() { # FOLDER ARCHITECTURE: packs the contents of a tarball's folder for Debian
  local from=$1 root=$work/deb
  command -v dpkg-deb >/dev/null || { skip "Debian package" "no dpkg-deb"; return; }
  install -Dm755 "$from/copyist" "$root/usr/bin/copyist"
  for page in "$from"/man/*.1; do
    install -d "$root/usr/share/man/man1"
    gzip -n9 <"$page" >"$root/usr/share/man/man1/$(basename "$page").gz"
  done
  install -Dm644 "$from/completions/copyist.bash" "$root/usr/share/bash-completion/completions/copyist"
  install -Dm644 "$from/completions/_copyist" "$root/usr/share/zsh/vendor-completions/_copyist"
  install -Dm644 "$from/completions/copyist.fish" "$root/usr/share/fish/vendor_completions.d/copyist.fish"
  install -Dm644 LICENSE-MIT "$root/usr/share/doc/copyist/copyright"
  mkdir -p "$root/DEBIAN"
  cat >"$root/DEBIAN/control" <<EOF
Package: copyist
Version: $version
Architecture: $2
Maintainer: the copyist authors <copyist@localhost>
Section: utils
Priority: optional
Installed-Size: $(du -sk "$root/usr" | cut -f1)
Description: migrate, convert and repair the session files of AI coding agents
 Reads, checks, converts and repairs the sessions of Claude Code, Codex, pi,
 ConnectOnion, claude-agent-orchestrator and Codelia, losing nothing in silence.
EOF
  dpkg-deb --root-owner-group --build "$root" "$out/copyist_${version}_$2.deb" >/dev/null
  rm -r "$root"
}

npm_package() { # FOLDER CPU: packs the binary for npm
  local from=$1 root=$work/npm
  command -v npm >/dev/null || { skip "npm package" "no npm"; return; }
  install -Dm755 "$from/copyist" "$root/bin/copyist"
  cp README.md LICENSE-MIT LICENSE-APACHE "$root"
  cat >"$root/package.json" <<EOF
{
  "name": "copyist-linux-$2",
  "version": "$version",
  "description": "Migrate, convert, check and repair the session files of AI coding agents",
  "license": "MIT OR Apache-2.0",
  "bin": { "copyist": "bin/copyist" },
  "files": ["bin"],
  "os": ["linux"],
  "cpu": ["$2"]
}
EOF
  (cd "$root" && npm pack --silent --pack-destination "$OLDPWD/$out" >/dev/null)
  rm -r "$root"
}

wheel() {
  if ! python3 -m pip --version >/dev/null 2>&1; then
    skip "wheel" "no pip"
  elif ! log=$(python3 -m pip wheel --quiet --no-deps --wheel-dir "$out" ./python 2>&1); then
    skip "wheel" "$(tail -n 1 <<<"$log")"
  fi
}

formula() {
  local file=$out/copyist-$version-x86_64-unknown-linux-musl.tar.gz
  [ -f "$file" ] || return 0
  if [ -z "${COPYIST_RELEASES:-}" ]; then
    skip "Homebrew formula" "COPYIST_RELEASES names no address"
    return
  fi
  sed -e "s|@version@|$version|" -e "s|@address@|${COPYIST_RELEASES%/}/$version/$(basename "$file")|" \
    -e "s|@sha256@|$(sha256sum "$file" | cut -d' ' -f1)|" dist/copyist.rb.in >"$out/copyist.rb"
}

rm -rf "$out"
mkdir -p "$out"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
program=
for target in "${targets[@]}"; do
  if ! compiled "$target"; then
    skip "$target" "it cannot be built here"
    continue
  fi
  binary=target/$target/dist/copyist
  if [ -z "$program" ]; then
    if "$binary" --version >/dev/null 2>&1; then
      program=$binary
    else
      cargo build --locked --quiet && program=target/debug/copyist
    fi
  fi
  folder=$work/copyist-$version-$target
  install -Dm755 "$binary" "$folder/copyist"
  cp README.md CHANGELOG.md LICENSE-MIT LICENSE-APACHE "$folder"
  described "$folder"
  packed "$folder" "$out/copyist-$version-$target.tar.gz"
  case $target in
  x86_64-*-linux-*) debian "$folder" amd64 && npm_package "$folder" x64 ;;
  aarch64-*-linux-*) debian "$folder" arm64 && npm_package "$folder" arm64 ;;
  esac
done
wheel
cp dist/install.sh "$out"
formula
(cd "$out" && sha256sum -- * >SHA256SUMS)
ls -l "$out"
