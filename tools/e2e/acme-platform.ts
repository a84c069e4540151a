import { execFileSync, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { type Child, freePort, startChild } from '@certwright/testing';
import { type AcmeServer, startAcmeServer } from './acme-server';
import { type FaultyLink, faultyLink } from './faulty-link';
import type { NameServers } from './name-servers';
import { type Platform, startPlatform, workspaceRoot } from './platform';

/** DNS address of approval-responder. Resolvers follow delegations only to port 53. */
export const responderAddress = '127.0.0.53';
export const caaDomain = 'pebble.example';
const dnsPort = 53;
const readyWithinMs = 40_000;

/** The platform with approval-responder and prober, and one ACME CA behind a link with faults. */
export interface AcmePlatform {
  readonly platform: Platform;
  readonly acme: AcmeServer;
  readonly link: FaultyLink;
  /** HTTP port of approval-responder. */
  readonly responderPort: number;
  /** Kills the worker, and starts another. */
  crashWorker(): Promise<void>;
  worker(): Child;
  stop(): Promise<void>;
}

/** Whether this process may listen on the DNS port. Synchronous, because specs are skipped before they run. */
export function mayServeDns(): boolean {
  const bind = `require('node:dgram').createSocket('udp4').on('error', () => process.exit(1))
    .bind(${dnsPort}, '${responderAddress}', () => require('node:net').createServer().on('error', () => process.exit(1))
    .listen(${dnsPort}, '${responderAddress}', () => process.exit(0)))`;
  return spawnSync(process.execPath, ['-e', bind]).status === 0;
}

/**
 * @param pebble options besides its resolver
 * @param every settings of every process
 */
export async function startAcmePlatform(
  peers: NameServers,
  pebble: object = {},
  every: Readonly<Record<string, string>> = {},
): Promise<AcmePlatform> {
  const undo: (() => unknown)[] = [];
  const stop = async () => {
    for (const step of undo.splice(0).reverse()) await step();
  };
  try {
    const { address, port } = peers.unbound;
    const resolver = `${address}:${port}`;
    const acme = await startAcmeServer({ ...pebble, resolver });
    undo.push(acme.stop);
    const link = await faultyLink({ host: '127.0.0.1', port: Number(new URL(acme.directoryUrl).port) });
    undo.push(link.close);
    for (const app of ['approval-responder', 'prober']) {
      execFileSync(process.execPath, ['tools/build/build.mjs', `apps/${app}`], { cwd: workspaceRoot });
    }
    const more = {
      'issuance-worker': { ...workerSettings, ...every },
      'orders-v3': every,
      'dns-gateway': every,
    };
    const platform = await startPlatform({ resolver, authorityPort: peers.port, more });
    undo.push(platform.stop);
    setUpAuthority(platform, acme, link.port);
    const responderPort = await freePort();
    const { responder, prober } = settingsBeside(platform, {
      resolver,
      responderPort,
      webPort: acme.httpPort,
    });
    undo.push(await startBeside('approval-responder', { ...responder, ...every }));
    undo.push(await startBeside('prober', { ...prober, ...every }));
    // The running process applies an operator's change within 5 s; a new one reads it at once.
    await platform.processes['issuance-worker'].stop();
    let worker = await platform.start('issuance-worker');
    const crashWorker = async () => {
      worker.signal('SIGKILL');
      await worker.ended;
      worker = await platform.start('issuance-worker');
    };
    return { platform, acme, link, responderPort, crashWorker, worker: () => worker, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

const workerSettings = {
  SANDBOX_AUTHORITIES: 'true',
  CA_ACCOUNT_KEYS: randomBytes(32).toString('base64'),
  APPROVAL_RESPONDERS: `${responderAddress}:${dnsPort}`,
  // Timeout for a discarded response.
  ACME_ANSWER_TIMEOUT: '2s',
};

interface Beside {
  readonly resolver: string;
  readonly responderPort: number;
  readonly webPort: number;
}

function settingsBeside({ urlOf, redisUrl }: Platform, { resolver, responderPort, webPort }: Beside) {
  const every = { OPS_PORT: '0', OPS_HOST: '127.0.0.1', LOG_LEVEL: 'debug', DRAIN_TIME: '2s' };
  return {
    responder: {
      ...every,
      CERTWRIGHT_MODE: 'sandbox',
      DATABASE_URL: urlOf('approval-responder'),
      REDIS_URL: redisUrl,
      PORT: String(responderPort),
      DNS_HOST: responderAddress,
      DNS_PORT: String(dnsPort),
      APPROVAL_ZONE: 'approval.example.net',
      APPROVAL_NAME_SERVERS: `ns1.approval.example.net=${responderAddress}`,
      DNS_VALUE_TTL: '0',
    },
    prober: {
      ...every,
      REDIS_URL: redisUrl,
      DNS_RESOLVERS: resolver,
      ALLOWED_NETWORKS: '127.0.0.0/8',
      HTTP_PORT: String(webPort),
    },
  };
}

async function startBeside(app: string, env: Readonly<Record<string, string>>) {
  const args = [`dist/apps/${app}/main.js`];
  const child = await startChild(process.execPath, { args, cwd: workspaceRoot, env });
  await child.says(/"started"/, readyWithinMs);
  return async () => await child.stop();
}

/** Like an operator. The directory URL is that of the link, so that all requests go through the link. */
function setUpAuthority(
  { databaseUrl, redisUrl, folder }: Platform,
  acme: AcmeServer,
  linkPort: number,
): void {
  const [tls, root] = ['pebble-tls.pem', 'pebble-root.pem'].map((name) => path.join(folder, name)) as [
    string,
    string,
  ];
  writeFileSync(tls, acme.tlsRoot);
  writeFileSync(root, acme.root);
  const env = { ...process.env, DATABASE_URL: databaseUrl, REDIS_URL: redisUrl };
  const admin = (...args: string[]) =>
    execFileSync(process.execPath, ['tools/run.mjs', 'admin', ...args], { cwd: workspaceRoot, env });
  const directory = `https://localhost:${linkPort}/dir`;
  const trust = ['--tls-roots', tls, '--trusted-root', root];
  admin('authority', 'add', 'pebble', '--directory', directory, ...trust, '--caa-domain', caaDomain);
  admin('product', 'set', 'free_ca', '--authorities', 'pebble');
}
