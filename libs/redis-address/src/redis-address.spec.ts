import { parseRedisUrl } from './redis-address';

describe('a URL of Redis', () => {
  it.each([
    ['redis://127.0.0.1', { kind: 'server', node: { host: '127.0.0.1', port: 6379 }, database: 0 }],
    [
      'redis://redis.example:7000/3',
      { kind: 'server', node: { host: 'redis.example', port: 7000 }, database: 3 },
    ],
    ['redis://[::1]:7000/', { kind: 'server', node: { host: '::1', port: 7000 }, database: 0 }],
    [
      'redis-cluster://a:7000,b,[::1]:7002',
      {
        kind: 'cluster',
        nodes: [
          { host: 'a', port: 7000 },
          { host: 'b', port: 6379 },
          { host: '::1', port: 7002 },
        ],
      },
    ],
    [
      'redis-sentinel://a,b:5000/certwright-1',
      {
        kind: 'sentinel',
        sentinels: [
          { host: 'a', port: 26379 },
          { host: 'b', port: 5000 },
        ],
        master: 'certwright-1',
      },
    ],
  ])('names the servers: %s', (url, topology) => {
    expect(parseRedisUrl(url)).toEqual({ topology, isTls: false, user: null, password: null });
    expect(parseRedisUrl(url.replace('redis', 'rediss'))).toMatchObject({ topology, isTls: true });
  });

  it.each([
    ['redis://user@h', 'user', null],
    ['redis://:secret@h', null, 'secret'],
    ['redis-cluster://user:p%40%2F%3a,@h:1,i:2', 'user', 'p@/:,'],
    ['rediss-sentinel://user:a@b:c@h/name', 'user', 'a@b:c'],
  ])('has the credentials of Redis: %s', (url, user, password) => {
    expect(parseRedisUrl(url)).toMatchObject({ user, password });
  });

  it.each([
    ['', 'is not a URL such as'],
    ['http://h', 'is not a URL such as'],
    ['redis-cluster:/h', 'is not a URL such as'],
    ['redis://h?password=hunter2', 'is not a URL such as'],
    ['redis://:hunter2@h/0/1', 'the number of a database'],
    ['redis://:hunter2%@h', 'percent-encoded'],
    ['redis://:hunter2@', 'a host that is not'],
    ['redis://:hunter2@h:0', 'a host that is not'],
    ['redis://:hunter2@h:65536', 'a host that is not'],
    ['redis://:hunter2@::1', 'a host that is not'],
    ['redis-cluster://:hunter2@a,,b', 'a host that is not'],
    ['redis://:hunter2@a,b', 'begin it with redis-cluster:// or redis-sentinel://'],
    ['redis://:hunter2@h/name', 'the number of a database'],
    ['redis-cluster://:hunter2@a,b/1', 'only number 0'],
    ['redis-sentinel://:hunter2@a,b', 'end it with /name'],
    ['redis-sentinel://:hunter2@a,b/', 'end it with /name'],
  ])('is rejected with a reason that does not contain it: %s', (url, reason) => {
    const result = parseRedisUrl(url);
    expect(result).toEqual({ fault: expect.stringContaining(reason) });
    expect(JSON.stringify(result)).not.toContain('hunter2');
  });
});
