import { JobQueues, runJobs } from '@certwright/bullmq';
import { advanceIssuance } from '@certwright/jobs';
import {
  AddressOccupancy,
  ChallengeValues,
  connectRedis,
  IssuanceNews,
  IssuanceNewsListener,
  ProbeQuestions,
  QuestionServer,
  RedisTokenBuckets,
} from '@certwright/redis';
import { RedisAccess, redisSettingsOf } from '@certwright/redis-client';
import { eventually, type RedisServers, startRedisCluster, startRedisSentinels } from '@certwright/testing';
import { RunningApi } from './testing/running-api';

/** What the numbers of "Beyond one machine" allow after the loss of a master, ms. */
const flowsWithinMs = 15_000;
const quiet = { warn: () => undefined, info: () => undefined };
const question = { dnsName: 'www.example.com', path: '/' };

jest.setTimeout(120_000);

describe.each([
  ['a Cluster', startRedisCluster],
  ['Sentinels', startRedisSentinels],
])('on %s', (_name, startServers: () => Promise<RedisServers>) => {
  let servers: RedisServers;
  let api: RunningApi;
  const undo: (() => unknown)[] = [];
  beforeAll(async () => {
    servers = await startServers();
    api = await RunningApi.start({ ...servers.environment, REDIS_PREFIX: 'first' });
  });
  afterEach(async () => {
    for (const step of undo.splice(0).reverse()) await step();
  });
  afterAll(async () => {
    await api.stop();
    await servers.dispose();
  });

  const accessOf = (REDIS_PREFIX: string) => {
    const { REDIS_URL = '', ...more } = servers.environment;
    return new RedisAccess(redisSettingsOf(REDIS_URL, { ...more, REDIS_PREFIX }));
  };
  const opened = <T extends { close(): Promise<void> }>(resource: T): T => {
    undo.push(async () => await resource.close());
    return resource;
  };

  /** Jobs, questions, limits and messages of a deployment with this prefix, and what its processes got. */
  function deployment(prefix: string) {
    const access = accessOf(prefix);
    const seen: string[] = [];
    const asked: string[] = [];
    const news: string[] = [];
    const queues = opened(new JobQueues(access, () => undefined));
    const ignored = { failed: () => undefined, error: () => undefined };
    const handlers = {
      'advance-issuance': async ({ issuanceId }: { issuanceId: string }) =>
        await Promise.resolve(void seen.push(issuanceId)),
    };
    opened(runJobs(access, 'issuance', handlers, ignored));
    const prober = opened(
      new QuestionServer(access, { name: prefix, log: quiet, concurrency: 5, drainMs: 0 }),
    );
    prober.addHandler('probe-web-rule', async ({ dnsName }: { dnsName: string }) => {
      asked.push(dnsName);
      return await Promise.resolve({ kind: 'answered', status: 200, body: prefix, hops: [] });
    });
    prober.listen(() => undefined);
    const listener = opened(new IssuanceNewsListener(access, { name: prefix, log: quiet }));
    listener.on('1', () => news.push('1'));
    const keys = opened(connectRedis(access, { name: prefix, log: quiet }));
    return {
      ...{ seen, asked, news, queues, prober },
      probes: opened(new ProbeQuestions(access, { name: prefix, log: quiet })),
      publisher: opened(new IssuanceNews(access, { name: prefix, log: quiet })),
      limits: new RedisTokenBuckets(keys),
      challenges: new ChallengeValues(keys),
      occupancy: new AddressOccupancy(keys, { maxPerNetwork: 1, lifetimeMs: 60_000, patienceMs: 60_000 }),
    };
  }
  type Deployment = ReturnType<typeof deployment>;

  /** As the relay does: until Redis accepts it. */
  const enqueue = async ({ queues }: Deployment, id: string) =>
    await eventually(async () => await queues.addAll([advanceIssuance(id, 0)]));
  const answered = async ({ probes }: Deployment) => (await probes.ask(question, 1_000)).kind === 'answered';

  it('no request fails when the master is killed, and jobs, questions and messages flow again in time', async () => {
    const first = deployment('first');
    const tenant = await api.tenant();
    await enqueue(first, '1');
    await eventually(() => expect(first.seen).toContain('1'));
    await eventually(async () => expect(await answered(first)).toBe(true));
    await first.prober.checkWrites();

    let isOver = false;
    const statuses = new Map<number, number>();
    const requests = Array.from({ length: 4 }, async () => {
      while (!isOver) {
        const { status } = await tenant.get('/api/v3/orders');
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }
    });
    await (await servers.masterOf('{first}:issuance:wait')).kill();
    const killedMs = performance.now();
    await enqueue(first, '2');
    await eventually(() => expect(first.seen).toContain('2'), { withinMs: flowsWithinMs });
    expect(performance.now() - killedMs).toBeLessThan(flowsWithinMs);
    await eventually(async () => expect(await answered(first)).toBe(true));
    await eventually(() => {
      first.publisher.publish('1');
      expect(first.news).not.toEqual([]);
    });
    await eventually(async () => await first.prober.checkWrites());
    isOver = true;
    await Promise.all(requests);
    expect([...statuses.keys()]).toEqual([200]);
    expect(statuses.get(200)).toBeGreaterThan(10);
    expect((await api.readiness.report()).ready).toBe(true);
  });

  it('deployments with different prefixes share no job, question, limit, challenge, message and address', async () => {
    const [first, second] = [deployment('first'), deployment('second')];
    for (const each of [first, second]) await eventually(async () => expect(await answered(each)).toBe(true));
    first.asked.length = 0;
    second.asked.length = 0;
    expect(await first.probes.ask(question, 10_000)).toMatchObject({ body: 'first' });
    expect(await second.probes.ask(question, 10_000)).toMatchObject({ body: 'second' });
    expect([first.asked, second.asked]).toEqual([[question.dnsName], [question.dnsName]]);

    await enqueue(first, '10');
    await enqueue(second, '20');
    await eventually(() => expect([first.seen, second.seen]).toEqual([['10'], ['20']]));

    const once = { ratePerS: 0.001, burst: 1, cost: 1 };
    // The test before killed a master: until a connection has read the slots, it may send a command there.
    for (const { limits } of [first, second])
      await eventually(async () => void (await limits.take('a', { ...once, cost: 0 })));
    const granted = await Promise.all([first, first, second].map(({ limits }) => limits.take('a', once)));
    expect(granted.map(({ ok }) => ok)).toEqual([true, false, true]);

    const place = 'name:www.example.com';
    await first.challenges.put(place, ['first'], '');
    expect(await first.challenges.get(place)).toEqual({ known: true, values: ['first'] });
    expect(await second.challenges.get(place)).toMatchObject({ known: false });

    const occupant = (token: string) => ({ token, address: '192.0.2.1', network: 'a' });
    expect(await first.occupancy.occupy(occupant('t1'))).toBe(true);
    expect(await second.occupancy.occupy(occupant('t2'))).toBe(true);

    await eventually(() => {
      first.publisher.publish('1');
      expect(first.news).not.toEqual([]);
    });
    expect(second.news).toEqual([]);
  });
});
