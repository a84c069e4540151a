import { startRedisCluster, startRedisSentinels } from '@certwright/testing';
import { redisSettingsOf } from './redis-settings';
import { RedisAccess } from './redis-access';

it('try', async () => {
  const t = performance.now();
  const cluster = await startRedisCluster();
  console.log('cluster', performance.now() - t);
  for (const e of [cluster.environment, cluster.secureEnvironment]) {
    const { REDIS_URL, ...more } = e;
    const c = new RedisAccess(redisSettingsOf(REDIS_URL ?? '', more)).open({ kind: 'worker', name: 'x' });
    c.on('error', (e) => console.log(e, e.lastNodeError));
    console.log(await c.set('a', '1'), await c.call('ACL', 'WHOAMI'));
    c.disconnect();
  }
  console.log((await cluster.masterOf('a')).port);
  cluster.dispose();
}, 15_000);
it('s', async () => {
  const t2 = performance.now();
  const sentinels = await startRedisSentinels();
  console.log('sentinels', performance.now() - t2);
  const { REDIS_URL, ...more } = sentinels.environment;
  const c = new RedisAccess(redisSettingsOf(REDIS_URL ?? '', more)).open({ kind: 'worker', name: 'x' });
  c.on('error', (e) => console.log(String(e)));
  console.log(await c.set('a', '1'), await c.call('ACL', 'WHOAMI'));
  c.disconnect();
  console.log((await sentinels.masterOf('a')).port);
  sentinels.dispose();
}, 60_000);
