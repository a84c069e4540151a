// @ts-check
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { requiredProgram, schemaOfPdns } from './programs.mjs';
import { zoneRecords } from './zone-file.mjs';
/** @import { Command, Setting } from './servers.mjs' */
/** @import { ServerOptions, ZoneOptions } from './options.mjs' */

/**
 * PowerDNS with SQLite, its caches off, its API on the same address. The zones are created through that API when it is up.
 * @param {Setting & { apiPort: number, apiKey: string }} setting
 * @returns {Command}
 */
export function pdns({ server, port, folder, apiPort, apiKey }) {
  mkdirSync(folder, { recursive: true });
  const database = path.join(folder, 'pdns.sqlite3');
  execFileSync(requiredProgram('sqlite3'), [database], { input: readFileSync(schemaOfPdns) });
  writeFileSync(
    path.join(folder, 'pdns.conf'),
    `launch=gsqlite3
gsqlite3-database=${database}
gsqlite3-pragma-synchronous=0
gsqlite3-pragma-journal-mode=WAL
local-address=${server.address}
local-port=${port}
socket-dir=${folder}
api=yes
api-key=${apiKey}
webserver=yes
webserver-address=${server.address}
webserver-port=${apiPort}
webserver-allow-from=127.0.0.0/8
cache-ttl=0
query-cache-ttl=0
negquery-cache-ttl=0
zone-cache-refresh-interval=0
loglevel=4
daemon=no
guardian=no
setuid=
setgid=
`,
  );
  const args = [`--config-dir=${folder}`];
  return { program: requiredProgram('pdns_server'), args, log: path.join(folder, 'output.log') };
}

/**
 * @param {{ server: ServerOptions, servers: readonly ServerOptions[], api: string, apiKey: string }} running
 * @param {AbortSignal} signal
 */
export async function makeZones({ server, servers, api, apiKey }, signal) {
  for (const zone of server.zones) {
    const response = await fetch(`${api}/api/v1/servers/localhost/zones`, {
      method: 'POST',
      headers: { 'x-api-key': apiKey, 'content-type': 'application/json' },
      body: JSON.stringify({ name: `${zone.name}.`, kind: 'Native', rrsets: rrsetsOf(zone, servers) }),
      signal,
    });
    if (!response.ok) throw new Error(`PowerDNS did not create ${zone.name}: ${await response.text()}`);
  }
}

/**
 * The API expects absolute names and whole RRsets.
 * @param {ZoneOptions} zone
 * @param {readonly ServerOptions[]} servers
 */
function rrsetsOf(zone, servers) {
  const lines = zoneRecords(zone, servers).map((line) => /^(\S+)\s+(?:IN\s+)?(\S+)\s+(.*)$/.exec(line) ?? []);
  const absolute = (/** @type {string} */ name) =>
    name === '@' ? `${zone.name}.` : name.endsWith('.') ? name : `${name}.${zone.name}.`;
  const rrsets = new Map();
  for (const [, name = '', type = '', content = ''] of lines) {
    const rrset = rrsets.get(`${name} ${type}`) ?? { name: absolute(name), type, ttl: 1, records: [] };
    const target = type === 'NS' || type === 'CNAME' ? absolute(content) : content;
    rrset.records.push({ content: target, disabled: false });
    rrsets.set(`${name} ${type}`, rrset);
  }
  return [...rrsets.values()];
}
