import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Certificate } from 'pkijs';
import { type LogEntry, readDataTile, readEntry, readIssued, readLeafJson } from '../index';

const data = (name: string) => readFileSync(join(__dirname, '../testing/data', name));

function tile(name: string, index: number, width: number): readonly LogEntry[] {
  const reading = readDataTile(data(name), { index, width });
  if (!reading.ok) throw new Error(`${name}: ${reading.fault} at ${reading.entry}`);
  return reading.entries;
}

const entries = [
  ...tile('navigli2025h2-000.tile', 0, 256),
  ...tile('navigli2025h2-001.tile', 1, 256),
  ...tile('navigli2025h2-003.p10.tile', 3, 10),
];

interface LogsView {
  readonly Timestamp: number;
  readonly Subject?: { readonly CommonName?: string };
  readonly DNS: readonly string[];
}

const logsView = ['000', '001', '003.p10'].flatMap((part) =>
  data(`navigli2025h2-${part}.names.jsonl`)
    .toString()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as LogsView),
);

function withoutLeadingZeroes(serial: string): string {
  return serial.toLowerCase().replace(/^(?:00)+(?=..)/, '');
}

it('names and times match those that the log itself read', () => {
  expect(logsView).toHaveLength(entries.length);
  for (const [index, entry] of entries.entries()) {
    const { Timestamp, Subject, DNS } = logsView[index]!;
    const { dnsNames, droppedNames, faults } = readEntry(entry);
    const expected = new Set([...DNS, ...(Subject?.CommonName ? [Subject.CommonName] : [])]);
    expect([index, entry.timestamp, [...dnsNames].sort()]).toEqual([index, Timestamp, [...expected].sort()]);
    expect([index, droppedNames, faults]).toEqual([index, 0, []]);
  }
});

describe('precertificates as submitted', () => {
  it('are read like Node reads them', () => {
    for (const entry of entries) {
      if (entry.type !== 'precertificate') throw new Error('not a precertificate');
      const ours = readIssued(entry.precertificateDer, 'precertificate');
      const theirs = new X509Certificate(entry.precertificateDer);
      expect(ours.serial).toBe(withoutLeadingZeroes(theirs.serialNumber));
      expect(ours.notBefore).toBe(Date.parse(theirs.validFrom));
      expect(ours.notAfter).toBe(Date.parse(theirs.validTo));
      expect(ours.spkiDer).toEqual(theirs.publicKey.export({ type: 'spki', format: 'der' }));
      const sans = (theirs.subjectAltName ?? '').split(', ').map((name) => name.replace('DNS:', ''));
      expect(ours.dnsNames.slice(0, sans.length)).toEqual(sans);
      expect([ours.hasPoison, ours.hasSctList, ours.faults]).toEqual([true, false, []]);
    }
  });

  it('have the issuer, subject and key identifier that pkijs reads', () => {
    for (const entry of entries.slice(0, 64)) {
      if (entry.type !== 'precertificate') throw new Error('not a precertificate');
      const ours = readIssued(entry.precertificateDer, 'precertificate');
      const theirs = Certificate.fromBER(entry.precertificateDer);
      expect(ours.issuerDer).toEqual(Buffer.from(theirs.issuer.toSchema().toBER()));
      expect(ours.subjectDer).toEqual(Buffer.from(theirs.subject.toSchema().toBER()));
      const { keyIdentifier } = theirs.extensions?.find(({ extnID }) => extnID === '2.5.29.35')
        ?.parsedValue as { keyIdentifier: { valueBlock: { valueHexView: Uint8Array } } };
      expect(ours.authorityKeyId).toBe(Buffer.from(keyIdentifier.valueBlock.valueHexView).toString('hex'));
    }
  });

  it('have the same data as the TBSCertificate in the leaf', () => {
    for (const entry of entries) {
      if (entry.type !== 'precertificate') throw new Error('not a precertificate');
      const { dnsNames, serial, notAfter, spkiDer, issuerDer } = readEntry(entry);
      const precertificate = readIssued(entry.precertificateDer, 'precertificate');
      expect(precertificate).toMatchObject({ dnsNames, serial, notAfter, spkiDer, issuerDer });
    }
  });
});

it('certificates of 2013 with chains are read like Node reads them', () => {
  const { entries: raw } = JSON.parse(data('first-entries-2013.get-entries.json').toString()) as {
    entries: unknown[];
  };
  for (const each of raw) {
    const reading = readLeafJson(each);
    if (!reading.ok || reading.entry.type !== 'certificate') throw new Error('not a certificate');
    const ours = readEntry(reading.entry);
    const theirs = new X509Certificate(reading.entry.certificateDer);
    expect(ours.serial).toBe(withoutLeadingZeroes(theirs.serialNumber));
    expect(ours.notAfter).toBe(Date.parse(theirs.validTo));
    expect(ours.dnsNames).toContain(/^CN=(.*)$/m.exec(theirs.subject)?.[1]);
    expect(ours.faults).toEqual([]);
  }
});
