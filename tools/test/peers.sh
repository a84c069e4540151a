#!/bin/sh
# Real programs that some specs are held against (nginx, dig, nsupdate). As root they are installed from Debian's packages;
# otherwise the specs that need a missing one say so and are skipped. Nothing is started.
set -eu
missing=''
command -v nginx >/dev/null 2>&1 || [ -x /usr/sbin/nginx ] || missing="$missing nginx-light"
command -v nsupdate >/dev/null 2>&1 || missing="$missing bind9-dnsutils"
command -v openssl >/dev/null 2>&1 || missing="$missing openssl"
[ -n "$missing" ] || { echo 'Every program is there.'; exit 0; }
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
  echo "Not installed, their specs are skipped:$missing"
  exit 0
fi
# Debian starts a server when it is installed; this one must not listen on all addresses.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  printf '#!/bin/sh\nexit 101\n' > "$policy"
  chmod +x "$policy"
  trap 'rm -f "$policy"' EXIT
fi
export DEBIAN_FRONTEND=noninteractive
# A mirror that is away must not fail a change: the specs then say that they are skipped.
# shellcheck disable=SC2086
if apt-get update -qq && apt-get install -y -qq --no-install-recommends $missing >/dev/null; then
  echo "Installed:$missing"
else
  echo "Could not be installed, their specs are skipped:$missing"
fi
