// @ts-check
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { requiredProgram } from './programs.mjs';
import { addressesOf } from './zone-file.mjs';
/** @import { Command, Setting } from './servers.mjs' */

/**
 * Unbound as a resolver that queries the zones' own servers without a cache.
 * @param {Omit<Setting, 'server' | 'keys'> & { address: string }} setting
 * @returns {Command}
 */
export function unbound({ address, servers, port, folder }) {
  mkdirSync(folder, { recursive: true });
  const log = path.join(folder, 'unbound.log');
  const zones = [...new Set(servers.flatMap((server) => server.zones.map(({ name }) => name)))];
  const stubs = zones.map((zone) => {
    const addresses = addressesOf(zone, servers).map((server) => `  stub-addr: ${server}@${port}`);
    return [`stub-zone:`, `  name: "${zone}."`, ...addresses].join('\n');
  });
  writeFileSync(
    path.join(folder, 'unbound.conf'),
    `server:
  interface: ${address}@${port}
  outgoing-interface: 127.0.0.1
  do-ip6: no
  do-daemonize: no
  username: ""
  chroot: ""
  directory: "${folder}"
  pidfile: "${folder}/unbound.pid"
  logfile: "${log}"
  use-syslog: no
  verbosity: 1
  num-threads: 1
  module-config: "iterator"
  do-not-query-localhost: no
  cache-max-ttl: 0
  cache-max-negative-ttl: 0
  local-zone: "test." nodefault
  access-control: 127.0.0.0/8 allow
remote-control:
  control-enable: no
${stubs.join('\n')}
`,
  );
  return { program: requiredProgram('unbound'), args: ['-d', '-c', path.join(folder, 'unbound.conf')], log };
}
