#!/bin/sh
# Builds Citus, and starts a coordinator and two workers on loopback for the spec of `ct` on Citus, which Debian does not package.
#
#   tools/citus/cluster.sh build SOURCE FOLDER   builds the Citus sources in SOURCE (13.2, https://github.com/citusdata/citus) and
#                                                installs them with a copy of PostgreSQL into FOLDER, which is created
#   tools/citus/cluster.sh start FOLDER          creates and starts the servers, and prints CITUS_URL
#   tools/citus/cluster.sh stop FOLDER           stops the servers, and deletes their data
#
# PG_CONFIG   pg_config of the PostgreSQL to use, 15 to 17; default /usr/lib/postgresql/15/bin/pg_config
# CITUS_PORT  port of the coordinator; the workers use the next two; default 9700
# CITUS_USER  user that runs the servers if root calls this; default postgres
#
# On Debian 12, the build needs: build-essential postgresql-15 postgresql-server-dev-15 liblz4-dev libzstd-dev libkrb5-dev.
# Outside FOLDER and a folder for sockets below it nothing is written. The servers accept any local user as superuser without a
# password, and do not sync to disk: they are for tests only.
set -eu

config=${PG_CONFIG:-/usr/lib/postgresql/15/bin/pg_config}
port=${CITUS_PORT:-9700}
user=${CITUS_USER:-postgres}
usage() {
  sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0"
  exit "$1"
}

[ $# -gt 0 ] || usage 2
command=$1
shift
[ "$command" != --help ] || usage 0

build() {
  [ -x "$config" ] || { echo "$config is missing: install postgresql-server-dev-15, or set PG_CONFIG." >&2; exit 1; }
  [ -x "$1/configure" ] || { echo "$1 has no configure: name the folder of the Citus sources." >&2; exit 1; }
  mkdir -p "$2/source" "$2/build" "$2/root"
  folder=$(cd "$2" && pwd)
  cp -a "$1/." "$folder/source"
  # Minor releases of PostgreSQL since 15.19 declare a function of the same name, which Citus 13.2 defines for PostgreSQL 15.
  if grep -q have_createdb_privilege "$("$config" --includedir-server)/commands/dbcommands.h"; then
    sed -i '/^have_createdb_privilege(void)/s/^/citus_/; s/[!]have_createdb_privilege()/!citus_have_createdb_privilege()/
      s/^#define have_createdb_privilege()/#define citus_have_createdb_privilege()/' \
      "$folder/source/src/include/pg_version_compat.h" \
      "$folder/source/src/backend/distributed/commands/serialize_distributed_ddls.c"
  fi
  cd "$folder/build"
  ../source/configure PG_CONFIG="$config" --without-libcurl
  make -s -j"$(nproc)" extension
  # PostgreSQL finds its files relative to its own, so a copy with one more extension needs no change of the system.
  for kind in bindir pkglibdir sharedir; do
    from=$("$config" --$kind)
    mkdir -p "$folder/root$from"
    cp -aL "$from/." "$folder/root$from"
  done
  make -s install-extension DESTDIR="$folder/root"
  echo "Citus is in $folder; next: $0 start $folder"
}

# Usage: as_user PROGRAM ARGUMENT…, a program of the copy
as_user() {
  program="$folder/root$bin/$1"
  shift
  if [ "$(id -u)" = 0 ]; then runuser -u "$user" -- "$program" "$@"; else "$program" "$@"; fi
}
nodes='0 1 2'
data() { echo "$folder/servers/$1"; }
sql() { as_user psql -X -q -v ON_ERROR_STOP=1 -h 127.0.0.1 -p "$1" -U postgres -d "$2" -c "$3"; }

start() {
  mkdir -p "$folder/servers"
  if [ "$(id -u)" = 0 ]; then chown "$user" "$folder/servers"; fi
  for node in $nodes; do
    if [ ! -e "$(data "$node")/PG_VERSION" ]; then
      as_user initdb -D "$(data "$node")" -U postgres -A trust -E UTF8 --locale C.UTF-8 -N >/dev/null
    fi
    ! as_user pg_ctl -D "$(data "$node")" status >/dev/null || continue
    as_user pg_ctl -D "$(data "$node")" -s -w -l "$(data "$node")/server.log" start -o "-p $((port + node)) \
      -c listen_addresses=127.0.0.1 -c unix_socket_directories='$(data "$node")' -c shared_preload_libraries=citus \
      -c wal_level=logical -c fsync=off -c synchronous_commit=off -c full_page_writes=off -c max_connections=200 \
      -c citus.node_conninfo=sslmode=prefer -c citus.max_cached_conns_per_worker=4 -c citus.shard_count=4"
  done
  for node in $nodes; do
    sql $((port + node)) postgres 'SET client_min_messages = warning; CREATE EXTENSION IF NOT EXISTS citus'
  done
  sql "$port" postgres "SELECT citus_set_coordinator_host('127.0.0.1', $port)" >/dev/null
  for node in $nodes; do
    [ "$node" = 0 ] || sql "$port" postgres "SELECT citus_add_node('127.0.0.1', $((port + node)))" >/dev/null
  done
  echo "CITUS_URL=postgres://postgres@127.0.0.1:$port/postgres"
}

stop() {
  for node in $nodes; do
    if [ -e "$(data "$node")/postmaster.pid" ]; then as_user pg_ctl -D "$(data "$node")" -s -m immediate stop; fi
  done
  rm -rf "$folder/servers"
}

case $command in
  build) [ $# = 2 ] || usage 2; build "$@" ;;
  start | stop)
    [ $# = 1 ] && [ -d "$1/root" ] || usage 2
    folder=$(cd "$1" && pwd)
    bin=$(cd "$folder/root" && find . -path '*/bin/initdb' | sed 's/^\.//; s/\/initdb$//')
    "$command"
    ;;
  *) usage 2 ;;
esac
