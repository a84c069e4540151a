import { randomUUID } from 'node:crypto';
import { getEventListeners } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { eventually, freePort, testRedis, type TestRedis } from '@certwright/testing';
import type { Redis, RedisLog } from '@certwright/redis-client';
import { lastValueFrom, timeout } from 'rxjs';
import { ProbeQuestions } from '../probe-questions';
import { QuestionClient } from './question-client';
import { listKey, maxQueued } from './question-keys';
import { QuestionServer } from './question-server';

const log: RedisLog = { warn: () => undefined, info: () => undefined };
let redis: TestRedis;
let admin: Redis;
let queue: string;
const undo: (() => Promise<unknown>)[] = [];
beforeAll(async () => {
  redis = await testRedis();
  admin = redis.connect();
});
beforeEach(() => {
  queue = `spec-${randomUUID()}`;
});
afterEach(async () => {
  await Promise.all(undo.splice(0).map((step) => step()));
});
afterAll(async () => {
  await redis.dispose();
});

/** @returns what is undefined without a response in time */
function openClient(url = redis.url) {
  const client = new QuestionClient(redis.accessAt(url, queue), { name: queue, log });
  undo.push(() => client.close());
  const ask = async (pattern: string, data: unknown, withinMs: number): Promise<unknown> => {
    const responses = client.send<unknown>(pattern, data).pipe(timeout(withinMs));
    return await lastValueFrom(responses, { defaultValue: undefined }).catch(() => undefined);
  };
  return { ask };
}

type Respond = (pattern: string, data: unknown) => Promise<unknown>;

const patterns = ['echo', 'good', 'bad', 'probe-web-rule', 'look-at-hosts', 'caa-of-name'];

function taker(respond: Respond, concurrency = 10, drainMs = 0): QuestionServer {
  const server = new QuestionServer(redis.accessAt(redis.url, queue), {
    name: queue,
    log,
    concurrency,
    drainMs,
  });
  for (const pattern of patterns)
    server.addHandler(pattern, async (data: unknown) => await respond(pattern, data));
  server.listen(() => undefined);
  undo.push(() => server.close());
  return server;
}
async function cutConnections(name: string): Promise<number> {
  const clients = String(await admin.client('LIST')).split('\n');
  const ids = clients
    .filter((line) => line.includes(`name=${name}`))
    .map((line) => /^id=(\d+)/.exec(line)?.[1]);
  for (const id of ids) await admin.client('KILL', 'ID', Number(id));
  return ids.length;
}

describe('a question', () => {
  it('gets its own response, however many are sent at once', async () => {
    taker((pattern, data) => Promise.resolve(`${pattern} ${String(data)}`));
    const client = openClient();
    const numbers = Array.from({ length: 100 }, (_, at) => at);
    const responses = await Promise.all(numbers.map((each) => client.ask('echo', each, 5_000)));
    expect(responses).toEqual(numbers.map((each) => `echo ${each}`));
  });

  it('is processed by one of the copies alone, and each does its share', async () => {
    const seen: Record<string, number[]> = { one: [], other: [] };
    let bothTake = (): void => undefined;
    const both = new Promise<void>((resolve) => (bothTake = resolve));
    for (const copy of ['one', 'other']) {
      taker(async (_pattern, data) => {
        seen[copy]?.push(data as number);
        if (Object.values(seen).every((each) => each.length > 0)) bothTake();
        await both;
        return copy;
      }, 2);
    }
    const client = openClient();
    const numbers = Array.from({ length: 60 }, (_, at) => at);
    await Promise.all(numbers.map((each) => client.ask('echo', each, 5_000)));
    const taken = Object.values(seen);
    expect(taken.flat().sort((a, b) => a - b)).toEqual(numbers);
    expect(taken.every((each) => each.length > 0)).toBe(true);
  });

  it('waits while every place is taken', async () => {
    let most = 0;
    let running = 0;
    let fill = (): void => undefined;
    const full = new Promise<void>((resolve) => (fill = resolve));
    taker(async () => {
      most = Math.max(most, (running += 1));
      if (running === 3) fill();
      await full;
      await new Promise((resolve) => setTimeout(resolve, 5));
      running -= 1;
      return 'done';
    }, 3);
    const client = openClient();
    const responses = await Promise.all(Array.from({ length: 20 }, () => client.ask('echo', 'any', 5_000)));
    expect(responses.every((each) => each === 'done')).toBe(true);
    expect(most).toBe(3);
  });

  it('leaves nothing behind in a server whose places are all taken', async () => {
    const signals = new Set<EventTarget>();
    const add = jest.spyOn(EventTarget.prototype, 'addEventListener');
    taker((_pattern, data) => Promise.resolve(data), 1);
    const client = openClient();
    for (let at = 0; at < 50; at += 1) expect(await client.ask('echo', at, 5_000)).toBe(at);
    for (const [at, [type]] of add.mock.calls.entries()) {
      const target = add.mock.contexts[at];
      if (type === 'abort' && target instanceof EventTarget) signals.add(target);
    }
    add.mockRestore();
    const listeners = [...signals].map((signal) => getEventListeners(signal, 'abort').length);
    expect(Math.max(0, ...listeners)).toBeLessThan(5);
  });

  it('without a server ends with its timeout, and is not processed later', async () => {
    const client = openClient();
    // Not sent before it is connected.
    await eventually(async () => {
      expect(await client.ask('echo', 'stale', 100)).toBeUndefined();
      expect(await admin.llen(listKey(queue))).toBe(1);
    });
    await eventually(async () => expect(await admin.keys(`${queue}:{probes}:question:*`)).toEqual([]));
    const seen: unknown[] = [];
    taker((_pattern, data) => Promise.resolve(seen.push(data)));
    await client.ask('echo', 'fresh', 5_000);
    expect(seen).toEqual(['fresh']);
  });

  it('leaves no more than a bounded list behind without a server', async () => {
    await admin.rpush(listKey(queue), ...Array.from({ length: maxQueued }, (_, at) => `old-${at}`));
    expect(await openClient().ask('echo', 'any', 100)).toBeUndefined();
    expect(await admin.llen(listKey(queue))).toBe(maxQueued);
  });

  it('gets its response after messages on its channel that cannot be read', async () => {
    taker((_pattern, data) => Promise.resolve(data));
    const client = openClient();
    expect(await client.ask('echo', 1, 5_000)).toBe(1);
    const rejected = jest.fn();
    process.on('unhandledRejection', rejected);
    const [channel = ''] = (await admin.pubsub('CHANNELS', `${queue}:{probes}:answers:*`)) as string[];
    for (const message of ['{', '', 'null', '7', '[]', '{"id":{}}', '{"id":"other","err":1}'])
      expect(await admin.publish(channel, message)).toBe(1);
    expect(await client.ask('echo', 2, 5_000)).toBe(2);
    expect(rejected).not.toHaveBeenCalled();
  });

  it('whose response fails or is missing ends with its time; others are not disturbed', async () => {
    taker(async (pattern) => {
      if (pattern === 'bad') throw new Error('no');
      return await Promise.resolve(pattern === 'good' ? 'fine' : undefined);
    });
    const client = openClient();
    await admin.rpush(listKey(queue), 'no-such-id');
    const failing = ['bad', 'unknown'].map((pattern) => client.ask(pattern, 'any', 300));
    expect(await client.ask('good', 'any', 5_000)).toBe('fine');
    expect(await Promise.all(failing)).toEqual([undefined, undefined]);
  });
});

describe('connections', () => {
  it('that send may come after those that listen: a question is sent once both are there', async () => {
    const { hostname, port } = new URL(redis.url);
    let connections = 0;
    const proxy = createServer((near) => {
      const far = connect(Number(port), hostname, () => {
        const join = () => void near.pipe(far).pipe(near);
        // The first one, which sends the question.
        if ((connections += 1) === 1) setTimeout(join, 500);
        else join();
      });
      for (const end of [near, far]) end.on('error', () => undefined);
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    undo.push(async () => await new Promise((resolve) => proxy.close(resolve)));
    taker((_pattern, data) => Promise.resolve(data));
    const url = redis.url.replace(`:${port}`, `:${(proxy.address() as AddressInfo).port}`);
    expect(await openClient(url).ask('echo', 1, 20_000)).toBe(1);
  });

  it('that are cut come back, on both sides', async () => {
    taker((_pattern, data) => Promise.resolve(data));
    const client = openClient();
    expect(await client.ask('echo', 1, 5_000)).toBe(1);
    expect(await cutConnections(queue)).toBe(4);
    await eventually(async () => expect(await client.ask('echo', 2, 500)).toBe(2));
  });

  it('that respond may come after those that take: a question that was taken meanwhile gets its response', async () => {
    const client = openClient();
    taker((_pattern, data) => Promise.resolve(data));
    // At the start, and when the one connection alone is cut while the other one waits for a question.
    expect(await client.ask('echo', 1, 10_000)).toBe(1);
    for (let cut = 0; cut < 3; cut += 1) {
      expect(await cutConnections(`${queue}-answering`)).toBe(1);
      expect(await client.ask('echo', cut, 10_000)).toBe(cut);
    }
  });

  it('to a Redis that is not there costs the client its timeout and nothing else', async () => {
    const client = openClient(`redis://127.0.0.1:${await freePort()}`);
    expect(await client.ask('echo', 'any', 150)).toBeUndefined();
  });

  it('are closed after the questions under way, which still get their responses', async () => {
    let respond: ((value: string) => void) | undefined;
    const taking = taker(() => new Promise((resolve) => (respond = resolve)), 10, 5_000);
    const response = openClient().ask('echo', 'any', 5_000);
    await eventually(() => expect(respond).toBeDefined());
    const closed = taking.close();
    respond?.('late');
    expect(await response).toBe('late');
    await closed;
  });
});

describe('the prober', () => {
  const question = { dnsName: 'www.example.com', path: '/' };

  it('that sends no or an unknown response is distinguished from a result', async () => {
    const probes = new ProbeQuestions(redis.accessAt(redis.url, queue), { name: queue, log });
    undo.push(() => probes.close());
    const silence = { kind: 'failed', problem: 'the prober did not answer', hops: [] };
    expect(await probes.ask(question, 100)).toEqual(silence);
    const responses: unknown[] = [
      'what',
      { kind: 'new' },
      { kind: 'answered', status: '200', body: '', hops: [] },
    ];
    taker((pattern, data) =>
      Promise.resolve(responses.shift() ?? { kind: 'failed', problem: pattern, data, hops: [] }),
    );
    for (const _each of [1, 2, 3]) expect(await probes.ask(question, 5_000)).toEqual(silence);
    expect(await probes.ask(question, 5_000)).toMatchObject({ problem: 'probe-web-rule', data: question });
  });

  it('that sends an unknown response about hosts has reported nothing', async () => {
    const probes = new ProbeQuestions(redis.accessAt(redis.url, queue), { name: queue, log });
    undo.push(() => probes.close());
    const about = {
      hosts: [{ host: 'www.example.com', ports: [443] }],
      serverName: null,
      withHttpStatus: false,
    };
    expect(await probes.askLook(about, 100)).toBeNull();
    const at = { address: '192.0.2.1', port: 443 };
    const presented = {
      kind: 'presented',
      chain: [0],
      version: 'TLSv1.3',
      cipher: 'TLS_AES_128_GCM_SHA256',
      httpStatus: null,
    };
    const failed = { kind: 'not_presented', reason: 'connect', problem: 'It is unavailable.' };
    const look = (result: unknown, more = {}) => ({
      hosts: [
        {
          host: 'www.example.com',
          lookUp: { kind: 'found' },
          addresses: [{ ...at, result }],
          omitted: 0,
          ...more,
        },
      ],
      certificates: [''],
    });
    const strange = [
      'what',
      { hosts: {}, certificates: [] },
      { hosts: [null], certificates: [] },
      look({ ...presented, chain: [1] }),
      look({ ...presented, chain: [] }),
      look({ ...presented, httpStatus: '200' }),
      look({ ...failed, reason: 'toString' }),
      look({ ...failed, problem: undefined }),
      look(failed, { host: undefined }),
      look(failed, { lookUp: { kind: 'dangling' } }),
      look(failed, { firstOmitted: 1 }),
    ];
    const responses: unknown[] = [...strange];
    const patterns: string[] = [];
    taker((pattern) => {
      patterns.push(pattern);
      return Promise.resolve(responses.shift() ?? look(presented, { omitted: 1, firstOmitted: '192.0.2.2' }));
    });
    for (const _each of strange) expect(await probes.askLook(about, 5_000)).toBeNull();
    expect(await probes.askLook(about, 5_000)).toEqual(
      look(presented, { omitted: 1, firstOmitted: '192.0.2.2' }),
    );
    expect(new Set(patterns)).toEqual(new Set(['look-at-hosts']));
  });

  it('that sends no or an unknown response about CAA records has the verdict unknown', async () => {
    const probes = new ProbeQuestions(redis.accessAt(redis.url, queue), { name: queue, log });
    undo.push(() => probes.close());
    const about = { dnsName: '*.example.com', issuerDomains: ['ca.example'] };
    const silence = { verdict: 'unknown', at: null, records: [], failure: 'timeout' };
    expect(await probes.askCaa(about, 100)).toEqual(silence);
    const found = { verdict: 'forbids', at: 'example.com', records: ['0 issue ";"'], failure: null };
    const strange = [
      'what',
      { ...found, verdict: 'toString' },
      { ...found, records: [1] },
      { ...found, at: 1 },
    ];
    const responses: unknown[] = [...strange];
    taker((pattern) => Promise.resolve(responses.shift() ?? { ...found, at: pattern }));
    for (const _each of strange) expect(await probes.askCaa(about, 5_000)).toEqual(silence);
    expect(await probes.askCaa(about, 5_000)).toEqual({ ...found, at: 'caa-of-name' });
  });
});
