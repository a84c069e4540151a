import { execFileSync } from 'node:child_process';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { placeholders } from '../config-templates';

/** The paths that a user of the templates has. */
export type IssuedFiles = Readonly<Record<Exclude<(typeof placeholders)[number], 'DHPARAMS'>, string>>;

export const servedName = 'www.example.com';

/** A certificate, its intermediate and its root, as files of a folder; made by the command `openssl`. */
export function issueFiles(folder: string): IssuedFiles {
  const file = (name: string) => path.join(folder, name);
  const openssl = (...args: string[]) => void execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });
  const key = (name: string) => [
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:P-256',
    '-nodes',
    '-keyout',
    name,
  ];
  writeFileSync(file('ca.ext'), 'basicConstraints=critical,CA:true\nkeyUsage=critical,keyCertSign,cRLSign\n');
  writeFileSync(file('leaf.ext'), `basicConstraints=critical,CA:false\nsubjectAltName=DNS:${servedName}\n`);
  openssl('req', '-x509', ...key('root.key'), '-subj', '/CN=Spec root', '-days', '30', '-out', 'root.crt');
  for (const [name, subject, issuer, extensions] of [
    ['intermediate', '/CN=Spec intermediate', 'root', 'ca.ext'],
    ['leaf', `/CN=${servedName}`, 'intermediate', 'leaf.ext'],
  ] as const) {
    openssl('req', '-new', ...key(`${name}.key`), '-subj', subject, '-out', `${name}.csr`);
    const signer = ['-CA', `${issuer}.crt`, '-CAkey', `${issuer}.key`, '-CAcreateserial'];
    openssl(
      'x509',
      '-req',
      '-in',
      `${name}.csr`,
      ...signer,
      '-extfile',
      extensions,
      '-days',
      '30',
      '-out',
      `${name}.crt`,
    );
  }
  const joined = (name: string, ...parts: readonly string[]) =>
    writeFileSync(file(name), parts.map((part) => readFileSync(file(part), 'utf8')).join(''));
  joined('chained.crt', 'leaf.crt', 'intermediate.crt');
  joined('combined.pem', 'leaf.key', 'leaf.crt', 'intermediate.crt');
  for (const secret of ['leaf.key', 'combined.pem']) chmodSync(file(secret), 0o600);
  return {
    CERT: file('leaf.crt'),
    KEY: file('leaf.key'),
    CHAIN: file('intermediate.crt'),
    CHAINED: file('chained.crt'),
    COMBINED: file('combined.pem'),
    ROOT: file('root.crt'),
  };
}

/** As the command-line client does. */
export function filledIn(template: string, files: IssuedFiles): string {
  return template.replace(/__(\w+?)_PATH__/g, (whole, name: string) =>
    Object.hasOwn(files, name) ? files[name as keyof IssuedFiles] : whole,
  );
}
