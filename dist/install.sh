#!/bin/sh
# Installs copyist for one user: the command, its manual pages and completions.
#
#   COPYIST_RELEASES=ADDRESS sh install.sh [VERSION]
#
# ADDRESS is the folder or web address of the releases, which has a folder for each version, or is
# such a folder itself. PREFIX is where files go; the default is ~/.local. The checksum is verified
# before anything is unpacked.
set -eu

fail() {
  echo "install.sh: $1" >&2
  exit 1
}

releases=${COPYIST_RELEASES:-}
[ -n "$releases" ] || fail "COPYIST_RELEASES names no folder or address of releases"
prefix=${PREFIX:-$HOME/.local}
case $(uname -s)-$(uname -m) in
Linux-x86_64 | Linux-amd64) target=x86_64-unknown-linux-musl ;;
Linux-aarch64 | Linux-arm64) target=aarch64-unknown-linux-musl ;;
*) fail "there is no binary for $(uname -s) on $(uname -m); \`cargo install\` builds one" ;;
esac

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fetch() { # NAME: gets a file of the release into the working folder
  from=${releases%/}${1:+${version:+/$version}}/$1
  case $from in
  http://* | https://*)
    if command -v curl >/dev/null; then
      curl -fsSL -o "$work/$1" "$from"
    elif command -v wget >/dev/null; then
      wget -q -O "$work/$1" "$from"
    else
      fail "needs curl or wget"
    fi
    ;;
  *) cp "${from#file://}" "$work/$1" ;;
  esac || fail "cannot get $from"
}

version=${1:-}
fetch SHA256SUMS
name=$(sed -n "s/^.*  \(copyist-.*-$target\.tar\.gz\)\$/\1/p" "$work/SHA256SUMS" | head -n 1)
[ -n "$name" ] || fail "the release has no file for $target"
fetch "$name"
(
  cd "$work"
  grep -F "  $name" SHA256SUMS >sum
  if command -v sha256sum >/dev/null; then sha256sum -c sum; else shasum -a 256 -c sum; fi >/dev/null
) || fail "$name does not have its checksum"
tar -C "$work" -xzf "$work/$name"
from=$work/${name%.tar.gz}

mkdir -p "$prefix/bin" "$prefix/share/man/man1" "$prefix/share/bash-completion/completions" \
  "$prefix/share/zsh/site-functions" "$prefix/share/fish/vendor_completions.d"
# A running copyist keeps its file.
cp "$from/copyist" "$prefix/bin/.copyist.new"
mv -f "$prefix/bin/.copyist.new" "$prefix/bin/copyist"
cp "$from"/man/*.1 "$prefix/share/man/man1"
cp "$from/completions/copyist.bash" "$prefix/share/bash-completion/completions/copyist"
cp "$from/completions/_copyist" "$prefix/share/zsh/site-functions/_copyist"
cp "$from/completions/copyist.fish" "$prefix/share/fish/vendor_completions.d/copyist.fish"

echo "$("$prefix/bin/copyist" --version) is in $prefix/bin"
case :$PATH: in
*:"$prefix/bin":*) ;;
*) echo "add it to PATH: export PATH=\"$prefix/bin:\$PATH\"" ;;
esac
