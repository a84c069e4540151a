import { execFileSync } from 'node:child_process';
import { copyFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { type Cluster, RedisAccess, type RedisClient, redisSettingsOf } from '@certwright/redis-client';
import { Forge } from './certificate-forge';
import { startChild } from './child';
import { eventually } from './eventually';
import { freePort } from './free-port';

const workspaceRoot = path.join(__dirname, '../../..');

/** Where `npm test` has its own from; in a process apart, as these modules run before anything is compiled. */
const findBinary = `
  const [{ redisBinary }, { places }] = await Promise.all(
    ['embedded/redis-binaries.mjs', 'up/home.mjs'].map((file) => import('./tools/' + file)));
  console.log(JSON.stringify(await redisBinary({ cache: places.redisBinaries })));
`;

interface RedisBinary {
  readonly command: string;
  readonly env: Readonly<Record<string, string>>;
}

let found: RedisBinary | undefined;
function binary(): RedisBinary {
  const args = ['--input-type=module', '-e', findBinary];
  const find = () => execFileSync(process.execPath, args, { cwd: workspaceRoot, encoding: 'utf8' });
  return (found ??= JSON.parse(find()) as RedisBinary);
}

/** A real server that a spec may kill, freeze, and start again on the same port. It ends with the spec file. */
export interface RedisServer {
  readonly port: number;
  /** SIGKILL: its data and its connections are lost. */
  kill(): Promise<void>;
  /** SIGSTOP, until `resume`: its connections stay open and silent. */
  freeze(): void;
  resume(): void;
}

/** @param args settings, such as `--maxmemory`, `1mb` */
export async function startRedisServer(port: number, args: readonly string[] = []): Promise<RedisServer> {
  return await startServer(port, [...serverArgs(port), ...args], /Ready to accept connections/);
}

/** @param port 0: none without TLS */
const serverArgs = (port: number): string[] =>
  argsOf({ bind: '127.0.0.1', port: String(port), save: '', appendonly: 'no' });

async function startServer(port: number, args: readonly string[], started: RegExp): Promise<RedisServer> {
  const { command, env } = binary();
  const child = await startChild(command, { args, env });
  await child.says(started);
  return {
    port,
    kill: async () => {
      child.signal('SIGKILL');
      await child.ended;
    },
    freeze: () => child.signal('SIGSTOP'),
    resume: () => child.signal('SIGCONT'),
  };
}

/** Several servers as one Redis. */
export interface RedisServers {
  /** Settings of processes that use it. */
  readonly environment: Readonly<Record<string, string>>;
  /** The one that stores the key at present. */
  masterOf(key: string): Promise<RedisServer>;
  /** Kills them and removes their files. */
  dispose(): Promise<void>;
}

/** After which silence a server counts as failed, ms. Short, so that specs are. */
const failedAfterMs = 2_000;
const user = 'certwright-spec';
const password = 'spec: p@ss/word';
const sentinelPassword = 'spec: sentinel';

/** What servers need for TLS and an ACL user, and processes to connect to them. */
class Secured {
  readonly #forge = new Forge();
  readonly folder = this.#forge.folder;
  readonly files = {
    REDIS_CA_FILE: path.join(this.folder, 'ca.pem'),
    REDIS_PASSWORD_FILE: path.join(this.folder, 'password'),
    REDIS_SENTINEL_PASSWORD_FILE: path.join(this.folder, 'sentinel-password'),
  };
  readonly #tls: Readonly<Record<string, string>>;

  constructor() {
    const ca = this.#forge.make({ isCa: true });
    const { file, keyFile } = this.#forge.make({ by: ca, addresses: ['127.0.0.1'] });
    copyFileSync(ca.file, this.files.REDIS_CA_FILE);
    writeFileSync(this.files.REDIS_PASSWORD_FILE, `${password}\n`);
    writeFileSync(this.files.REDIS_SENTINEL_PASSWORD_FILE, sentinelPassword);
    this.#tls = {
      ...{ 'tls-cert-file': file, 'tls-key-file': keyFile, 'tls-ca-cert-file': ca.file },
      ...{ 'tls-auth-clients': 'no', 'tls-replication': 'yes' },
    };
  }

  tls(port: number): string[] {
    return argsOf({ 'tls-port': String(port), ...this.#tls });
  }

  get acl(): string[] {
    return ['--user', user, 'on', `>${password}`, '~*', '&*', '+@all'];
  }

  environment(scheme: string, ports: readonly number[], path = ''): Readonly<Record<string, string>> {
    return { REDIS_URL: `${scheme}://${user}@${placesOf(ports)}${path}`, ...this.files };
  }

  async dispose(servers: readonly RedisServer[]): Promise<void> {
    await Promise.all(servers.map(async (server) => await server.kill()));
    this.#forge.dispose();
  }
}

export interface RedisCluster extends RedisServers {
  /** Of all nodes. */
  readonly servers: readonly RedisServer[];
  /** The same over TLS, as an ACL user. */
  readonly secureEnvironment: Readonly<Record<string, string>>;
}

interface ClusterNode {
  readonly server: RedisServer;
  readonly bus: number;
  readonly tlsPort: number;
  readonly admin: ReturnType<typeof inspector>;
}

const maxStarts = 5;

/** Three masters, each with a replica unless there are none. */
export async function startRedisCluster({ hasReplicas = true } = {}): Promise<RedisCluster> {
  const secured = new Secured();
  const start = async (nth: number, attempt = 1): Promise<ClusterNode> => {
    const [port, bus, tlsPort] = [await freePort(), await freePort(), await freePort()];
    const settings = {
      ...{ dir: secured.folder, 'cluster-enabled': 'yes', 'cluster-config-file': `${nth}.conf` },
      ...{ 'cluster-port': String(bus), 'cluster-node-timeout': String(failedAfterMs) },
      ...{ 'cluster-replica-validity-factor': '0', 'repl-diskless-sync-delay': '0' },
    };
    const args = [...argsOf(settings), ...secured.tls(tlsPort), '--tls-cluster', 'yes', ...secured.acl];
    try {
      const server = await startRedisServer(port, args);
      return { server, bus, tlsPort, admin: inspector(`redis://127.0.0.1:${port}`) };
    } catch (error) {
      // Another spec may take a port between its choice and its use.
      if (attempt === maxStarts || !/Address already in use/.test(String(error))) throw error;
      return await start(nth, attempt + 1);
    }
  };
  const nodes = await Promise.all(Array.from({ length: hasReplicas ? 6 : 3 }, (_, nth) => start(nth)));
  await formCluster(nodes);
  const servers = nodes.map(({ server }) => server);
  const ports = servers.map(({ port }) => port);
  const url = `redis-cluster://${placesOf(ports)}`;
  return {
    servers,
    environment: { REDIS_URL: url },
    secureEnvironment: secured.environment(
      'rediss-cluster',
      nodes.map(({ tlsPort }) => tlsPort),
    ),
    masterOf: async (key) => {
      const cluster = inspector(url) as Cluster;
      const slot = Number(await cluster.cluster('KEYSLOT', key));
      const served = (await cluster.cluster('SLOTS')).find(([first, last]) => first <= slot && slot <= last);
      cluster.disconnect();
      return serverAt(servers, served?.[2]?.[1]);
    },
    dispose: async () => await secured.dispose(servers),
  };
}

const slotCount = 16_384;

interface ClusterNode {
  readonly tlsPort: number;
  readonly bus: number;
  readonly admin: RedisClient;
}

async function formCluster(nodes: readonly ClusterNode[]): Promise<void> {
  const masters = nodes.slice(0, 3);
  const info = async ({ admin }: ClusterNode) => String(await admin.cluster('INFO'));
  for (const [nth, { admin }] of nodes.entries()) await admin.call('CLUSTER', 'SET-CONFIG-EPOCH', nth + 1);
  for (const [nth, { admin }] of masters.entries()) {
    const from = (share: number) => Math.floor((share * slotCount) / masters.length);
    await admin.call('CLUSTER', 'ADDSLOTSRANGE', from(nth), from(nth + 1) - 1);
  }
  // Each client is sent the ports of its kind.
  for (const { tlsPort, bus } of nodes.slice(1))
    await masters[0]?.admin.call('CLUSTER', 'MEET', '127.0.0.1', tlsPort, bus);
  for (const node of nodes)
    await eventually(async () => expect(await info(node)).toContain(`cluster_known_nodes:${nodes.length}`));
  for (const [nth, { admin }] of nodes.slice(3).entries())
    await admin.call('CLUSTER', 'REPLICATE', String(await masters[nth]?.admin.cluster('MYID')));
  for (const { admin } of nodes.slice(3))
    await eventually(async () => expect(await admin.info('replication')).toContain('master_link_status:up'));
  for (const node of nodes) {
    await eventually(async () => expect(await info(node)).toContain('cluster_state:ok'));
    node.admin.disconnect();
  }
}

/** A master and a replica, over TLS and for an ACL user only, which three Sentinels with a password monitor. */
export async function startRedisSentinels(): Promise<RedisServers> {
  const secured = new Secured();
  const start = async (port: number, more: readonly string[] = []) => {
    const replication = { masteruser: user, masterauth: password, 'repl-diskless-sync-delay': '0' };
    const settings = { dir: secured.folder, ...replication };
    const acl = [...secured.acl, '--user', 'default', 'off'];
    const args = [...serverArgs(0), ...argsOf(settings), ...secured.tls(port), ...acl, ...more];
    return await startServer(port, args, /Ready to accept connections/);
  };
  const [masterPort, replicaPort] = [await freePort(), await freePort()];
  const master = await start(masterPort);
  const replica = await start(replicaPort, ['--replicaof', '127.0.0.1', String(masterPort)]);
  const ports = await Promise.all(Array.from({ length: 3 }, async () => await freePort()));
  const monitors = await Promise.all(
    ports.map(async (port) => {
      const file = path.join(secured.folder, `sentinel-${port}.conf`);
      const lines = [
        `sentinel monitor certwright 127.0.0.1 ${masterPort} 2`,
        `sentinel down-after-milliseconds certwright ${failedAfterMs}`,
        'sentinel failover-timeout certwright 6000',
        `sentinel auth-user certwright ${user}`,
        `sentinel auth-pass certwright "${password}"`,
        `requirepass "${sentinelPassword}"`,
        `sentinel sentinel-pass "${sentinelPassword}"`,
      ];
      writeFileSync(file, `${lines.join('\n')}\n`);
      const settings = ['--bind', '127.0.0.1', '--port', '0', '--dir', secured.folder, ...secured.tls(port)];
      return await startServer(port, [file, '--sentinel', ...settings], /\+monitor master/);
    }),
  );
  const sentinels = ports.map((port) => {
    const url = `rediss://:${encodeURIComponent(sentinelPassword)}@127.0.0.1:${port}`;
    return inspector(url, secured.files.REDIS_CA_FILE);
  });
  for (const sentinel of sentinels)
    await eventually(async () => {
      const seen = String(await sentinel.info('sentinel'));
      expect(seen).toMatch(/name=certwright,status=ok,address=127\.0\.0\.1:\d+,slaves=1,sentinels=3/);
      expect(String(await sentinel.call('SENTINEL', 'REPLICAS', 'certwright'))).toContain(
        'master-link-status,ok',
      );
    });
  const masterOf = async () => {
    const named = (await sentinels[0]?.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', 'certwright')) as string[];
    return serverAt([master, replica], named[1]);
  };
  const dispose = async () => {
    for (const sentinel of sentinels) sentinel.disconnect();
    await secured.dispose([master, replica, ...monitors]);
  };
  return { environment: secured.environment('rediss-sentinel', ports, '/certwright'), masterOf, dispose };
}

/** A connection whose commands wait until it is connected. */
function inspector(url: string, REDIS_CA_FILE: string | null = null): RedisClient {
  const client = new RedisAccess(redisSettingsOf(url, { REDIS_CA_FILE })).open({
    kind: 'worker',
    name: 'spec',
  });
  client.on('error', () => undefined);
  return client;
}

const argsOf = (settings: Readonly<Record<string, string>>): string[] =>
  Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);

const placesOf = (ports: readonly number[]): string => ports.map((port) => `127.0.0.1:${port}`).join(',');

function serverAt(servers: readonly RedisServer[], port: unknown): RedisServer {
  const server = servers.find((each) => each.port === Number(port));
  if (server === undefined) throw new Error(`no server has port ${String(port)}`);
  return server;
}
