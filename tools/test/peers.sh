#!/bin/sh
# Real programs that some specs and benchmarks are held against: nginx, dig and nsupdate, the name servers that tools/peers
# starts (BIND, Knot, PowerDNS, Unbound), the ACME test server pebble, the ACME clients lego and certbot, certspotter, and the servers that
# certs-v2 hands out configuration for (Apache, HAProxy, lighttpd, Caddy, Postfix, Dovecot). As root they are installed from
# Debian's packages; otherwise the specs that need a missing one say so and are skipped. Nothing is started.
set -eu
missing=''
# Usage: needs PACKAGE PROGRAM. Servers are in /usr/sbin, which is not on every PATH.
needs() {
  command -v "$2" >/dev/null 2>&1 || [ -x "/usr/sbin/$2" ] || missing="$missing $1"
}
needs nginx-light nginx
needs bind9-dnsutils nsupdate
needs openssl openssl
needs bind9 named
needs knot knotd
needs pdns-server pdns_server
needs sqlite3 sqlite3
needs unbound unbound
needs pebble pebble
needs lego lego
needs certbot certbot
needs certspotter certspotter
needs curl curl
needs apache2-bin apache2
needs haproxy haproxy
needs lighttpd lighttpd
needs caddy caddy
# Beside another mail server it cannot be, and apt would take that one away.
[ -x /usr/sbin/sendmail ] || needs postfix postconf
needs dovecot-core doveconf
# The images are built and run with these.
needs buildah buildah
needs debootstrap debootstrap
needs crun crun
needs iproute2 ip
[ -r /usr/share/containers/seccomp.json ] || missing="$missing golang-github-containers-common"
[ -e /usr/lib/lighttpd/mod_openssl.so ] || missing="$missing lighttpd-mod-openssl"
[ -r /usr/share/pdns-backend-sqlite3/schema/schema.sqlite3.sql ] || missing="$missing pdns-backend-sqlite3"
newer=/opt/pebble-new
# Debian's stable pebble knows neither profiles nor renewal information: a newer one is unpacked beside it, for whoever can.
pebble_new() {
  [ ! -x "$newer/usr/bin/pebble" ] || return 0
  architecture=$(dpkg --print-architecture)
  # The machine's own mirror, under the newer suite; its list is kept apart, so that nothing else is installed from it.
  mirror=$(apt-get indextargets --format '$(REPO_URI)' 2>/dev/null | grep -v security | head -1)
  keyring=/usr/share/keyrings/debian-archive-keyring.gpg
  [ -n "$mirror" ] && [ -r "$keyring" ] || return 1
  scratch=$(mktemp -d)
  mkdir -p "$scratch/lists/partial" "$scratch/cache/partial"
  echo "deb [arch=$architecture signed-by=$keyring] $mirror forky main" > "$scratch/sources.list"
  : > "$scratch/status"
  apart="-o Dir::Etc::SourceList=$scratch/sources.list -o Dir::Etc::SourceParts=/dev/null -o Dir::State::Lists=$scratch/lists \
    -o Dir::Cache=$scratch/cache -o Dir::State::Status=$scratch/status -o APT::Sandbox::User=root \
    -o Dir::Etc::Preferences=/dev/null -o Dir::Etc::PreferencesParts=/dev/null"
  # shellcheck disable=SC2086
  if apt-get update -qq $apart && (cd "$scratch" && apt-get download -qq $apart pebble) &&
    mkdir -p "$newer" && dpkg -x "$scratch"/pebble_*.deb "$newer" && "$newer/usr/bin/pebble" -version >/dev/null 2>&1; then
    done=0
  else
    done=1
    # One that does not run on this system is as good as none.
    [ ! -x "$newer/usr/bin/pebble" ] || "$newer/usr/bin/pebble" -version >/dev/null 2>&1 || rm -rf "$newer"
  fi
  rm -rf "$scratch"
  return "$done"
}
may_install=''
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then may_install=1; fi
if [ -n "$may_install" ] && ! pebble_new; then
  echo 'A newer pebble could not be fetched: the specs of profiles and renewal information are skipped.'
fi
[ -n "$missing" ] || { echo 'Every program is there.'; exit 0; }
if [ -z "$may_install" ]; then
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
if ! apt-get update -qq; then
  echo "Could not be installed, their specs are skipped:$missing"
  exit 0
fi
# Not every system has all of them, and one that is unknown would keep apt from installing any.
here=''
elsewhere=''
for package in $missing; do
  if apt-cache show "$package" >/dev/null 2>&1; then here="$here $package"; else elsewhere="$elsewhere $package"; fi
done
[ -z "$elsewhere" ] || echo "Not on this system, their specs are skipped:$elsewhere"
[ -n "$here" ] || exit 0
# shellcheck disable=SC2086
if apt-get install -y -qq --no-install-recommends $here >/dev/null; then
  echo "Installed:$here"
else
  echo "Could not be installed, their specs are skipped:$here"
fi
