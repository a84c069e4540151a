import { utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { X509Certificate } from 'node:crypto';
import { rootCertificates } from 'node:tls';
import { readCertificate } from '@certwright/pki';
import { Forge } from '@certwright/testing';
import { Readiness } from '@certwright/service';
import { TrustedRoots } from './trusted-roots';

const forge = new Forge();
afterAll(() => forge.dispose());

const keyOf = (der: Uint8Array) => {
  const reading = readCertificate(der);
  if (!reading.ok) throw new Error(reading.detail);
  return { nameDer: reading.certificate.subject.der, spkiDer: reading.certificate.spkiDer };
};

it('are all of Mozilla, and those of the file, also when it changes', async () => {
  const file = path.join(forge.folder, 'trusted.pem');
  const changes: unknown[] = [];
  const readiness = new Readiness({ reuseMs: 0, onChange: (...change) => void changes.push(change) });
  readiness.started();
  const roots = new TrustedRoots({ TRUSTED_ROOTS_FILE: file }, { readiness });
  for (let each = 0; each < 3; each += 1)
    expect(await readiness.report()).toMatchObject({ ready: false, checks: { 'trusted roots': 'failed' } });
  expect(changes).toHaveLength(1);
  await expect(roots.current()).rejects.toThrow(
    /^TRUSTED_ROOTS_FILE cannot be read, .*it does not exist.*ENOENT/,
  );
  writeFileSync(file, 'no certificate');
  await expect(roots.current()).rejects.toThrow('TRUSTED_ROOTS_FILE contains no certificate in PEM');
  const [one, other] = [forge.make({ isCa: true }), forge.make({ isCa: true })];
  const pem = ({ der }: { readonly der: Buffer }) => new X509Certificate(der).toString();
  writeFileSync(file, `# one\n${pem(one)}\n`);
  utimesSync(file, 1, 1);
  const before = await roots.current();
  expect([before.has(keyOf(one.der)), before.has(keyOf(other.der))]).toEqual([true, false]);
  expect(await roots.current()).toBe(before);
  writeFileSync(file, `# both\n${pem(one)}\n${pem(other)}`);
  utimesSync(file, 2, 2);
  const after = await roots.current();
  expect([after.has(keyOf(one.der)), after.has(keyOf(other.der))]).toEqual([true, true]);
  const mozilla = rootCertificates.map((each) => new X509Certificate(each).raw);
  expect(mozilla.length).toBeGreaterThan(100);
  expect(mozilla.every((der) => after.has(keyOf(der)))).toBe(true);
});
