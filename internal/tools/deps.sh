#!/bin/sh
# Installs Debian packages when a command they bring is missing.
# usage: deps.sh "COMMAND ..." "PACKAGE ..."
set -eu

PATH=$PATH:/usr/sbin:/sbin # where users are not led by default
missing=
for c in $1; do
  command -v "$c" >/dev/null 2>&1 || missing="$missing $c"
done
# The race detector needs the C library's headers, which bring no command.
[ -e /usr/include/stdlib.h ] || missing="$missing libc6-dev"
[ -n "$missing" ] || exit 0

if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
  echo "missing:$missing. Please install (as root on Debian): apt-get install --no-install-recommends $2" >&2
  exit 1
fi

# A package's service must not start: the tests start their own. A policy that
# exists already is kept.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod 755 "$policy"
  trap 'rm -f "$policy"' EXIT
fi
export DEBIAN_FRONTEND=noninteractive
apt-get -qq update
# shellcheck disable=SC2086 # a list of packages
apt-get -qq install -y --no-install-recommends $2 >/dev/null
