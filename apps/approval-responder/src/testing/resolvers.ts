import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { eventually, startChild } from '@certwright/testing';
import { datagram, queryMessage, seen } from './dns-queries';

/** Debian installs name servers in directories that only root's PATH includes. */
const folders = ['/usr/sbin', '/usr/local/sbin', '/usr/bin'];

export function programPath(name: string): string | undefined {
  return folders.map((folder) => path.join(folder, name)).find((file) => existsSync(file));
}

/** A resolver finds these zones here; it follows delegations below them by itself. */
export interface KnownZone {
  readonly name: string;
  readonly address: string;
}

export interface Resolver {
  readonly port: number;
  stop(): Promise<void>;
}

/** A real BIND at 127.0.0.1 that resolves on one port everywhere: it follows delegations to `address:port`, not to 53. */
export async function bindResolver(port: number, zones: readonly KnownZone[]): Promise<Resolver> {
  const stubs = zones.map(
    ({ name, address }) => `zone "${name}" { type static-stub; server-addresses { ${address}; }; };`,
  );
  const conf = (folder: string) => `
options {
  directory "${folder}"; pid-file "${folder}/named.pid"; session-keyfile "${folder}/session.key";
  port ${port}; listen-on { 127.0.0.1; }; listen-on-v6 { none; };
  recursion yes; allow-recursion { 127.0.0.0/8; }; dnssec-validation no; empty-zones-enable no; qname-minimization strict;
};
controls { };
zone "." { type hint; file "/dev/null"; };
${stubs.join('\n')}
`;
  const args = (file: string) => ['-g', '-4', '-n', '1', '-c', file];
  return await started('named', port, { conf, args, ready: zones });
}

/**
 * A real unbound at 127.0.0.1 with its usual protection: 0x20, minimised names, hardened against glue and below
 * NXDOMAIN.
 */
export async function unboundResolver(port: number, ownPort: number, zones: readonly KnownZone[]) {
  const stubs = zones.map(
    ({ name, address }) => `stub-zone:\n  name: "${name}."\n  stub-addr: ${address}@${port}\n`,
  );
  const conf = (folder: string) => `
server:
  interface: 127.0.0.1@${ownPort}
  do-ip6: no
  do-daemonize: no
  username: ""
  chroot: ""
  directory: "${folder}"
  pidfile: "${folder}/unbound.pid"
  use-syslog: no
  num-threads: 1
  module-config: "iterator"
  do-not-query-localhost: no
  use-caps-for-id: yes
  qname-minimisation-strict: yes
  harden-below-nxdomain: yes
  harden-referral-path: no
  access-control: 127.0.0.0/8 allow
remote-control:
  control-enable: no
${stubs.join('')}`;
  return await started('unbound', ownPort, { conf, args: (file) => ['-d', '-c', file], ready: zones });
}

interface Start {
  readonly conf: (folder: string) => string;
  readonly args: (file: string) => readonly string[];
  readonly ready: readonly KnownZone[];
}

async function started(name: string, port: number, { conf, args, ready }: Start): Promise<Resolver> {
  const folder = mkdtempSync(path.join(tmpdir(), 'certwright-resolver-'));
  const file = path.join(folder, `${name}.conf`);
  writeFileSync(file, conf(folder));
  const child = await startChild(programPath(name) ?? name, { args: args(file), cwd: folder });
  const stop = async () => {
    await child.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    for (const zone of ready) {
      const query = queryMessage(zone.name, { type: 'SOA', recursion: true });
      const responds = async () => {
        const response = await datagram(port, query, '127.0.0.1', 250);
        if (response === undefined || seen(response).rcode !== 'NOERROR')
          throw new Error(`nothing of ${zone.name}`);
      };
      await eventually(responds, { withinMs: 15_000 });
    }
  } catch (error) {
    await stop();
    throw new Error(`${name} does not resolve:\n${child.output()}`, { cause: error });
  }
  return { port, stop };
}
