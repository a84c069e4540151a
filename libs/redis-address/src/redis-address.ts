export interface RedisNode {
  /** A name, an IPv4 address, or an IPv6 address without brackets. */
  readonly host: string;
  readonly port: number;
}

export type RedisTopology =
  | { readonly kind: 'server'; readonly node: RedisNode; readonly database: number }
  /** Any of its nodes; the others are discovered. */
  | { readonly kind: 'cluster'; readonly nodes: readonly RedisNode[] }
  /** Sentinels, and the name under which they monitor the master. */
  | { readonly kind: 'sentinel'; readonly sentinels: readonly RedisNode[]; readonly master: string };

/** What a `REDIS_URL` says. */
export interface RedisAddress {
  readonly topology: RedisTopology;
  readonly isTls: boolean;
  /** Null: the user `default`. */
  readonly user: string | null;
  readonly password: string | null;
}

/** The same with `s` after `redis` for TLS. */
export const redisUrlSchemes = [
  'redis',
  'rediss',
  'redis-cluster',
  'rediss-cluster',
  'redis-sentinel',
  'rediss-sentinel',
] as const;

const serverPort = 6_379;
const sentinelPort = 26_379;

/** What is wrong; completes the sentence "REDIS_URL …". Contains nothing of the URL, which may have a password. */
export interface RedisUrlFault {
  readonly fault: string;
}

/** The last `@` ends the credentials, and the first `/` after it the hosts. */
const urlPattern = /^(redis(s)?(?:-(cluster|sentinel))?):\/\/(?:(.*)@)?([^@/?#]*)(?:\/([^@?#]*))?$/;
const hostPattern = /^(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9._-]+))(?::(\d{1,5}))?$/;

/**
 * - `redis://[user[:password]@]host[:port][/database]`
 * - `redis-cluster://[user[:password]@]host[:port],…`
 * - `redis-sentinel://[user[:password]@]host[:port],…/master`, where hosts are Sentinels and the credentials those of Redis
 *
 * with `rediss` instead of `redis` for TLS. User and password are percent-encoded.
 */
export function parseRedisUrl(text: string): RedisAddress | RedisUrlFault {
  const match = urlPattern.exec(text);
  if (match === null) {
    return {
      fault:
        'is not a URL such as redis://host:6379, redis-cluster://host1:6379,host2:6379 or redis-sentinel://host1:26379,host2:26379/master, ' +
        'with rediss instead of redis for TLS; percent-encode special characters of the user and password',
    };
  }
  const [, , tls, kind = 'server', credentials = '', hosts = '', path = ''] = match;
  const [user, password] = credentialsIn(credentials);
  if (user === undefined || password === undefined)
    return { fault: 'has a user or password that is not percent-encoded correctly; encode % as %25' };
  const nodes: RedisNode[] = [];
  for (const part of hosts.split(',')) {
    const node = nodeIn(part, kind === 'sentinel' ? sentinelPort : serverPort);
    if (node === undefined)
      return { fault: 'has a host that is not host or host:port; put an IPv6 address in brackets' };
    nodes.push(node);
  }
  const topology = topologyOf(kind, nodes, path);
  return 'fault' in topology ? topology : { topology, isTls: tls !== undefined, user, password };
}

function topologyOf(kind: string, nodes: readonly RedisNode[], path: string): RedisTopology | RedisUrlFault {
  if (kind === 'cluster') {
    if (path !== '' && path !== '0')
      return { fault: 'names a database, but a Cluster has only number 0; end it after the hosts' };
    return { kind, nodes };
  }
  if (kind === 'sentinel') {
    if (!/^[A-Za-z0-9._-]+$/.test(path))
      return { fault: 'lacks the name of the master that the Sentinels monitor; end it with /name' };
    return { kind, sentinels: nodes, master: path };
  }
  const [node, ...more] = nodes;
  if (node === undefined || more.length > 0)
    return { fault: 'names several hosts; begin it with redis-cluster:// or redis-sentinel://' };
  if (!/^\d{0,5}$/.test(path))
    return { fault: 'does not end with the number of a database; leave it out for 0' };
  return { kind: 'server', node, database: Number(path) };
}

/** Empty is null; undefined cannot be decoded. */
function credentialsIn(text: string): readonly [string | null | undefined, string | null | undefined] {
  const at = text.indexOf(':');
  const parts = at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
  const [user, password] = parts.map((part) => {
    try {
      return part === '' ? null : decodeURIComponent(part);
    } catch {
      return undefined;
    }
  });
  return [user, password];
}

function nodeIn(text: string, defaultPort: number): RedisNode | undefined {
  const [, ipv6, name, port] = hostPattern.exec(text) ?? [];
  const host = ipv6 ?? name;
  const number = port === undefined ? defaultPort : Number(port);
  if (host === undefined || number < 1 || number > 65_535) return undefined;
  return { host, port: number };
}
