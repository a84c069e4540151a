import { readFileSync } from 'node:fs';
import path from 'node:path';
import { MonitoredDomainIndex } from './index';

function indexOf(...domains: readonly string[]): MonitoredDomainIndex {
  const index = new MonitoredDomainIndex();
  for (const domain of domains) index.set('1', domain, true);
  return index;
}

/** `dnsName → monitoredDomain` of the only account. */
function found(index: MonitoredDomainIndex, bytes: Uint8Array): string[] {
  const { accounts } = index.matchUnreadable(bytes);
  return accounts.flatMap(({ names }) =>
    names.map(({ dnsName, monitoredDomain, isOddName }) => {
      expect(isOddName).toBe(true);
      return `${dnsName} → ${monitoredDomain}`;
    }),
  );
}

const utf8String = 0x0c;
const bmpString = 0x1e;
const [dnsName, sequence, set] = [0x82, 0x30, 0x31];

/** A value of a certificate; the length of max 127 is one byte. */
function value(tag: number, content: Uint8Array): Buffer {
  const length = content.length < 128 ? [content.length] : [0x81, content.length];
  return Buffer.concat([Buffer.from([tag, ...length]), content]);
}

describe('names in bytes that cannot be read', () => {
  it('are found with every length, next to every kind of value', () => {
    // Two labels of one character are the shortest; lengths from 42 on are characters of labels.
    for (let length = 13; length < 130; length += 1) {
      const label = (characters: number) => 'x'.repeat(characters);
      const above =
        length > 75 ? `${label(length - 75)}.${label(60)}.` : length > 14 ? `${label(length - 14)}.` : '';
      const name = `${above}${label(9)}.com`;
      for (const [tag, next] of [
        [dnsName, dnsName],
        [dnsName, sequence],
        [utf8String, set],
        [utf8String, sequence],
      ] as const) {
        const bytes = Buffer.concat([value(tag, Buffer.from(name)), value(next, Buffer.from([5, 0]))]);
        expect(found(indexOf(name), bytes)).toContain(`${name} → ${name}`);
      }
    }
  });

  it('are found with two bytes per character', () => {
    for (const name of [
      'www.example.com',
      'twenty-four.example.com',
      'sixty.characters.make.120.bytes.example.com',
    ]) {
      const wide = Buffer.from(name, 'utf16le').swap16();
      const bytes = Buffer.concat([value(bmpString, wide), value(set, Buffer.from([5, 0]))]);
      expect(found(indexOf(name), bytes)).toEqual([`${name} → ${name}`]);
    }
  });

  it('are found in upper case, and at the ends of the bytes', () => {
    expect(found(indexOf('.example.com'), Buffer.from('WWW.Example.COM'))).toEqual([
      'www.example.com → .example.com',
    ]);
  });

  it('count as names at or below them, once each', () => {
    const index = indexOf('.example.com', 'a.www.example.com', 'example.com', 'www.example.net');
    const bytes = Buffer.from('\x82www.example.com\x82www.example.com\x82*.example.net\xff');
    expect(found(index, bytes)).toEqual([
      'www.example.com → .example.com',
      'www.example.com → a.www.example.com',
      '*.example.net → www.example.net',
    ]);
  });

  it('do not include parts of other labels', () => {
    const index = indexOf('.example.com', '.ample.com', '.om');
    expect(found(index, Buffer.from('\x82\x0cbexample.com\x82\x0cexample.coma\x05\x00'))).toEqual([]);
    expect(found(index, Buffer.from('co.uk\x00com\x00.com'))).toEqual([]);
  });

  it('are all found in entries of a real log', () => {
    const data = (name: string) => readFileSync(path.join(__dirname, '../../ct/src/testing/data', name));
    const names = data('navigli2025h2-001.names.jsonl')
      .toString()
      .trim()
      .split('\n')
      .flatMap((line) => (JSON.parse(line) as { readonly DNS?: readonly string[] }).DNS ?? [])
      .filter((name) => !name.startsWith('*'));
    expect(names.length).toBeGreaterThan(200);
    const lines = found(indexOf(...names), data('navigli2025h2-001.tile'));
    expect(names.filter((name) => !lines.includes(`${name} → ${name}`))).toEqual([]);
  });
});
