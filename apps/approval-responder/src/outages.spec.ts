import { randomBytes } from 'node:crypto';
import { eventually, freePort, type SeverableLink, severableLink } from '@certwright/testing';
import { RunningResponder } from './testing/running-responder';

const challengePath = `/${'a'.repeat(32)}/.well-known/acme-challenge/${'t'.repeat(27)}`;
const linkPath = `/approve/${'t'.repeat(43)}`;

describe('while the database is down', () => {
  let link: SeverableLink;
  let responder: RunningResponder;

  beforeAll(async () => {
    responder = await RunningResponder.start(async (databaseUrl) => {
      const url = new URL(databaseUrl);
      link = await severableLink({ host: url.hostname, port: Number(url.port) });
      url.port = String(link.port);
      return { DATABASE_URL: url.href };
    });
  });
  afterAll(async () => {
    await responder.stop();
    await link.close();
  });

  it('returns 503 with Retry-After, stays ready to say so, and recovers by itself', async () => {
    expect((await responder.call('GET', challengePath)).status).toBe(404);
    link.cut();
    for (const path of [challengePath, linkPath]) {
      const response = await responder.call('GET', path);
      expect(response.status).toBe(503);
      expect(Number(response.headers['retry-after'])).toBeGreaterThan(0);
    }
    expect(await responder.readiness.report()).toMatchObject({ ready: true, degraded: ['database'] });
    link.restore();
    await eventually(async () => expect((await responder.call('GET', challengePath)).status).toBe(404));
    expect(await responder.readiness.report()).not.toHaveProperty('degraded');
  });
});

describe('limits', () => {
  it('count the requests of each client address, also while Redis is down', async () => {
    const port = await freePort();
    const responder = await RunningResponder.start(() => ({
      REDIS_URL: `redis://127.0.0.1:${port}`,
      REQUESTS_PER_S: '1',
      TRUSTED_PROXIES: '127.0.0.1',
    }));
    const from = async (address: string) =>
      await responder.call('GET', challengePath, { headers: { 'x-forwarded-for': address } });
    const statuses: number[] = [];
    for (let count = 0; count < 12; count += 1) statuses.push((await from('192.0.2.1')).status);
    expect(statuses.slice(0, 10)).toEqual(Array<number>(10).fill(404));
    const refused = await from('192.0.2.1');
    expect(refused.status).toBe(429);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    expect((await from('192.0.2.2')).status).toBe(404);
    await responder.stop();
  });

  it('of one account leave others their share of an address that is the client of all, such as the prober', async () => {
    const responder = await RunningResponder.start(() => ({ REQUESTS_PER_S: '1' }));
    const through = async (secret: string) =>
      await responder.call('GET', `/${secret}/.well-known/acme-challenge/${'t'.repeat(27)}`);
    const refusedOf = async (requests: readonly Promise<{ readonly status: number }>[]) =>
      (await Promise.all(requests)).filter(({ status }) => status === 429).length;
    const flood = Array.from({ length: 20 }, async () => await through('a'.repeat(32)));
    expect((await through('z'.repeat(32))).status).toBe(404);
    expect(await refusedOf(flood)).toBeGreaterThan(0);
    expect((await through('z'.repeat(32))).status).toBe(404);
    // Rules that do not exist are limited in all.
    const secrets = Array.from({ length: 80 }, () =>
      randomBytes(16)
        .toString('hex')
        .replace(/[^a-f2-7]/g, 'x'),
    );
    expect(await refusedOf(secrets.map(through))).toBeGreaterThan(0);
    await responder.stop();
  });
});
