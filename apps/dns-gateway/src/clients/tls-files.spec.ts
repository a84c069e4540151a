import path from 'node:path';
import { createLogger, type HttpTls } from '@certwright/service';
import { eventually } from '@certwright/testing';
import { TestAuthority } from '../testing/certificates';
import { followTls, readTls, type TlsFiles } from './tls-files';

const authority = new TestAuthority();
afterAll(() => authority.dispose());

const files: TlsFiles = {
  key: authority.file('key', 'key 1'),
  certificate: authority.file('certificate', 'certificate 1'),
  clientCa: authority.file('roots', 'roots 1'),
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
  const following = followTls(files, await readTls(files), { everyMs: 10, log, use });
  fits = false;
  authority.file(path.basename(files.key), 'key 2');
  await eventually(() => expect(lines.join('')).toContain('the TLS files do not hold'));
  expect(used).toEqual([]);
  fits = true;
  authority.file(path.basename(files.certificate), 'certificate 2');
  const renewed = { key: 'key 2', certificate: 'certificate 2', clientCa: 'roots 1' };
  await eventually(() => expect(used.at(-1)).toEqual(renewed));
  const sofar = used.length;
  authority.file(path.basename(files.clientCa), 'roots 2');
  await eventually(() => expect(used.at(-1)).toEqual({ ...renewed, clientCa: 'roots 2' }));
  expect(used).toHaveLength(sofar + 1);
  await following.stop();
});
