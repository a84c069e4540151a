import { type Issued, type LogEntry, readEntry, readLeaf } from '@certwright/ct';
import { forgePair, issuerDer, issuerSpkiSha256, sha256 } from '../testing/forged-entries';
import { belowLongIssuer, served } from '../testing/forged-tree';
import { Issuers } from './issuers';

const none = () => Promise.resolve(null);

function anEntry(): { entry: LogEntry; issued: Issued } {
  const { leaf, extraData } = served(forgePair(0).precertificate, 0, false);
  const reading = readLeaf(leaf, extraData);
  if (!reading.ok) throw new Error(reading.fault);
  return { entry: reading.entry, issued: readEntry(reading.entry) };
}

const named = (name: string): Issued => ({ ...anEntry().issued, issuerDer: Buffer.from(name) });

it('treats one key under several names as several issuers, each known immediately when it is seen again', async () => {
  const issuers = new Issuers();
  const { entry, issued } = anEntry();
  const [first, other] = [
    await issuers.of(entry, issued, none),
    await issuers.of(entry, named('other'), none),
  ];
  expect([first.spkiSha256, other.spkiSha256]).toEqual([issuerSpkiSha256, issuerSpkiSha256]);
  expect([first.nameDer, other.nameDer]).toEqual([issued.issuerDer, Buffer.from('other')]);
  expect(issuers.of(entry, issued, none)).toBe(first);
  expect(issuers.of(entry, named('other'), none)).toBe(other);
});

describe('an issuer whose certificate a static log does not have yet', () => {
  const fingerprints = { of: 'fingerprints', bytes: sha256(issuerDer) } as const;
  const inStaticLog: LogEntry = { ...anEntry().entry, chain: fingerprints };
  const { issued } = anEntry();

  it('is requested again after a rest, and has its certificate from then on', async () => {
    let nowMs = 0;
    const issuers = new Issuers(() => nowMs);
    let response: Buffer | null = null;
    const fetch = jest.fn(async () => await Promise.resolve(response));
    const of = async () => await issuers.of(inStaticLog, issued, fetch);
    expect(await of()).toMatchObject({ spkiSha256: issuerSpkiSha256, certificateDer: null });
    response = issuerDer;
    nowMs = 599_000;
    expect(await of()).toMatchObject({ certificateDer: null });
    expect(fetch).toHaveBeenCalledTimes(1);
    nowMs = 601_000;
    expect(await of()).toMatchObject({ spkiSha256: issuerSpkiSha256, certificateDer: issuerDer });
    await of();
    expect(fetch).toHaveBeenCalledTimes(2);
  });

  it('has the certificate that the chain in another log contains', async () => {
    const issuers = new Issuers();
    await issuers.of(inStaticLog, issued, none);
    const { entry } = anEntry();
    expect(await issuers.of(entry, issued, none)).toMatchObject({ certificateDer: issuerDer });
    expect(await issuers.of(inStaticLog, issued, none)).toMatchObject({ certificateDer: issuerDer });
  });
});

it('keeps the newest names of a key with an unlimited number of names', async () => {
  const issuers = new Issuers();
  const { entry } = anEntry();
  for (let nth = 0; nth < 40; nth += 1) await issuers.of(entry, named(`name ${nth}`), none);
  expect(issuers.of(entry, named('name 39'), none)).not.toBeInstanceOf(Promise);
  expect(issuers.of(entry, named('name 0'), none)).toBeInstanceOf(Promise);
});

it('keeps as many issuers of several megabytes as fit', async () => {
  const issuers = new Issuers();
  const entries = Array.from({ length: 40 }, (_, nth) => {
    const { leaf, extraData } = belowLongIssuer(forgePair(nth).certificate, 1_000_000, nth);
    const reading = readLeaf(leaf, extraData);
    if (!reading.ok) throw new Error(reading.fault);
    return { entry: reading.entry, issued: readEntry(reading.entry) };
  });
  for (const { entry, issued } of entries)
    expect((await issuers.of(entry, issued, none)).certificateDer?.length).toBeGreaterThan(1_000_000);
  const isKept = ({ entry, issued }: (typeof entries)[number]) =>
    !(issuers.of(entry, issued, none) instanceof Promise);
  const kept = entries.filter(isKept);
  expect([kept.length > 5, kept.length < 20]).toEqual([true, true]);
  expect(kept).toEqual(entries.slice(-kept.length));
});
