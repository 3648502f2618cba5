#!/bin/sh
# Installs the command `rego-platform` from a release, after its digest was verified:
#
#   sh install.sh [--version VERSION] [--to FOLDER] [--from ADDRESS] [--sha256 DIGEST] [--attested]
#
# --sha256 is the digest of the archive. Without it, the digest in the release's SHA256SUMS is used, which
# protects against broken downloads only. --attested also verifies, with GitHub's `gh`, that the release's own
# workflow built the archive.
set -eu

version=0.1.0
repository=OWNER/rego-platform
folder=$HOME/.local/bin
from=
digest=
attested=

fail() {
    echo "error: $1" >&2
    exit 1
}

while [ $# -gt 0 ]; do
    case $1 in
    --attested) attested=yes && shift && continue ;;
    --version | --to | --from | --sha256) [ $# -gt 1 ] || fail "missing value of $1" ;;
    *) fail "unknown option: $1" ;;
    esac
    case $1 in
    --version) version=${2#v} ;;
    --to) folder=$2 ;;
    --from) from=$2 ;;
    --sha256) digest=$2 ;;
    esac
    shift 2
done
[ -n "$from" ] || from=https://github.com/$repository/releases/download/v$version

case $(uname -s) in
Linux)
    # The static binary needs no C library.
    libc=gnu
    if ldd --version 2>&1 | grep -qi musl; then libc=musl; fi
    system=unknown-linux-$libc
    ;;
Darwin) system=apple-darwin ;;
MINGW* | MSYS* | CYGWIN*) system=pc-windows-msvc ;;
*) fail "no binary for $(uname -s)" ;;
esac
case $(uname -m) in
x86_64 | amd64) target=x86_64-$system ;;
aarch64 | arm64) target=aarch64-$system ;;
*) fail "no binary for $(uname -m)" ;;
esac
name=rego-platform-$version-$target
archive=$name.tar.gz

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Also addresses of files, for a mirror in a folder.
download() {
    case $from in
    file://*) cp "${from#file://}/$1" "$work/$1" ;;
    *)
        if command -v curl >/dev/null; then
            curl --fail --silent --show-error --location --retry 3 --output "$work/$1" "$from/$1"
        else
            wget -q -O "$work/$1" "$from/$1"
        fi
        ;;
    esac || fail "can't download $from/$1"
}

download "$archive"
if [ -z "$digest" ]; then
    download SHA256SUMS
    digest=$(sed -n "s/^\([0-9a-f]\{64\}\)  $archive\$/\1/p" "$work/SHA256SUMS")
    [ -n "$digest" ] || fail "SHA256SUMS doesn't list $archive"
fi
if command -v sha256sum >/dev/null; then
    found=$(sha256sum "$work/$archive")
else
    found=$(shasum -a 256 "$work/$archive")
fi
found=${found%% *}
[ "$found" = "$digest" ] || fail "digest mismatch for $archive: expected $digest, found $found"
if [ -n "$attested" ]; then
    gh attestation verify "$work/$archive" --repo "$repository" \
        --signer-workflow "$repository/.github/workflows/release.yml" >&2 || fail "$archive isn't attested"
fi

tar -x -z -f "$work/$archive" -C "$work"
mkdir -p "$folder"
for binary in rego-platform rego-platform.exe; do
    [ -f "$work/$name/$binary" ] || continue
    # Beside the old one first, so that a running command isn't overwritten.
    cp "$work/$name/$binary" "$folder/.$binary.new"
    mv "$folder/.$binary.new" "$folder/$binary"
    echo "installed $folder/$binary ($found)"
done
