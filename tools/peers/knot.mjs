// @ts-check
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { requiredProgram } from './programs.mjs';
import { zoneFile } from './zone-file.mjs';
/** @import { Command, Setting } from './servers.mjs' */

/**
 * Knot. An access rule limits the key for challenges to its names and types.
 * @param {Setting} setting
 * @returns {Command}
 */
export function knot({ server, servers, port, folder, keys }) {
  mkdirSync(path.join(folder, 'db'), { recursive: true });
  const log = path.join(folder, 'knot.log');
  const primaries = [...new Set(server.zones.flatMap(({ primary }) => primary ?? []))];
  const zones = server.zones.map((zone) => {
    const file = path.join(folder, `${zone.name}.zone`);
    if (zone.primary === undefined) writeFileSync(file, zoneFile(zone, servers));
    const from = zone.primary === undefined ? '' : `\n    master: "${zone.primary}"`;
    return `  - domain: ${zone.name}\n    file: "${file}"${from}`;
  });
  writeFileSync(
    path.join(folder, 'knot.conf'),
    `server:
    rundir: "${folder}"
    listen: ${server.address}@${port}
    udp-workers: 1
    tcp-workers: 1
    background-workers: 1
log:
  - target: "${log}"
    any: info
key:
${Object.values(keys)
  .map(({ name, algorithm, secret }) => `  - id: ${name}\n    algorithm: ${algorithm}\n    secret: ${secret}`)
  .join('\n')}
remote:
${primaries.map((address) => `  - id: "${address}"\n    address: ${address}@${port}\n    via: ${server.address}\n    key: ${keys.full.name}`).join('\n')}
acl:
  - id: everything
    key: [${[keys.full, keys.sha384, keys.sha512].map(({ name }) => name).join(', ')}]
    action: [update, transfer]
  - id: challenges
    key: ${keys.challenges.name}
    action: update
    update-type: [TXT, CNAME]
    update-owner: name
    update-owner-match: equal
    update-owner-name: [_acme-challenge.www]
database:
    storage: "${folder}/db"
    journal-db-mode: asynchronous
template:
  - id: default
    storage: "${folder}"
    acl: [everything, challenges]
    zonefile-sync: -1
    zonefile-load: difference-no-serial
    journal-content: all
    refresh-min-interval: 2
zone:
${zones.join('\n')}
`,
  );
  return { program: requiredProgram('knotd'), args: ['-c', path.join(folder, 'knot.conf')], log };
}
