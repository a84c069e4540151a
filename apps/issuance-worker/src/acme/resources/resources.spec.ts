import type { Certificate } from '@certwright/pki';
import { linksOf } from '../connection/link-header';
import { NoncePool } from '../conversation/nonce-pool';
import { printable } from '../printable';
import { chooseChain } from './choose-chain';
import { readRenewalInfo, renewalIdOf } from './renewal-info';

const now = new Date('2026-11-20T12:00:00Z');
const inS = (seconds: number) => new Date(now.getTime() + seconds * 1_000);

describe('renewal information (RFC 9773)', () => {
  const window = { start: '2026-12-01T00:00:00Z', end: '2026-12-02T00:00:00+01:00' };
  const read = (members: object, retryAt: Date | null = null) =>
    readRenewalInfo({ suggestedWindow: window, ...members }, retryAt, now);

  it('builds the identifier of the certificate in section 4.1', () => {
    const certificate = {
      authorityKeyId: '69885b6b87464041e1b37b847ba0ae2cde01c8d4',
      serialNumber: '87654321',
    };
    expect(renewalIdOf(certificate)).toBe('aYhba4dGQEHhs3uEe6CuLN4ByNQ.AIdlQyE');
    expect(renewalIdOf({ ...certificate, serialNumber: '07654321' })).toBe(
      'aYhba4dGQEHhs3uEe6CuLN4ByNQ.B2VDIQ',
    );
    expect(renewalIdOf({ ...certificate, authorityKeyId: undefined })).toBeNull();
  });

  it('reads the window', () => {
    expect(read({}).window).toEqual({
      start: new Date('2026-12-01T00:00:00Z'),
      end: new Date('2026-12-01T23:00:00Z'),
    });
  });

  it.each([
    ['no window', { suggestedWindow: undefined }],
    ['a window without an end', { suggestedWindow: { start: window.start } }],
    ['a window that ends as it starts', { suggestedWindow: { start: window.start, end: window.start } }],
    ['a time that is none', { suggestedWindow: { ...window, end: '2026-12-01' } }],
  ])('rejects %s', (_, members) => {
    expect(() => read(members)).toThrow(expect.objectContaining({ kind: 'not_acme' }) as Error);
  });

  it('is polled again after six hours, or as the CA says, between a minute and a day', () => {
    expect(read({}).retryAt).toEqual(inS(6 * 3_600));
    expect(read({}, inS(1)).retryAt).toEqual(inS(60));
    expect(read({}, inS(7_200)).retryAt).toEqual(inS(7_200));
    expect(read({}, inS(999_999)).retryAt).toEqual(inS(86_400));
  });

  it('keeps an explanation URL of a page but not of a script', () => {
    expect(read({ explanationURL: 'https://ca.example.com/why' }).explanationUrl).toBe(
      'https://ca.example.com/why',
    );
    expect(read({ explanationURL: 'javascript:alert(1)' }).explanationUrl).toBeNull();
    expect(read({ explanationURL: 'why' }).explanationUrl).toBeNull();
  });
});

describe('chooseChain', () => {
  const name = (text: string) => ({ der: Buffer.from(text), commonNames: [text], countries: [] });
  const certificate = (subject: string, issuer: string, spkiSha256: string) =>
    ({ subject: name(subject), issuer: name(issuer), spkiSha256 }) as unknown as Certificate;
  const leaf = certificate('leaf', 'R1', '00');
  const short = { leaf, issuers: [certificate('R1', 'Root X', '11')] };
  const cross = {
    leaf,
    issuers: [certificate('R1', 'Root X', '11'), certificate('Root X', 'Old root', '22')],
  };
  const bare = { leaf: certificate('leaf', 'Only root', '00'), issuers: [] };

  it('returns the first chain that leads to the preferred name, else the first', () => {
    expect(chooseChain([cross, short], null)).toBe(cross);
    expect(chooseChain([short, cross], { commonName: 'Old root' })).toBe(cross);
    // The topmost certificate of the other one has that name, but leads to the old root.
    expect(chooseChain([cross, short], { commonName: 'Root X' })).toBe(short);
    expect(chooseChain([cross, short], { commonName: 'Somebody' })).toBe(cross);
    expect(chooseChain([short, bare], { commonName: 'Only root' })).toBe(bare);
  });

  it('matches the key of the topmost certificate, or of a known root that issued it', () => {
    expect(chooseChain([short, cross], { spkiSha256: '22' })).toBe(cross);
    const roots = [certificate('Old root', 'Old root', '33'), certificate('Root X', 'Root X', '22')];
    expect(chooseChain([short, cross], { spkiSha256: '33' }, roots)).toBe(cross);
    expect(chooseChain([cross, short], { spkiSha256: '22' }, roots.slice(1))).toBe(cross);
    expect(chooseChain([short, cross], { spkiSha256: '33' })).toBe(short);
  });
});

describe('nonces', () => {
  it('are used once, newest first, and not when too old', () => {
    const pool = new NoncePool();
    pool.put('a', now);
    pool.put('b', inS(299));
    expect([pool.take(inS(301)), pool.take(inS(301)), pool.take(inS(301))]).toEqual(['b', null, null]);
  });

  it('are bounded in number and form', () => {
    const pool = new NoncePool();
    for (let index = 0; index < 1_000; index += 1) pool.put(`n${index}`, now);
    expect(pool.size).toBe(64);
    expect(pool.take(now)).toBe('n999');
    for (const bad of [undefined, '', 'a b', 'a'.repeat(513), 'ä']) expect(pool.put(bad, now)).toBe(false);
  });
});

it('reads Link headers with one or several links each', () => {
  const header = [
    '<https://a/1>;rel="alternate", <https://a/2>; title="x, y"; rel=alternate',
    '<https://a/3>;rel="index up"',
  ];
  expect(linksOf(header, 'alternate')).toEqual(['https://a/1', 'https://a/2']);
  expect(linksOf(header, 'up')).toEqual(['https://a/3']);
  expect(linksOf(['<>;rel', '<<', `${'<a>;'.repeat(9_000)}`], 'up')).toEqual([]);
});

it('keeps a bounded number of printable characters', () => {
  expect(printable('Zeile\r\n\u0000für\u202E 証明書')).toBe('Zeile für 証明書');
  expect(printable('x'.repeat(1_000_000))).toBe(`${'x'.repeat(500)}…`);
});
