// @ts-check
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { requiredProgram } from './programs.mjs';
import { zoneFile } from './zone-file.mjs';
/** @import { Command, Setting } from './servers.mjs' */

/** The only address that BIND can listen on; a relay forwards the others. */
export const BIND_ADDRESS = '127.0.0.1';

/**
 * BIND, authoritative only. Changes of a zone need a key, and update-policy limits the key for challenges to
 * its records.
 * @param {Setting & { ownPort: number }} setting
 * @returns {Command}
 */
export function bind({ server, servers, port, ownPort, folder, keys }) {
  mkdirSync(folder, { recursive: true });
  const all = Object.values(keys);
  const zones = server.zones.map((zone) => {
    const file = path.join(folder, `${zone.name}.zone`);
    if (zone.primary !== undefined) {
      return `zone "${zone.name}" { type secondary; file "${file}"; primaries { ${zone.primary} port ${port} key "${keys.full.name}"; }; };`;
    }
    writeFileSync(file, zoneFile(zone, servers));
    const mayAll = [keys.full, keys.sha384, keys.sha512].map(({ name }) => `grant ${name} zonesub ANY;`);
    const challenges = `grant ${keys.challenges.name} name _acme-challenge.www.${zone.name}. TXT CNAME;`;
    return `zone "${zone.name}" { type primary; file "${file}"; update-policy { ${mayAll.join(' ')} ${challenges} }; };`;
  });
  const log = path.join(folder, 'named.log');
  writeFileSync(
    path.join(folder, 'named.conf'),
    `${all.map(({ name, algorithm, secret }) => `key "${name}" { algorithm ${algorithm}; secret "${secret}"; };`).join('\n')}
options {
  directory "${folder}"; pid-file "${folder}/named.pid"; session-keyfile "${folder}/session.key";
  listen-on port ${ownPort} { ${BIND_ADDRESS}; }; listen-on-v6 { none; };
  recursion no; dnssec-validation no; notify no; check-names primary ignore; min-refresh-time 1; min-retry-time 1;
  allow-transfer { key "${keys.full.name}"; };
};
controls { };
logging { channel file { file "${log}"; severity info; print-time yes; }; category default { file; }; };
${zones.join('\n')}
`,
  );
  const args = ['-f', '-4', '-n', '1', '-c', path.join(folder, 'named.conf')];
  return { program: requiredProgram('named'), args, log };
}
