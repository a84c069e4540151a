import { randomBytes, X509Certificate } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import {
  certify,
  freshKey,
  type KeyAndCertificate,
  keyFromPem,
  keyPem,
  type SubjectName,
} from './certificate-maker';

/** Clients of the gateway, identified by the URI in their certificates. */
export const clients = ['issuance-worker', 'orders-v3', 'admin'] as const;
export const identityOf = (client: string): string => `spiffe://certwright.internal/${client}`;

/** Lifetimes. Leaf certificates are replaced when a third of theirs is left. */
const days = { ca: 3_650, leaf: 365 } as const;
const caName = 'Certwright gateway CA';

const serverNames: readonly SubjectName[] = [
  { kind: 'dns', name: 'dns-gateway' },
  { kind: 'dns', name: 'localhost' },
  { kind: 'address', address: '127.0.0.1' },
  { kind: 'address', address: '::1' },
];

/**
 * Creates missing files and keeps existing ones: the private CA, the certificates of the gateway and of each client, the key
 * of handles, the key that credentials are encrypted with. Only the owner can read secrets.
 *
 * @returns the created files
 * @throws Error when the CA has no key here: another CA would replace every certificate
 */
export function ensureGatewayKeys(folder: string, now: Date): readonly string[] {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const created: string[] = [];
  const write = (file: string, text: string): void => {
    writePrivately(path.join(folder, file), text);
    created.push(file);
  };
  const ca = certificateAuthority(folder, now, write);
  const server = { commonName: 'dns-gateway', names: serverNames };
  ensureLeaf(folder, 'server', server, ca, now, write);
  for (const client of clients) {
    const names = [{ kind: 'uri', uri: identityOf(client) }] as const;
    ensureLeaf(folder, client, { commonName: client, names }, ca, now, write);
  }
  if (!existsSync(path.join(folder, 'handle.keys')))
    write('handle.keys', `${randomBytes(32).toString('base64')}\n`);
  if (!existsSync(path.join(folder, 'credentials.key'))) write('credentials.key', keyPem(freshKey()));
  return created;
}

type Write = (file: string, text: string) => void;

function certificateAuthority(folder: string, now: Date, write: Write): KeyAndCertificate {
  const files = { key: path.join(folder, 'ca.key'), certificate: path.join(folder, 'ca.pem') };
  const hasKey = existsSync(files.key);
  if (existsSync(files.certificate)) {
    if (!hasKey)
      throw new Error(
        `${files.key} is missing. Copy it back to replace certificates; for a new CA, choose a new folder.`,
      );
    const key = keyFromPem(readFileSync(files.key, 'utf8'));
    return { key, certificate: readFileSync(files.certificate, 'utf8'), commonName: caName };
  }
  const key = hasKey ? keyFromPem(readFileSync(files.key, 'utf8')) : freshKey();
  const ca = certify({ commonName: caName, names: null, days: days.ca }, key, null, now);
  if (!hasKey) write('ca.key', keyPem(key));
  write('ca.pem', ca.certificate);
  return ca;
}

function ensureLeaf(
  folder: string,
  file: string,
  subject: { readonly commonName: string; readonly names: readonly SubjectName[] },
  ca: KeyAndCertificate,
  now: Date,
  write: Write,
): void {
  const place = path.join(folder, `${file}.pem`);
  const keyPlace = path.join(folder, `${file}.key`);
  if (existsSync(place) && existsSync(keyPlace)) {
    const existing = { certificate: readFileSync(place, 'utf8'), key: readFileSync(keyPlace, 'utf8') };
    if (isFresh(existing, ca.certificate, now)) return;
  }
  const leaf = certify({ ...subject, days: days.leaf }, freshKey(), ca, now);
  write(`${file}.key`, keyPem(leaf.key));
  write(`${file}.pem`, leaf.certificate);
}

/** Also false when a crash left the new key beside the old certificate. */
function isFresh(existing: { certificate: string; key: string }, caPem: string, now: Date): boolean {
  const certificate = new X509Certificate(existing.certificate);
  if (!certificate.checkPrivateKey(keyFromPem(existing.key))) return false;
  const [from, to] = [Date.parse(certificate.validFrom), Date.parse(certificate.validTo)];
  const left = to - now.getTime();
  return left > (to - from) / 3 && certificate.verify(new X509Certificate(caPem).publicKey);
}

function writePrivately(file: string, text: string): void {
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, text, { mode: 0o600 });
  chmodSync(draft, 0o600);
  renameSync(draft, file);
}
