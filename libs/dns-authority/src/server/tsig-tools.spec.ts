import { execFile, spawnSync } from 'node:child_process';
import { promisify } from 'node:util';
import { updateBytes } from '../asking/request-bytes';
import { RCODE } from '../codes';
import { MemoryZones } from '../memory/memory-zones';
import { Responder } from '../responder';
import { rcodeOf } from '../testing/asking';
import { txt, zone } from '../testing/zones';
import { signRequest, verifyResponse } from '../tsig/asker';
import { readTsigKey, TSIG_ALGORITHMS, type TsigKey } from '../tsig/tsig-key';
import { DnsServer } from './dns-server';

const run = promisify(execFile);
const isThere = (tool: string) => spawnSync(tool, ['-v'], { timeout: 5_000 }).error === undefined;
const describeWithTools = isThere('dig') && isThere('nsupdate') ? describe : describe.skip;

const secret = Buffer.alloc(64, 0x5a).toString('base64');
const keys = Object.keys(TSIG_ALGORITHMS).map(
  (algorithm) => readTsigKey({ name: `key-${algorithm}`, algorithm, secret }) as TsigKey,
);

describeWithTools(
  'signatures, as dig and nsupdate of BIND see them (skipped where they are not installed)',
  () => {
    const big = Array.from({ length: 12 }, (_, n) => txt('big.example.com', `${n}`.padEnd(200, 'x')));
    // As much as fits a datagram without a signature, and not with one.
    const tight = txt('tight.example.com', 'y'.repeat(230), 'y'.repeat(180));
    const com = zone('example.com', ...big, tight);
    const zones = new MemoryZones([com], { updatable: ['example.com'] });
    const server = new DnsServer({
      host: '127.0.0.1',
      port: 0,
      source: zones,
      updates: zones,
      tsigKeys: keys,
      onlySignedUpdates: true,
    });
    let port = 0;
    beforeAll(async () => {
      ({ port } = await server.listen());
    });
    afterAll(() => server.close());

    const dig = async (key: string, ...args: string[]) =>
      (await run('dig', ['@127.0.0.1', '-p', String(port), '+tries=1', '+timeout=20', '-y', key, ...args]))
        .stdout;

    const nsupdate = (key: string | null, transport: 'udp' | 'tcp', ...lines: string[]) =>
      new Promise<string>((resolve) => {
        const args = [...(transport === 'tcp' ? ['-v'] : []), ...(key === null ? [] : ['-y', key])];
        const child = execFile('nsupdate', args, { timeout: 5_000 }, (_error, _stdout, stderr) =>
          resolve(stderr),
        );
        child.stdin?.end([`server 127.0.0.1 ${port}`, 'zone example.com.', ...lines, 'send', ''].join('\n'));
      });

    it.each(keys)(
      '$algorithm: nsupdate changes the zone and takes the answer',
      async ({ name, algorithm }) => {
        for (const transport of ['udp', 'tcp'] as const) {
          const owner = `${algorithm}-${transport}.example.com`;
          expect(
            await nsupdate(`${algorithm}:${name}:${secret}`, transport, `add ${owner}. 60 TXT "signed"`),
          ).toBe('');
          expect(com.recordsAt(owner)).toHaveLength(1);
        }
      },
    );

    it.each(keys)(
      '$algorithm: dig takes signed answers, large ones over TCP',
      async ({ name, algorithm }) => {
        const key = `${algorithm}:${name}:${secret}`;
        for (const asked of ['example.com', 'big.example.com', 'tight.example.com']) {
          const answer = await dig(key, asked, 'TXT', '+noedns');
          expect(answer).toMatch(/status: NOERROR/);
          expect(answer).toMatch(/TSIG PSEUDOSECTION/);
          expect(answer).not.toMatch(/verify|WARNING.*TSIG|malformed/i);
        }
        expect(await dig(key, 'tight.example.com', 'TXT', '+noedns', '+ignore')).toMatch(/flags: qr aa tc/);
      },
    );

    it('nsupdate reports what is wrong with its key, and nothing is changed', async () => {
      const [{ name, algorithm }] = keys as [TsigKey];
      const other = Buffer.alloc(64, 1).toString('base64');
      const add = 'add refused.example.com. 60 TXT "x"';
      expect(await nsupdate(`${algorithm}:${name}:${other}`, 'udp', add)).toMatch(/BADSIG/);
      expect(await nsupdate(`${algorithm}:unknown:${secret}`, 'udp', add)).toMatch(/BADKEY/);
      expect(await nsupdate(`hmac-sha1:${name}:${secret}`, 'udp', add)).toMatch(/BADKEY/);
      expect(await nsupdate(null, 'udp', add)).toMatch(/REFUSED/);
      expect(com.recordsAt('refused.example.com')).toBeUndefined();
    });
  },
);

describe('an UPDATE that is signed', () => {
  const [key] = keys as [TsigKey];
  const now = new Date('2026-11-20T12:00:00Z');
  const nowS = now.getTime() / 1000;
  const far = { address: '192.0.2.1', port: 5353, transport: 'udp' } as const;
  const update = (id = 7) =>
    updateBytes({
      id,
      zone: 'example.com',
      prerequisites: [],
      steps: [{ step: 'add', record: txt('new.example.com', 'x') }],
    });
  const made = (options: { onlySignedUpdates?: boolean; tsigKeys?: readonly TsigKey[] } = {}) => {
    const com = zone('example.com');
    const zones = new MemoryZones([com], { updatable: ['example.com'] });
    const responder = new Responder({
      source: zones,
      updates: zones,
      tsigKeys: [key],
      now: () => now,
      ...options,
    });
    return { com, responder };
  };

  it('is taken from any address, and its answer is signed', async () => {
    const { com, responder } = made();
    const { message, mac } = signRequest(update(), key, nowS);
    const response = await responder.respond(message, far);
    expect(com.recordsAt('new.example.com')).toHaveLength(1);
    expect(verifyResponse(response!, key, mac, nowS)).toMatchObject({ verdict: 'valid' });
  });

  it('with the wrong key, at the wrong time, or changed on its way changes nothing', async () => {
    const { com, responder } = made();
    const late = signRequest(update(), key, nowS - 301);
    const response = await responder.respond(late.message, far);
    expect(rcodeOf(response)).toBe(RCODE.NOTAUTH);
    expect(verifyResponse(response!, key, late.mac, nowS)).toEqual({
      verdict: 'refused',
      error: 'BADTIME',
      serverTimeS: nowS,
    });
    const forged = signRequest(update(), { ...key, secret: Buffer.alloc(32) }, nowS);
    const refusal = await responder.respond(forged.message, far);
    expect(verifyResponse(refusal!, key, forged.mac, nowS)).toEqual({ verdict: 'refused', error: 'BADSIG' });
    const { message } = signRequest(update(), key, nowS);
    message[40] = (message[40] ?? 0) ^ 1;
    expect([RCODE.NOTAUTH, RCODE.FORMERR]).toContain(rcodeOf(await responder.respond(message, far)));
    expect(com.recordsAt('new.example.com')).toBeUndefined();
  });

  it('is not taken where no key is known, also from this machine', async () => {
    const { com, responder } = made({ tsigKeys: [] });
    const { message } = signRequest(update(), key, nowS);
    expect(rcodeOf(await responder.respond(message, { ...far, address: '127.0.0.1' }))).toBe(RCODE.NOTAUTH);
    expect(rcodeOf(await responder.respond(message, far))).toBe(RCODE.REFUSED);
    expect(com.recordsAt('new.example.com')).toBeUndefined();
  });

  it('is needed from afar, and of this machine where it is said so', async () => {
    const near = { ...far, address: '127.0.0.1' };
    expect(rcodeOf(await made().responder.respond(update(), far))).toBe(RCODE.REFUSED);
    expect(rcodeOf(await made().responder.respond(update(), near))).toBe(RCODE.NOERROR);
    const strict = made({ onlySignedUpdates: true });
    expect(rcodeOf(await strict.responder.respond(update(), near))).toBe(RCODE.REFUSED);
  });
});
