import { eventually, type SeverableLink, severableLink } from '@certwright/testing';
import { anIssuance } from './testing/forged-issuance';
import { RunningSearch } from './testing/running-search';

jest.setTimeout(60_000);

const query = '/v1/issuances?domain=example.com&expand=issuer';

it('returns 503 with Retry-After while the ct database is unavailable, and recovers', async () => {
  let link: SeverableLink | undefined;
  const search = await RunningSearch.start(async (databaseUrl) => {
    const url = new URL(databaseUrl);
    link = await severableLink({ host: url.hostname, port: Number(url.port) });
    url.host = `127.0.0.1:${link.port}`;
    return { CT_DATABASE_URL: url.href };
  });
  try {
    await search.store(anIssuance('example.com'));
    expect((await search.get(query)).json).toHaveLength(1);
    link?.cut();
    for (const at of [query, '/v1/issuances/1', '/v1/issuances/1.pem', '/v1/status']) {
      const response = await search.get(at);
      expect([response.status, response.json.code]).toEqual([503, 'service_outage']);
      expect(Number(response.headers['retry-after'])).toBeGreaterThan(0);
      expect(response.headers['access-control-allow-origin']).toBe('*');
    }
    expect((await search.get('/readyz')).status).toBe(200);
    expect(await search.readiness.report()).toMatchObject({ degraded: ['ct database'] });
    link?.restore();
    await eventually(async () => expect((await search.get(query)).json).toHaveLength(1), {
      withinMs: 10_000,
    });
    expect((await search.get('/v1/status')).status).toBe(200);
  } finally {
    await search.stop();
    await link?.close();
  }
});

it('stays ready for anonymous queries while the core database is unavailable, and returns 503 for queries with a key', async () => {
  let link: SeverableLink | undefined;
  const search = await RunningSearch.start(async (databaseUrl) => {
    const url = new URL(databaseUrl);
    link = await severableLink({ host: url.hostname, port: Number(url.port) });
    url.host = `127.0.0.1:${link.port}`;
    return { DATABASE_URL: url.href };
  });
  try {
    await search.store(anIssuance('example.com'));
    const headers = await search.key();
    const running = { ready: true, state: 'running' };
    expect(await search.readiness.report()).toEqual({
      ...running,
      checks: {
        'ct schema': 'ok',
        'ct database': 'ok',
        'core schema': 'ok',
        'core database': 'ok',
        clock: 'ok',
        'redis prefix': 'ok',
      },
    });
    link?.cut();
    expect(await search.readiness.report()).toEqual({
      ...running,
      checks: {
        'ct schema': 'ok',
        'ct database': 'ok',
        'core schema': 'ok',
        'core database': 'failed',
        clock: 'ok',
        'redis prefix': 'ok',
      },
      degraded: ['core database'],
    });
    expect((await search.get('/readyz')).status).toBe(200);
    expect((await search.get(query)).json).toHaveLength(1);
    const refused = await search.get(query, headers);
    expect([refused.status, refused.json.code]).toEqual([503, 'service_outage']);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    link?.restore();
    await eventually(async () => expect((await search.get(query, headers)).status).toBe(200), {
      withinMs: 10_000,
    });
    expect(await search.readiness.report()).not.toHaveProperty('degraded');
  } finally {
    await search.stop();
    await link?.close();
  }
});
