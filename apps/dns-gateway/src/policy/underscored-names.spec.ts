import { readFileSync } from 'node:fs';
import path from 'node:path';
import { loadUnderscoredNames } from './underscored-names';

const shipped = readFileSync(path.join(__dirname, '../../data/underscored-names.csv'), 'utf8');

const core = ['_acme-challenge', '_dmarc', '_domainkey', '_mta-sts', '_spf', '_tcp', '_udp'];
const csv = (...lines: readonly string[]) =>
  ['node_name,rr_type,source_date', ...core.map((name) => `${name},TXT,2019-06-27`), ...lines].join('\n');

describe('the registry that is shipped', () => {
  const names = loadUnderscoredNames(shipped);

  it('states its version: entries, newest date, digest', () => {
    expect(names.version).toEqual({
      entries: 63,
      newestSourceDate: '2026-04-23',
      sha256: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
    });
  });

  it.each([...core, '_for-sale', '_https', '_validation-contactemail', '_ta-4a5c', '_ta-'])(
    'knows %s',
    (label) => expect(names.has(label)).toBe(true),
  );

  it.each(['_ta', '_tax', '_acme-challeng', '_validation-persist', 'dmarc', '_ta-*x'.slice(0, 3), '_foo'])(
    'does not know %s',
    (label) => expect(names.has(label)).toBe(false),
  );
});

describe('a registry that the operator loads', () => {
  it('accepts quoted fields, a byte order mark, CRLF, upper case and a multi-line note', () => {
    const names = loadUnderscoredNames(
      `\uFEFF${csv('"_New","TXT, or ""any""","2026 (RFC 10023)"', '_x,"two\r\nlines",2024')}\r\n`,
    );
    expect(names.has('_new')).toBe(true);
    expect(names.version).toMatchObject({ entries: core.length + 2, newestSourceDate: '2026' });
  });

  it("accepts the columns of IANA's own file, which has no dates", () => {
    const text = `RR Type,_NODE NAME,Reference\n${core.map((name) => `TXT,${name},[RFC8552]`).join('\n')}\n`;
    expect(loadUnderscoredNames(text).version).toMatchObject({ entries: 7, newestSourceDate: null });
  });

  it('has another digest when a byte differs', () => {
    expect(loadUnderscoredNames(csv()).version.sha256).not.toBe(loadUnderscoredNames(csv('')).version.sha256);
  });

  it.each([
    ['is empty', '', /columns/],
    ['is a page of HTML', '<!doctype html>\n<html></html>', /columns/],
    ['is cut off', csv().split('\n').slice(0, 4).join('\n'), /not whole.*_mta-sts/],
    ['has a name without underscore', csv('dmarc,TXT,2026'), /Entry 8.*underscored/],
    ['has a name with an asterisk inside', csv('_t*a,TXT,2026'), /Entry 8/],
    ['would match everything', csv('_*,TXT,2026'), /Entry 8/],
    ['has a field too few', csv('_x,TXT'), /Entry 8 has 2 fields/],
    ['has a date that is none', csv('_x,TXT,lately'), /Entry 8: source_date/],
    ['has an open quote', csv('"_x,TXT,2026'), /Line 9.*not closed/],
    ['has a quote inside a field', csv('_x,T"X"T,2026'), /Line 9.*not quoted/],
    ['has text after a quoted field', csv('"_x"y,TXT,2026'), /Line 9.*neither/],
  ])('is refused when it %s', (_, text, reason) => {
    expect(() => loadUnderscoredNames(text)).toThrow(reason);
  });
});
