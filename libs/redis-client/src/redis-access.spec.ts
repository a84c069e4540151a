import { writeFileSync } from 'node:fs';
import {
  eventually,
  freePort,
  rawRedis,
  type RedisCluster,
  type RedisServers,
  startRedisCluster,
  startRedisSentinels,
  startRedisServer,
} from '@certwright/testing';
import { checkWrites } from './check-writes';
import { logChanges } from './log-changes';
import { RedisAccess, type RedisClient, type RedisUse } from './redis-access';
import { redisSettingsOf } from './redis-settings';

const clients: { disconnect(): void }[] = [];
afterEach(() => {
  for (const client of clients.splice(0)) client.disconnect();
});

const accessOf = ({ REDIS_URL = '', ...more }: Readonly<Record<string, string>>) =>
  new RedisAccess(redisSettingsOf(REDIS_URL, more));

/** With the log lines of its connection. */
function open(environment: Readonly<Record<string, string>>, kind: RedisUse['kind'] = 'commands') {
  const lines: string[] = [];
  const note = (_members: object, message: string) => void lines.push(message);
  const client = accessOf(environment).open({ kind, name: 'spec', commandTimeoutMs: 1_000 });
  clients.push(client);
  logChanges(client, 'spec', { info: note, warn: note });
  return { client, lines };
}
const works = async (client: RedisClient) => await checkWrites(client, 'spec:ready');

describe('a Cluster', () => {
  let cluster: RedisCluster;
  beforeAll(async () => (cluster = await startRedisCluster()), 60_000);
  afterAll(async () => await cluster.dispose());

  it('is used over TLS as an ACL user', async () => {
    const { client } = open(cluster.secureEnvironment);
    await eventually(async () => expect(await client.call('ACL', 'WHOAMI')).toBe('certwright-spec'));
    await works(client);
  });

  it('is connected to with a new password without a restart', async () => {
    const { REDIS_PASSWORD_FILE = '' } = cluster.secureEnvironment;
    const { client } = open(cluster.secureEnvironment);
    await eventually(async () => await works(client));
    writeFileSync(REDIS_PASSWORD_FILE, 'another\n');
    for (const { port } of cluster.servers) {
      const node = rawRedis(`redis://127.0.0.1:${port}`);
      await node.call('ACL', 'SETUSER', 'certwright-spec', 'resetpass', '>another');
      expect(await node.client('KILL', 'USER', 'certwright-spec')).toBeGreaterThanOrEqual(0);
      node.disconnect();
    }
    await eventually(async () => await works(client));
  });

  it('publishes to a subscriber on any node, and on another one after that node is lost', async () => {
    const subscriber = accessOf(cluster.environment).openSubscriber('spec-subscriber');
    clients.push(subscriber);
    subscriber.on('error', () => undefined);
    const received: string[] = [];
    subscriber.on('message', (_channel: string, message: string) => void received.push(message));
    subscriber.on('ready', () => void subscriber.subscribe('spec-news').catch(() => undefined));
    const { client } = open(cluster.environment);
    const arrives = async (message: string) =>
      await eventually(async () => {
        await client.publish('spec-news', message);
        expect(received).toContain(message);
      });
    await arrives('first');
    const port = subscriber.options.port;
    const node = cluster.servers.find((server) => server.port === port);
    node?.freeze();
    try {
      subscriber.disconnect(true);
      await arrives('second');
      expect(subscriber.options.port).not.toBe(port);
    } finally {
      node?.resume();
    }
  });

  it('is not ready while the slots of a frozen master are not served, and logs nothing', async () => {
    const { client, lines } = open(cluster.environment);
    await eventually(async () => await works(client));
    // A first connection may fail while the cluster notices that the node above is back.
    lines.length = 0;
    const master = await cluster.masterOf('spec');
    master.freeze();
    await eventually(async () => await expect(works(client)).rejects.toThrow());
    // Its replica takes over.
    await eventually(async () => await works(client));
    expect((await cluster.masterOf('spec')).port).not.toBe(master.port);
    master.resume();
    expect(lines).toEqual([]);
  });
});

describe('a server that has become a replica', () => {
  it.each(['commands', 'queue', 'worker'] as const)(
    'is connected to again when it refuses %s',
    async (kind) => {
      const { port } = await startRedisServer(await freePort());
      const url = `redis://127.0.0.1:${port}`;
      const { client } = open({ REDIS_URL: url }, kind);
      const id = await eventually(async () => await client.client('ID'));
      const admin = rawRedis(url);
      clients.push(admin);
      await admin.replicaof('127.0.0.1', 1);
      await expect(works(client)).rejects.toThrow('READONLY');
      await eventually(async () => expect(await client.client('ID')).not.toBe(id));
      await admin.replicaof('NO', 'ONE');
      await eventually(async () => await works(client));
    },
  );
});

describe('Sentinels', () => {
  let servers: RedisServers;
  beforeAll(async () => (servers = await startRedisSentinels()), 60_000);
  afterAll(async () => await servers.dispose());

  it('name the master, which is used over TLS as an ACL user', async () => {
    const { client } = open(servers.environment);
    await eventually(async () => expect(await client.call('ACL', 'WHOAMI')).toBe('certwright-spec'));
    await works(client);
  });

  it('lead to the new master when the old one is frozen', async () => {
    const { client, lines } = open(servers.environment);
    await eventually(async () => await works(client));
    const frozen = await servers.masterOf('spec');
    frozen.freeze();
    await eventually(async () => expect((await servers.masterOf('spec')).port).not.toBe(frozen.port));
    await eventually(async () => await works(client));
    frozen.resume();
    expect(lines).toEqual(['Redis is unavailable', 'Redis is back']);
  });

  it('and Redis are not connected to without their CA, and no password is logged', async () => {
    const {
      REDIS_URL = '',
      REDIS_PASSWORD_FILE = '',
      REDIS_SENTINEL_PASSWORD_FILE = '',
    } = servers.environment;
    const logged: string[] = [];
    const access = accessOf({ REDIS_URL, REDIS_PASSWORD_FILE, REDIS_SENTINEL_PASSWORD_FILE });
    const client = access.open({ kind: 'commands', name: 'spec' });
    clients.push(client);
    client.on('error', (error) => void logged.push(`${String(error)} ${JSON.stringify(error)}`));
    await eventually(() => expect(logged.join('\n')).toContain('All sentinels are unreachable'));
    expect(logged.join('\n')).not.toContain('spec: ');
  });
});

it('a connection that was ended and made again is cut, too, when another deployment has got the prefix', async () => {
  const port = await freePort();
  const server = await startRedisServer(port);
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
  const findOwner = async () => await Promise.resolve({ mode: 'sandbox', id: 'one' } as const);
  const url = `redis://127.0.0.1:${port}`;
  const access = new RedisAccess(redisSettingsOf(url), { name: 'spec', log, findOwner });
  const client = access.open({ kind: 'worker', name: 'spec' });
  try {
    await eventually(() => expect(client.status).toBe('ready'));
    // As BullMQ does with a connection on which a job was not waited for in time.
    client.disconnect();
    await eventually(() => expect(client.status).toBe('end'));
    await client.connect();
    const admin = rawRedis(url);
    await admin.set('certwright:deployment', 'sandbox:other');
    admin.disconnect();
    await eventually(() => expect(client.status).not.toBe('ready'));
  } finally {
    client.disconnect();
    access.close();
    await server.kill();
  }
}, 30_000);
