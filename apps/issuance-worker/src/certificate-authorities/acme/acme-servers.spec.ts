import { generateKeyPairSync } from 'node:crypto';
import type { CertificateAuthorityEntity } from '@certwright/core-schema';
import { eventually } from '@certwright/testing';
import { AccountKey, defaultRepeats } from '../../acme';
import { FakeAcmeServer, silence } from '../../acme/testing/fake-acme-server';
import { AcmeServers, maxSlowOf } from './acme-servers';

it.each([1, 32])('of %i orders, as many as may be slow leave connections to others', async (orders) => {
  const ca = await FakeAcmeServer.start();
  const once = { ...defaultRepeats, max: 0 };
  const servers = new AcmeServers(
    'spec',
    () => () => undefined,
    20_000,
    orders,
    () => new Date(),
    once,
  );
  try {
    const { directoryUrl, tlsRoot: tlsRoots } = ca;
    const row = { name: 'ca', directoryUrl, tlsRoots, allowedHosts: [] as readonly string[] };
    const server = servers.of(row as CertificateAuthorityEntity);
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const account = server.account(new AccountKey(privateKey), ca.url('/account/1'));
    const slowAtOnce = Array.from({ length: maxSlowOf(orders) });
    // Their responses have the nonces of the next requests, and leave their connections open.
    await Promise.allSettled(slowAtOnce.map(async () => await account.read()));
    ca.override('/slow', silence);
    const slow = slowAtOnce.map(async () => await account.order(ca.url('/slow')));
    const ends = Promise.allSettled(slow);
    await eventually(() => expect(ca.requestCount('/slow')).toBe(slow.length));
    await server.probe();
    await servers.close();
    await ends;
  } finally {
    await ca.stop();
  }
});
