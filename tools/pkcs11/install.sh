#!/bin/sh
# Builds pkcs11js, which the issuance worker loads with BUILT_IN_CA_KEYS=pkcs11, in a folder of its own: install.sh [FOLDER].
# Version and digest are pinned in package-lock.json. It uses Node-API, so a build with the headers of one Node.js works with
# every newer one. Needs npm, python3, make and a C++ compiler; the headers of Node.js are those of the node on PATH, if they are
# installed beside it, and are downloaded otherwise.
set -eu
target=${1:-/opt/certwright-pkcs11}
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$target"
cp "$here/package.json" "$here/package-lock.json" "$here/.npmrc" "$target/"
prefix=$(dirname "$(dirname "$(readlink -f "$(command -v node)")")")
if [ -r "$prefix/include/node/node_api.h" ]; then export npm_config_nodedir="$prefix"; fi
cd "$target"
npm ci --ignore-scripts --no-audit --no-fund
npm rebuild pkcs11js --ignore-scripts=false
node -e 'new (require(process.argv[1]).PKCS11)()' "$target/node_modules/pkcs11js"
echo "Installed: BUILT_IN_CA_PKCS11_PACKAGE=$target/node_modules/pkcs11js"
