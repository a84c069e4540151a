import { AddressGuard } from '@certwright/outbound';
import { acmeDnsProvider } from '../acme-dns/acme-dns';
import { registration } from '../acme-dns/testing/fake-acme-dns';
import type { ProviderPorts } from '../dns-provider';
import { powerdnsProvider } from '../powerdns/powerdns';
import { testPorts } from '../testing/test-ports';
import { readEndpoint } from './endpoint';

describe("the endpoint of a customer's own server", () => {
  it.each([
    ['http://pdns.example.com:8081', 'in the clear'],
    ['http://8.8.8.8', 'in the clear'],
    ['ftp://pdns.example.com', 'https://'],
    ['https://user:secret@pdns.example.com', 'user'],
    ['https://pdns.example.com/?key=1', 'path'],
    ['pdns.example.com', 'a URL'],
  ])('%s is refused', (endpoint, message) => {
    expect(() => readEndpoint(endpoint)).toThrow(
      expect.objectContaining({
        code: 'bad_request',
        faults: [
          expect.objectContaining({
            field: 'credentials.endpoint',
            message: expect.stringContaining(message) as string,
          }),
        ],
      }),
    );
  });

  it.each([
    ['https://pdns.example.com/', 'https://pdns.example.com'],
    ['https://PDNS.example.com:8443/dns//', 'https://pdns.example.com:8443/dns'],
    ['http://10.1.2.3:8081', 'http://10.1.2.3:8081'],
    ['http://[fd00::1]:8081/', 'http://[fd00::1]:8081'],
  ])('%s is %s', (endpoint, normal) => {
    expect(readEndpoint(endpoint)).toBe(normal);
  });
});

describe('the endpoint in new credentials', () => {
  const ports = { ...testPorts(), guard: new AddressGuard({ allowedNetworks: [] }) };
  const providers = [
    ['acme-dns', acmeDnsProvider(), registration],
    ['PowerDNS', powerdnsProvider(), { api_key: 'key' }],
  ] as const;
  describe.each(providers)('of %s', (_name, provider, members) => {
    const accept = async (endpoint: string, using: ProviderPorts = ports) => {
      const credentials = { type: 'bearer', endpoint, ...members } as const;
      return await provider.accept(credentials, 'account-1', using, AbortSignal.timeout(10_000));
    };

    it.each([
      'https://127.0.0.1',
      'https://169.254.169.254/latest',
      'http://10.0.0.1',
      'https://[::1]',
      'https://[fd00:ec2::254]',
      'https://[::ffff:127.0.0.1]',
      'https://[::ffff:a9fe:a9fe]',
      'https://2130706433',
      'https://0x7f.1',
      'https://0177.0.0.1',
      'https://127.0.0.1.',
      'https://localhost',
      'https://LOCALHOST.',
      'https://pdns.localhost',
      'https://192.0.2.1:25',
      'https://pdns.example.com:6679',
    ])('is refused with %s, without a connection', async (endpoint) => {
      await expect(accept(endpoint)).rejects.toMatchObject({
        code: 'bad_request',
        faults: [{ field: 'credentials.endpoint', code: 'invalid_value' }],
      });
    });

    it('may be at an address in a network allowed by the operator', async () => {
      const kept = await accept('http://127.0.0.1:8081', testPorts());
      expect(kept).toMatchObject({ endpoint: 'http://127.0.0.1:8081' });
    });
  });
});
