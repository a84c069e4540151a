import { eventually, testRedis, type TestRedis } from '@certwright/testing';
import { PrefixClaim, type RedisOwner } from './prefix-claim';

const one: RedisOwner = { mode: 'production', id: '01010101-0101-0101-0101-010101010101' };
const other: RedisOwner = { mode: 'production', id: '02020202-0202-0202-0202-020202020202' };
const times = { renewMs: 20, refusedMs: 60, unavailableMs: 20 };

let redis: TestRedis;
const claims: PrefixClaim[] = [];
beforeAll(async () => {
  redis = await testRedis();
});
afterEach(async () => {
  for (const claim of claims.splice(0)) claim.close();
  await redis.flush();
});
afterAll(async () => await redis.dispose());

function claimed(owner: () => Promise<RedisOwner | null>, refusedMs = times.refusedMs) {
  const lines: string[] = [];
  const note = (members: object, message: string) => void lines.push(`${message} ${JSON.stringify(members)}`);
  const lost = jest.fn();
  const client = redis.access.open({ kind: 'commands', name: 'spec-claim' });
  const log = { info: note, warn: note, error: note };
  const claim = new PrefixClaim(redis.prefix, client, owner, log, lost, { ...times, refusedMs });
  claims.push(claim);
  return { claim, client, lines, lost };
}
const of = (owner: RedisOwner | null, refusedMs?: number) =>
  claimed(async () => await Promise.resolve(owner), refusedMs);
const admitted = async ({ claim }: ReturnType<typeof claimed>, withinMs = 20_000) =>
  await claim.admit(AbortSignal.timeout(withinMs));

describe('a prefix', () => {
  it('belongs to the deployment that uses it first, with all of its processes', async () => {
    expect(await admitted(of(one))).toBe(true);
    expect(await admitted(of(one))).toBe(true);
    expect(await redis.connect().get(`${redis.prefix}:deployment`)).toBe(`production:${one.id}`);
  });

  it('is refused to another deployment, with one line that says what to do', async () => {
    await admitted(of(one));
    const refused = of(other);
    expect(await admitted(refused, 500)).toBe(false);
    expect(() => refused.claim.requireOwn()).toThrow(`REDIS_PREFIX ${redis.prefix} belongs to deployment`);
    expect(refused.lines).toHaveLength(1);
    for (const needed of ['REDIS_PREFIX', 'REDIS_URL', `${redis.prefix}:deployment`, `production:${one.id}`])
      expect(refused.lines[0]).toContain(needed);
  });

  it('is only looked at by a process that knows no more than its mode', async () => {
    const sandbox: RedisOwner = { mode: 'sandbox', id: null };
    expect(await admitted(of(sandbox))).toBe(true);
    expect(await redis.connect().exists(`${redis.prefix}:deployment`)).toBe(0);
    await admitted(of(one));
    expect(await admitted(of({ mode: 'production', id: null }))).toBe(true);
    const refused = of(sandbox);
    expect(await admitted(refused, 500)).toBe(false);
    expect(() => refused.claim.requireOwn()).toThrow();
  });

  it('is not checked while the schema has no identity', async () => {
    await admitted(of(one));
    expect(await admitted(of(null))).toBe(true);
  });

  it('is used as soon as the database is available', async () => {
    let isAvailable = false;
    const starting = claimed(async () => {
      if (!isAvailable) throw new Error('the database is down');
      return await Promise.resolve(one);
    });
    const admission = admitted(starting);
    expect(await admitted(starting, 200)).toBe(false);
    isAvailable = true;
    expect(await admission).toBe(true);
  });
});

describe('a claim', () => {
  it('is renewed after Redis lost everything, before a deployment that was refused gets it', async () => {
    await admitted(of(one));
    const refused = of(other, 1_000);
    const admission = admitted(refused, 2_500);
    await eventually(() => expect(refused.lines).toHaveLength(1));
    await redis.flush();
    await eventually(async () =>
      expect(await redis.connect().get(`${redis.prefix}:deployment`)).toBe(`production:${one.id}`),
    );
    expect(await admission).toBe(false);
  });

  it('passes to a deployment that was refused when no process renews it', async () => {
    const first = of(one);
    await admitted(first);
    const refused = of(other);
    const admission = admitted(refused);
    await eventually(() => expect(() => refused.claim.requireOwn()).toThrow());
    first.claim.close();
    await redis.flush();
    expect(await admission).toBe(true);
    refused.claim.requireOwn();
    expect(refused.lines).toHaveLength(2);
  });

  it('does not pass to a deployment that was refused when two of its connections find it lost at once', async () => {
    const running = of(one);
    await admitted(running);
    const refused = of(other, 60_000);
    expect(await admitted(refused, 500)).toBe(false);
    expect(refused.lines).toHaveLength(1);
    // It does not renew its claim in time.
    running.claim.close();
    await redis.flush();
    for (const _connection of [1, 2, 3]) expect(await admitted(refused, 300)).toBe(false);
    expect(await redis.connect().exists(`${redis.prefix}:deployment`)).toBe(0);
  });

  it('does not pass to a deployment that was refused and could not see meanwhile whether it was renewed', async () => {
    const running = of(one);
    await admitted(running);
    const refused = of(other, 1_000);
    expect(await admitted(refused, 500)).toBe(false);
    running.claim.close();
    await redis.flush();
    expect(await admitted(refused, 300)).toBe(false);
    refused.client.disconnect();
    expect(await admitted(refused, 1_200)).toBe(false);
    await refused.client.connect();
    expect(await admitted(refused, 300)).toBe(false);
    expect(await redis.connect().exists(`${redis.prefix}:deployment`)).toBe(0);
  });

  it('that another deployment has got meanwhile ends the connections of this one', async () => {
    const running = of(one);
    await admitted(running);
    await redis.connect().set(`${redis.prefix}:deployment`, `production:${other.id}`);
    await eventually(() => expect(running.lost).toHaveBeenCalled());
    expect(() => running.claim.requireOwn()).toThrow();
  });
});
