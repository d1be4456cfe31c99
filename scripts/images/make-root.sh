#!/bin/sh
# Makes a root file system of programs from this machine, the libraries that they load, a user (65532), /tmp, and
# nothing else: the base of an image without a shell or a package manager.
#   make-root.sh ROOT PROGRAM[=PATH]...   each at the path that it has here, or at PATH; /bin and /lib* are links into /usr
# On Debian it also adds the package data for scanners (var/lib/dpkg/status.d) and the licences of the packages.
set -eu

root=$1
shift
umask 022
mkdir -p "$root/etc" "$root/tmp" "$root/var/lib/dpkg/status.d"
chmod 755 "$root"
chmod 1777 "$root/tmp"
for directory in bin sbin lib lib64; do
  [ -e "/usr/$directory" ] || continue
  mkdir -p "$root/usr/$directory"
  ln -sfn "usr/$directory" "$root/$directory"
done
echo 'nonroot:x:65532:65532::/tmp:/sbin/nologin' >"$root/etc/passwd"
echo 'nonroot:x:65532:' >"$root/etc/group"
# hostAliases of a pod take precedence over the name server
echo 'hosts: files dns' >"$root/etc/nsswitch.conf"

add() { # FILE PATH
  [ ! -e "$root$2" ] || return 0
  mkdir -p "$root${2%/*}"
  cp -L "$1" "$root$2"
  origin=$(readlink -f "$1")
  # dpkg knows some files by their path before the merge of /usr
  origins="${origins-} $origin ${origin#/usr}"
}

for program in "$@"; do
  file=$(command -v "${program%%=*}")
  case $program in
    *=*) add "$file" "${program#*=}" ;;
    *) add "$file" "$file" ;;
  esac
  # lines such as `libc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x…)`, and the loader's own path
  for library in $(ldd "$file" | sed -nE 's/^(.* => |[[:space:]]*)(\/[^ ]+) \(0x.*/\2/p'); do
    add "$library" "$library"
  done
done

command -v dpkg-query >/dev/null || exit 0
# shellcheck disable=SC2086 # a list of paths
for package in $(dpkg-query --search $origins 2>/dev/null | sed 's/:.*//' | sort -u); do
  dpkg-query --status "$package" >"$root/var/lib/dpkg/status.d/$package"
  licence=usr/share/doc/$package/copyright
  [ -e "/$licence" ] || continue
  mkdir -p "$root/${licence%/*}"
  cp -L "/$licence" "$root/$licence"
done
