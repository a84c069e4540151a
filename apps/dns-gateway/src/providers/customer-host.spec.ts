import { acmeDnsProvider } from './acme-dns/acme-dns';
import { registration } from './acme-dns/testing/fake-acme-dns';
import { powerdnsProvider } from './powerdns/powerdns';
import { ApiServer } from './testing/api-server';
import { testPorts } from './testing/test-ports';

const planted = 'what another server of the network said';
const record = {
  fqdn: registration.fulldomain,
  type: 'TXT',
  value: 'A'.repeat(43),
  ttlS: null,
} as const;

describe.each([
  ['acme-dns', acmeDnsProvider(), registration],
  ['PowerDNS', powerdnsProvider(), { api_key: 'the-api-key', server_id: 'localhost' }],
] as const)('%s at the server of a customer', (title, provider, members) => {
  it.each([
    [422, { error: planted }],
    [400, { error: planted, message: planted, errors: [planted] }],
    [409, planted],
    [500, { error: planted }],
    [401, { error: planted }],
    [200, { txt: planted, error: planted }],
    [200, `<h1>${planted}</h1>`],
  ])('does not repeat its answer %i %j', async (status, body) => {
    const server = await ApiServer.open(() => ({ status, body }));
    const kept = { endpoint: server.url, ...members };
    const session = provider.session(kept, 'account-1', testPorts(), AbortSignal.timeout(30_000));
    const fault: unknown = await session
      .add({ id: 'auth.example.org.', name: 'auth.example.org' }, record)
      .catch((error: unknown) => error);
    await server.close();
    expect(fault).toMatchObject({
      name: 'ProviderFault',
      message: expect.stringContaining(title) as string,
    });
    expect(String(fault)).not.toContain(planted);
  });
});
