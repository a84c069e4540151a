import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type Child, freePort, startChild, testDatabase, testRedis } from '@certwright/testing';
import { ensureGatewayKeys, identityOf } from '../gateway-keys/gateway-keys';

export const workspaceRoot = path.join(__dirname, '../..');
export const approvalZone = 'approval.example.net';
const readyWithinMs = 40_000;

/** Orders API, worker and DNS gateway as processes, with a separate database and Redis. */
export interface Platform {
  readonly databaseUrl: string;
  /** URL of the database for the role of a process. */
  readonly urlOf: (process: string) => string;
  readonly redisUrl: string;
  readonly api: string;
  readonly apiKey: string;
  readonly folder: string;
  readonly gatewayKeys: string;
  readonly processes: Readonly<Record<AppName, Child>>;
  /** Starts one more copy. */
  start(name: AppName): Promise<Child>;
  stop(): Promise<void>;
}

export interface World {
  /** `host:port` of a recursive resolver. */
  readonly resolver: string;
  /** Of every authoritative server. */
  readonly authorityPort: number;
  /** Settings that are added to or replace those below. */
  readonly more?: Partial<Record<AppName, Readonly<Record<string, string>>>>;
}

export type AppName = 'orders-v3' | 'issuance-worker' | 'dns-gateway';

export async function startPlatform({ resolver, authorityPort, more = {} }: World): Promise<Platform> {
  const undo: (() => unknown)[] = [];
  const stop = async () => {
    for (const step of undo.splice(0).reverse()) await step();
  };
  try {
    for (const app of ['orders-v3', 'issuance-worker', 'dns-gateway']) build(`apps/${app}`);
    const [database, redis] = await Promise.all([testDatabase(), testRedis()]);
    undo.push(database.dispose, redis.dispose);
    const folder = mkdtempSync(path.join(tmpdir(), 'certwright-e2e-'));
    undo.push(() => rmSync(folder, { recursive: true, force: true }));
    const gatewayKeys = path.join(folder, 'gateway');
    ensureGatewayKeys(gatewayKeys, new Date());
    const { api_key: apiKey } = seed(database.url, redis.url);
    const [http, https] = [await freePort(), await freePort()];
    const { url: databaseUrl, urlOf } = database;
    const settings = { folder, gatewayKeys, urlOf, redisUrl: redis.url, http, https };
    const environment = environments({ ...settings, resolver, authorityPort });
    createCa(databaseUrl, { ...environment['issuance-worker'], ...more['issuance-worker'] });
    const start = async (name: AppName) => {
      const child = await startChild(process.execPath, {
        args: [`dist/apps/${name}/main.js`],
        cwd: workspaceRoot,
        env: { ...environment[name], ...more[name] },
      });
      undo.push(async () => await child.stop());
      await child.says(/"started"/, readyWithinMs);
      return child;
    };
    const gateway = await start('dns-gateway');
    const [api, worker] = await Promise.all([start('orders-v3'), start('issuance-worker')]);
    const processes = { 'orders-v3': api, 'issuance-worker': worker, 'dns-gateway': gateway };
    const { redisUrl } = settings;
    return {
      databaseUrl,
      urlOf,
      redisUrl,
      api: `http://127.0.0.1:${http}`,
      apiKey,
      folder,
      gatewayKeys,
      processes,
      start,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

function build(app: string): void {
  execFileSync(process.execPath, ['tools/build/build.mjs', app], { cwd: workspaceRoot });
}

function seed(databaseUrl: string, redisUrl: string): { readonly api_key: string } {
  const env = { ...process.env, DATABASE_URL: databaseUrl, REDIS_URL: redisUrl };
  const args = ['tools/run.mjs', 'admin', 'seed-sandbox', '--json'];
  return JSON.parse(execFileSync(process.execPath, args, { cwd: workspaceRoot, env, encoding: 'utf8' })) as {
    api_key: string;
  };
}

function createCa(databaseUrl: string, worker: Readonly<Record<string, string>>): void {
  const env = { ...process.env, ...worker, DATABASE_URL: databaseUrl };
  execFileSync(process.execPath, ['tools/run.mjs', 'admin', 'ca', 'create-sandbox'], {
    cwd: workspaceRoot,
    env,
  });
}

interface Places extends World {
  readonly folder: string;
  readonly gatewayKeys: string;
  readonly urlOf: (process: string) => string;
  readonly redisUrl: string;
  readonly http: number;
  readonly https: number;
}

function environments(places: Places) {
  const { folder, gatewayKeys, urlOf, redisUrl, http, https, resolver, authorityPort } = places;
  const file = (name: string) => path.join(gatewayKeys, name);
  const every = { OPS_PORT: '0', OPS_HOST: '127.0.0.1', LOG_LEVEL: 'debug', DRAIN_TIME: '2s' };
  const stores = (process: string) => ({
    DATABASE_URL: urlOf(process),
    REDIS_URL: redisUrl,
    CERTWRIGHT_MODE: 'sandbox',
  });
  const loopback = { ALLOWED_NETWORKS: '127.0.0.0/8' };
  const gateway = (client: string) => ({
    GATEWAY_URL: `https://127.0.0.1:${https}`,
    GATEWAY_CA_FILE: file('ca.pem'),
    GATEWAY_CERTIFICATE_FILE: file(`${client}.pem`),
    GATEWAY_KEY_FILE: file(`${client}.key`),
  });
  return {
    'orders-v3': {
      ...every,
      ...stores('orders-v3'),
      ...loopback,
      ...gateway('orders-v3'),
      PORT: String(http),
      PUBLIC_URL: `http://127.0.0.1:${http}`,
      APPROVAL_ZONE: approvalZone,
      APPROVAL_URL: 'http://127.0.0.1:4330',
      SEALING_KEYS: Buffer.alloc(32, 7).toString('base64'),
    },
    'issuance-worker': {
      ...every,
      ...stores('issuance-worker'),
      ...loopback,
      ...gateway('issuance-worker'),
      DNS_RESOLVER: resolver,
      AUTHORITY_DNS_PORT: String(authorityPort),
      APPROVAL_ZONE: approvalZone,
      BUILT_IN_CA_DIR: path.join(folder, 'ca'),
      CA_PUBLICATION_URL: `http://127.0.0.1:${http}/ca`,
    },
    'dns-gateway': {
      ...every,
      ...loopback,
      PORT: String(https),
      TLS_CERTIFICATE_FILE: file('server.pem'),
      TLS_KEY_FILE: file('server.key'),
      CLIENT_CA_FILE: file('ca.pem'),
      GATEWAY_CLIENTS: [
        `${identityOf('issuance-worker')}=get_zones+add_record+remove_record`,
        `${identityOf('orders-v3')}=make_integration+get_zones+description`,
      ].join(','),
      HANDLE_KEYS_FILE: file('handle.keys'),
      CREDENTIALS_KEY_FILE: file('credentials.key'),
      AUDIT_DIR: path.join(folder, 'audit'),
      APPROVAL_ZONES: approvalZone,
      OWN_LABELS: '_acme-challenge',
    },
  } satisfies Record<string, Readonly<Record<string, string>>>;
}

/** All output of the other processes so far. */
export function logsBesidesTheGateway({ processes }: Platform): string {
  return processes['orders-v3'].output() + processes['issuance-worker'].output();
}

export function readText(file: string): string {
  return readFileSync(file, 'utf8');
}

/**
 * A CSR with a new P-256 key, by OpenSSL. The key is in `order.key`.
 *
 * @returns DER in base64, as the API accepts it
 */
export function csrFor(dnsNames: readonly string[], folder: string): string {
  const key = path.join(folder, 'order.key');
  const curve = ['-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-256'];
  execFileSync('openssl', ['genpkey', ...curve, '-out', key]);
  const names = `subjectAltName=${dnsNames.map((name) => `DNS:${name}`).join(',')}`;
  const args = ['req', '-new', '-key', key, '-subj', '/', '-addext', names, '-outform', 'DER'];
  return execFileSync('openssl', args).toString('base64');
}
