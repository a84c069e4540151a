import { AddressGuard } from '@certwright/outbound';
import { testPorts } from '../testing/test-ports';
import { rfc2136Provider } from './rfc2136';

const zone = { id: 'example.com', name: 'example.com' };
const challenge = '_acme-challenge.www.example.com';
const secret = Buffer.alloc(32, 9).toString('base64');
const provider = rfc2136Provider({ timeouts: { udpMs: [500, 1_000], tcpMs: 20_000 } });
const signal = () => AbortSignal.timeout(15_000);

describe('the credentials of rfc2136', () => {
  const good = {
    type: 'bearer',
    server: '127.0.0.1',
    key_name: 'gateway-key',
    key_algorithm: 'hmac-sha256',
    key_secret: secret,
    zones: 'example.com',
  } as const;
  const accept = (change: Readonly<Record<string, string>>, ports = testPorts()) =>
    provider.accept({ ...good, ...change }, 'a', ports, signal());

  it.each<[Record<string, string>, string]>([
    [{ server: 'ns1.example.com/x' }, 'server'],
    [{ server: '' }, 'server'],
    [{ port: '0' }, 'port'],
    [{ port: '65536' }, 'port'],
    [{ port: '53 ' }, 'port'],
    [{ key_name: 'a..b' }, 'key_name'],
    [{ key_algorithm: 'hmac-md5' }, 'key_algorithm'],
    [{ key_algorithm: 'hmac-sha1' }, 'key_algorithm'],
    [{ key_secret: `${secret}=` }, 'key_secret'],
    [{ key_secret: Buffer.alloc(8).toString('base64') }, 'key_secret'],
    [{ zones: ' , ' }, 'zones'],
    [{ zones: 'example.com ex*mple.com' }, 'zones'],
    [{ zones: Array.from({ length: 51 }, (_, at) => `z${at}.example`).join(',') }, 'zones'],
  ])('refuses %j', async (change, member) => {
    const problem: unknown = await accept(change).catch((error: unknown) => error);
    expect(problem).toMatchObject({ code: 'bad_request', faults: [{ field: `credentials.${member}` }] });
    expect(JSON.stringify(problem)).not.toContain(secret);
  });

  it.each(['127.0.0.1', '10.0.0.1', 'localhost', '0x7f.1', '[::1]', '::1'])(
    'refuses %s when such addresses are not allowed, before sending anything',
    async (server) => {
      const ports = { ...testPorts(), guard: new AddressGuard({ allowedNetworks: [] }) };
      await expect(accept({ server }, ports)).rejects.toMatchObject({
        code: 'bad_request',
        faults: [{ field: 'credentials.server' }],
      });
      const kept = { ...good, port: '53', zones: ['example.com'] };
      const session = provider.session({ ...kept, server }, 'a', ports, signal());
      const record = { fqdn: challenge, type: 'TXT', value: 'v', ttlS: null } as const;
      await expect(session.add(zone, record)).rejects.toMatchObject({ kind: 'rejected' });
    },
  );

  it('a missing server is unavailable', async () => {
    await expect(accept({ port: '1' })).rejects.toMatchObject({ name: 'ProviderFault', kind: 'unavailable' });
  });
});
