import path from 'node:path';
import { createLogger, followTls, type HttpTls } from '@certwright/service';
import { eventually, TestRoot } from '@certwright/testing';
import { clientOf, serverOf } from '../testing/certificates';
import { assertUsable, readTls, type TlsFiles } from './tls-files';

const authority = new TestRoot();
afterAll(() => authority.dispose());

const files: TlsFiles = {
  TLS_KEY_FILE: authority.file('key', 'key 1'),
  TLS_CERTIFICATE_FILE: authority.file('certificate', 'certificate 1'),
  CLIENT_CA_FILE: authority.file('roots', 'roots 1'),
};

it('loads changed files once, and retries files that do not match', async () => {
  const lines: string[] = [];
  const log = createLogger('gateway', 'info', { write: (line) => lines.push(line) });
  const used: HttpTls[] = [];
  let fits = true;
  const use = (tls: HttpTls): void => {
    if (!fits) throw new Error('key values mismatch');
    used.push(tls);
  };
  const following = followTls(async () => await readTls(files), await readTls(files), {
    everyMs: 10,
    log,
    use,
  });
  fits = false;
  authority.file(path.basename(files.TLS_KEY_FILE), 'key 2');
  await eventually(() => expect(lines.join('')).toContain('TLS files not usable'));
  expect(used).toEqual([]);
  fits = true;
  authority.file(path.basename(files.TLS_CERTIFICATE_FILE), 'certificate 2');
  const renewed = { key: 'key 2', certificate: 'certificate 2', clientCa: 'roots 1' };
  await eventually(() => expect(used.at(-1)).toEqual(renewed));
  const sofar = used.length;
  authority.file(path.basename(files.CLIENT_CA_FILE), 'roots 2');
  await eventually(() => expect(used.at(-1)).toEqual({ ...renewed, clientCa: 'roots 2' }));
  expect(used).toHaveLength(sofar + 1);
  await following.stop();
});

describe('files that no client would accept are refused with the setting', () => {
  const day = 86_400_000;
  const good = { ...serverOf(authority), clientCa: authority.pem };

  it.each<[string, HttpTls, RegExp]>([
    [
      'another key',
      { ...good, key: serverOf(authority).key },
      /^TLS_CERTIFICATE_FILE does not belong to the key in TLS_KEY_FILE/,
    ],
    [
      'a client certificate',
      { ...clientOf(authority, 'a'), clientCa: authority.pem },
      /^TLS_CERTIFICATE_FILE is not for TLS servers/,
    ],
    ['no root', { ...good, clientCa: 'none' }, /^CLIENT_CA_FILE is not a certificate in PEM$/],
    ['no key', { ...good, key: good.certificate }, /^TLS_KEY_FILE is not a private key in PEM/],
  ])('%s', (_what, tls, message) => {
    expect(() => assertUsable(good)).not.toThrow();
    expect(() => assertUsable(tls)).toThrow(message);
  });

  it('an expired one, and one that is not valid yet', () => {
    expect(() => assertUsable(good, new Date(Date.now() + 6 * day))).toThrow(
      /^TLS_CERTIFICATE_FILE expired at 20.*: replace it with a renewed one$/,
    );
    expect(() => assertUsable(good, new Date(Date.now() - day))).toThrow(
      /^TLS_CERTIFICATE_FILE is not valid before 20.*: check the clock of this machine/,
    );
  });
});
