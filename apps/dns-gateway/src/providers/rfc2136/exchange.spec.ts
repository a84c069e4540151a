import { defaultTimeouts, exchange } from './exchange';

describe('an exchange', () => {
  it('with an address that the system cannot send to, as to IPv6 without a route, is unavailable', async () => {
    // Only broadcast sockets may send there.
    const server = { address: '255.255.255.255', port: 53 };
    const classify = () => ({ ignored: true, why: 'none' }) as const;
    const exchanged = exchange(
      server,
      Buffer.alloc(12),
      classify,
      defaultTimeouts,
      AbortSignal.timeout(5_000),
    );
    await expect(exchanged).rejects.toMatchObject({ name: 'ProviderFault', kind: 'unavailable' });
  });
});
