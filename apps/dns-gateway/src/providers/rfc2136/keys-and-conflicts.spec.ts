import type { DnsRecord, ProviderPorts } from '../dns-provider';
import { testPorts } from '../testing/test-ports';
import { rfc2136Provider } from './rfc2136';
import { emptied, nsupdate, zoneContent } from './testing/bind-tools';
import { describeWithPeers, type PeerKey, type Peers, startPeers } from './testing/peers';

const zone = { id: 'example.com', name: 'example.com' };
const challenge = '_acme-challenge.www.example.com';
const provider = rfc2136Provider({ timeouts: { udpMs: [500, 1_000], tcpMs: 20_000 } });
const signal = () => AbortSignal.timeout(15_000);

describe.each([
  { kind: 'bind', address: '127.0.0.24' },
  { kind: 'knot', address: '127.0.0.25' },
] as const)('a real $kind', ({ kind, address }) => {
  describeWithPeers([kind], 'decides by key', () => {
    let peers: Peers;
    beforeAll(async () => {
      peers = await startPeers([{ kind, address, zones: [{ name: 'example.com' }] }]);
    }, 40_000);
    afterAll(() => peers.stop());
    beforeEach(() => emptied(server(), peers.keys.full, ['example.com']));

    const server = () => ({ address, port: peers.port });
    const credentials = (key: PeerKey, more: Readonly<Record<string, string>> = {}) =>
      ({
        type: 'bearer',
        server: address,
        port: String(peers.port),
        key_name: key.name,
        key_algorithm: key.algorithm,
        key_secret: key.secret,
        zones: 'example.com',
        ...more,
      }) as const;
    const opened = async (key: PeerKey, ports: ProviderPorts = testPorts()) =>
      provider.session(await provider.accept(credentials(key), 'a', ports, signal()), 'a', ports, signal());
    const txt = (value: string, fqdn = challenge): DnsRecord => ({ fqdn, type: 'TXT', value, ttlS: null });
    const cname: DnsRecord = { fqdn: challenge, type: 'CNAME', value: 'x.approval.example', ttlS: 60 };
    const content = async (fqdn = challenge) =>
      (await zoneContent(server(), ['example.com'], peers.keys.full))
        .filter((record) => record.fqdn === fqdn)
        .map(({ type, value }) => `${type} ${value}`)
        .sort();
    const plant = async (...lines: string[]) =>
      expect(await nsupdate(server(), peers.keys.full, 'example.com', ...lines)).toBe('');

    it.each(['full', 'sha384', 'sha512'] as const)('the key %s works in both directions', async (name) => {
      const session = await opened(peers.keys[name]);
      await session.add(zone, txt('signed'));
      expect(await content()).toEqual(['TXT signed']);
    });

    it('a key for challenges may add, replace and remove there, and nowhere else', async () => {
      const session = await opened(peers.keys.challenges);
      await session.add(zone, txt('one'));
      await session.add(zone, txt('two'));
      await session.replace(zone, cname);
      expect(await content()).toEqual(['CNAME x.approval.example']);
      await session.remove(zone, cname);
      for (const record of [
        txt('x', '_acme-challenge.example.com'),
        txt('x', 'www.example.com'),
        { fqdn: challenge, type: 'CAA', value: '0 issue "ca.example"', ttlS: null } as const,
      ]) {
        await expect(session.add(zone, record)).rejects.toMatchObject({ kind: 'auth_failed' });
        expect(await content(record.fqdn)).toEqual([]);
      }
    });

    it.each([
      [{ key_secret: Buffer.alloc(32, 9).toString('base64') }, 'another secret'],
      [{ key_name: 'unknown-key' }, 'does not know the key'],
      [{ key_algorithm: 'hmac-sha512' }, 'does not know the key'],
    ])('a key that is wrong in %j is auth_failed when the integration is made', async (wrong, message) => {
      const attempt = provider.accept(credentials(peers.keys.full, wrong), 'a', testPorts(), signal());
      await expect(attempt).rejects.toMatchObject({
        name: 'ProviderFault',
        kind: 'auth_failed',
        message: expect.stringContaining(message),
      });
    });

    it('a clock that is ten minutes off is auth_failed, with that reason', async () => {
      const ports = testPorts({ now: () => new Date(Date.now() + 600_000) });
      await expect(opened(peers.keys.full, ports)).rejects.toMatchObject({
        kind: 'auth_failed',
        message: expect.stringContaining('BADTIME'),
      });
    });

    it.each(['example.net', 'www.example.com', 'com'])(
      '%s, which is not one of its zones, is not found',
      async (name) => {
        const given = credentials(peers.keys.full, { zones: `example.com ${name}` });
        await expect(provider.accept(given, 'a', testPorts(), signal())).rejects.toMatchObject({
          kind: 'zone_not_found',
          message: expect.stringContaining(name),
        });
      },
    );

    it('TXT beside a CNAME is a conflict, and both stay unchanged', async () => {
      await plant(`add ${challenge}. 60 CNAME somewhere.example.`);
      const session = await opened(peers.keys.full);
      await expect(session.add(zone, txt('hidden'))).rejects.toMatchObject({ kind: 'conflict' });
      expect(await content()).toEqual(['CNAME somewhere.example']);
    });

    it('TXT below a delegation at the same name is a conflict: it would be invisible', async () => {
      await plant(`add ${challenge}. 60 NS ns.elsewhere.example.`);
      const session = await opened(peers.keys.full);
      await expect(session.add(zone, txt('hidden'))).rejects.toMatchObject({ kind: 'conflict' });
    });

    it('a CNAME beside an address is a conflict, and nothing is lost', async () => {
      await plant(`add ${challenge}. 60 A 127.0.0.1`, `add ${challenge}. 60 TXT "foreign"`);
      const session = await opened(peers.keys.full);
      await expect(session.replace(zone, cname)).rejects.toMatchObject({ kind: 'conflict' });
      expect(await content()).toEqual(['A 127.0.0.1', 'TXT foreign']);
    });

    it('a CNAME beside an unexpected type is a conflict too', async () => {
      await plant(`add ${challenge}. 60 TYPE65280 \\# 1 00`);
      const session = await opened(peers.keys.full);
      await expect(session.replace(zone, cname)).rejects.toMatchObject({ kind: 'conflict' });
    });

    it('a replacement removes TXT, CAA and NS together, and keeps an address', async () => {
      await plant(
        `add ${challenge}. 60 A 127.0.0.1`,
        `add ${challenge}. 60 TXT "old"`,
        `add ${challenge}. 60 CAA 0 issue "old.example"`,
      );
      const session = await opened(peers.keys.full);
      await session.replace(zone, txt('new'));
      await session.replace(zone, txt('new'));
      expect(await content()).toEqual(['A 127.0.0.1', 'TXT new']);
    });

    it('removal matches the exact value, whatever its TTL', async () => {
      await plant(`add ${challenge}. 999 TXT "ours"`, `add ${challenge}. 999 TXT "ours, too"`);
      const session = await opened(peers.keys.full);
      await session.remove(zone, { ...txt('ours'), ttlS: 60 });
      expect(await content()).toEqual(['TXT ours, too']);
    });
  });
});
