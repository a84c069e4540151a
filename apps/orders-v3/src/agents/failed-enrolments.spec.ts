import { agentPaths } from '@certwright/agent-contract';
import { RunningApi } from '../testing/running-api';
import { enrolmentToken, SpecAgent, specCluster } from '../testing/spec-agent';

it('counts wrong tokens and signatures of enrolments for the address, as wrong API keys, and still admits right ones', async () => {
  const api = await RunningApi.start({ FAILED_AUTHENTICATION_PER_MIN: '1' });
  try {
    const own = await specCluster(api, await api.tenant(), 'web');
    const agent = new SpecAgent(api, own);
    const token = await enrolmentToken(api, own);
    const otherKey = { key: new SpecAgent(api, own).identity };
    const wrong = [
      () => agent.enrol('x'.repeat(43)),
      () => agent.call('POST', agentPaths.enrol, agent.enrolBody(token), otherKey),
      () => api.call('GET', '/api/v3/orders', { headers: { authorization: 'Bearer unknown' } }),
    ];
    // Concurrently, so that the limit is not restored meanwhile.
    const responses = await Promise.all(
      wrong.map(async (send) => await Promise.all(Array.from({ length: 4 }, send))),
    );
    const counted = responses.flat().filter(({ status }) => status === 401);
    // Two when Redis does not respond in time meanwhile, and the process counts by itself.
    expect([1, 2]).toContain(counted.length);
    for (const ofKind of responses) {
      const limit = ofKind.find(({ status }) => status === 429);
      expect(limit?.json.code).toBe('rate_limited');
      expect(Number(limit?.headers['retry-after'])).toBeGreaterThan(0);
    }
    expect((await agent.enrol(token)).status).toBe(200);
  } finally {
    await api.stop();
  }
});
