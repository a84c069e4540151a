#!/bin/sh
# Real programs that some specs and benchmarks are held against: nginx, dig and nsupdate, the name servers that tools/peers
# starts (BIND, Knot, PowerDNS, Unbound), the ACME test server pebble, the ACME clients lego and certbot, certspotter, and the servers that
# certs-v2 hands out configuration for and the agent installs certificates for (Apache, HAProxy, lighttpd, Caddy, Postfix, Dovecot,
# PostgreSQL), PgBouncer, and a token in software (SoftHSM) with the package that connects to it. As root they are installed from
# Debian's packages; otherwise the specs that need a missing one say so and are skipped. Nothing is started.
set -eu
cd "$(dirname "$0")/../.."
missing=''
# Usage: needs PACKAGE PROGRAM. Servers are in /usr/sbin, which is not on every PATH.
needs() {
  command -v "$2" >/dev/null 2>&1 || [ -x "/usr/sbin/$2" ] || missing="$missing $1"
}
needs nginx-light nginx
needs pgbouncer pgbouncer
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
[ -x /usr/lib/dovecot/imap ] || missing="$missing dovecot-imapd"
[ -x /usr/lib/dovecot/pop3 ] || missing="$missing dovecot-pop3d"
ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || missing="$missing postgresql"
# Java's reader of PKCS#12 files.
needs default-jre-headless keytool
# The unit of the agent is checked with these.
needs systemd systemd-analyze
needs strace strace
# The images are built and run with these.
needs buildah buildah
needs debootstrap debootstrap
needs crun crun
needs iproute2 ip
[ -r /usr/share/containers/seccomp.json ] || missing="$missing golang-github-containers-common"
needs softhsm2 softhsm2-util
needs prometheus prometheus
needs g++ g++
needs make make
needs python3 python3
# For the second agent (tools/second-agent).
[ -e /usr/lib/python3/dist-packages/cryptography ] || missing="$missing python3-cryptography"
[ -e /usr/lib/lighttpd/mod_openssl.so ] || missing="$missing lighttpd-mod-openssl"
[ -r /usr/share/pdns-backend-sqlite3/schema/schema.sqlite3.sql ] || missing="$missing pdns-backend-sqlite3"
# Debian's stable pebble knows neither profiles nor renewal information, and its kubectl no current kustomize: newer ones are
# unpacked beside them, where this script may install.
# Usage: newer SUITE PACKAGE FOLDER PROGRAM VERSION_ARGUMENT
newer() {
  program="$3/usr/bin/$4"
  [ ! -x "$program" ] || return 0
  architecture=$(dpkg --print-architecture)
  # The machine's own mirror, under the newer suite; its list is kept apart, so that nothing else is installed from it.
  mirror=$(apt-get indextargets --format '$(REPO_URI)' 2>/dev/null | grep -v security | head -1)
  keyring=/usr/share/keyrings/debian-archive-keyring.gpg
  [ -n "$mirror" ] && [ -r "$keyring" ] || return 1
  scratch=$(mktemp -d)
  mkdir -p "$scratch/lists/partial" "$scratch/cache/partial"
  echo "deb [arch=$architecture signed-by=$keyring] $mirror $1 main" > "$scratch/sources.list"
  : > "$scratch/status"
  apart="-o Dir::Etc::SourceList=$scratch/sources.list -o Dir::Etc::SourceParts=/dev/null -o Dir::State::Lists=$scratch/lists \
    -o Dir::Cache=$scratch/cache -o Dir::State::Status=$scratch/status -o APT::Sandbox::User=root \
    -o Dir::Etc::Preferences=/dev/null -o Dir::Etc::PreferencesParts=/dev/null"
  # shellcheck disable=SC2086
  if apt-get update -qq $apart && (cd "$scratch" && apt-get download -qq $apart "$2") &&
    mkdir -p "$3" && dpkg -x "$scratch/$2"_*.deb "$3" && "$program" "$5" >/dev/null 2>&1; then
    done=0
  else
    done=1
    # One that does not run on this system is as good as none.
    [ ! -x "$program" ] || "$program" "$5" >/dev/null 2>&1 || rm -rf "$3"
  fi
  rm -rf "$scratch"
  return "$done"
}
# The package that the issuance worker loads for keys in a token; native, and no dependency of Certwright.
pkcs11() {
  [ ! -e /opt/certwright-pkcs11/node_modules/pkcs11js/build/Release/pkcs11.node ] || return 0
  tools/pkcs11/install.sh /opt/certwright-pkcs11 >/dev/null 2>&1 ||
    echo 'pkcs11js could not be built: the specs of keys in a token are skipped.'
}
may_install=''
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then may_install=1; fi
if [ -n "$may_install" ]; then
  newer forky pebble /opt/pebble-new pebble -version ||
    echo 'A newer pebble could not be fetched: the specs of profiles and renewal information are skipped.'
  newer trixie kubectl /opt/kubectl-new kubectl help ||
    echo 'kubectl could not be fetched: the specs of the Kubernetes manifests are skipped.'
fi
if [ -z "$missing" ]; then
  [ -z "$may_install" ] || pkcs11
  echo 'Every program is there.'
  exit 0
fi
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
[ -n "$here" ] || { pkcs11; exit 0; }
# shellcheck disable=SC2086
if apt-get install -y -qq --no-install-recommends $here >/dev/null; then
  echo "Installed:$here"
  pkcs11
else
  echo "Could not be installed, their specs are skipped:$here"
fi
