// @ts-check
// Programs, configuration, environment, arguments and TLS certificate of pebble and pebble-challtestsrv.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { LOOPBACK } from '../embedded/ports.mjs';

/** The newer release is unpacked in its own folder and does not replace Debian's package. */
const PEBBLES = ['/opt/pebble-new/usr/bin/pebble', '/usr/bin/pebble'];

/** The key is base64url, of 32 bytes. */
export const EXTERNAL_ACCOUNT = {
  keyId: 'kid-1',
  key: Buffer.alloc(32, 'external account key').toString('base64url'),
};

/** @param {string} [wanted] @returns {string | undefined} */
export function findPebble(wanted) {
  return (wanted === undefined ? PEBBLES : [wanted]).find((file) => existsSync(file));
}

/** The challenge server of the same package, else any. @param {string} pebble */
export function findChallengeServer(pebble) {
  const beside = (/** @type {string} */ file) => path.join(path.dirname(file), 'pebble-challtestsrv');
  return [pebble, ...PEBBLES].map(beside).find((file) => existsSync(file));
}

/**
 * @param {string} folder
 * @param {import('./pebble.mjs').PebbleOptions} options
 * @param {{ acme: number, management: number, http: number, tls: number }} ports
 */
export function settings(folder, options, ports) {
  return {
    listenAddress: `${LOOPBACK}:${ports.acme}`,
    managementListenAddress: `${LOOPBACK}:${ports.management}`,
    certificate: path.join(folder, 'tls.pem'),
    privateKey: path.join(folder, 'tls.key'),
    httpPort: ports.http,
    tlsPort: ports.tls,
    ocspResponderURL: '',
    externalAccountBindingRequired: options.eab ?? false,
    externalAccountMACKeys: options.eab ? { [EXTERNAL_ACCOUNT.keyId]: EXTERNAL_ACCOUNT.key } : {},
    domainBlocklist: options.blocked ?? [],
    // Seconds, the minimum.
    retryAfter: { authz: 1, order: 1 },
    keyAlgorithm: 'ecdsa',
    // With several, pebble chooses a random one for an order that names none.
    profiles: options.profiles ?? { default: { description: '90 days', validityPeriod: 90 * 24 * 3600 } },
  };
}

/** @param {import('./pebble.mjs').PebbleOptions} options */
export function environment({ nonceReject, authzReuse, vaNosleep, vaSleepS, alternateRoots, chainLength }) {
  return {
    PEBBLE_WFE_NONCEREJECT: String(nonceReject ?? 0),
    PEBBLE_AUTHZREUSE: String(authzReuse ?? 0),
    PEBBLE_VA_NOSLEEP: vaNosleep === false ? '0' : '1',
    PEBBLE_ALTERNATE_ROOTS: String(alternateRoots ?? 0),
    PEBBLE_CHAIN_LENGTH: String(chainLength ?? 1),
    ...(vaSleepS === undefined ? {} : { PEBBLE_VA_SLEEPTIME: String(vaSleepS) }),
  };
}

/**
 * The two releases name the DNS listener differently, and only the newer one has DNS over HTTPS, which is turned off.
 * @param {string} command
 * @param {{ dns: number, http: number, control: number }} ports
 */
export function challengeArguments(command, { dns, http, control }) {
  const isNewer = helpOf(command).includes('-dnsserver');
  const listeners = isNewer
    ? ['-dnsserver', `${LOOPBACK}:${dns}`, '-doh', '']
    : ['-dns01', `${LOOPBACK}:${dns}`];
  const web = ['-http01', `${LOOPBACK}:${http}`, '-https01', '', '-tlsalpn01', ''];
  return [...listeners, ...web, '-management', `${LOOPBACK}:${control}`, '-defaultIPv6', ''];
}

/** @param {string} command */
function helpOf(command) {
  const { stdout, stderr } = spawnSync(command, ['-h'], { encoding: 'utf8' });
  return `${stdout}${stderr}`;
}

/** A root and a certificate for loopback. @param {string} folder */
export function makeCertificate(folder) {
  const openssl = (/** @type {string[]} */ ...args) =>
    execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout'];
  openssl(
    'req',
    '-x509',
    ...newKey,
    'root.key',
    '-out',
    'root.pem',
    '-subj',
    '/CN=Test root of pebble',
    '-days',
    '30',
  );
  openssl('req', '-new', ...newKey, 'tls.key', '-out', 'tls.csr', '-subj', '/');
  writeFileSync(
    path.join(folder, 'names'),
    `subjectAltName=DNS:localhost,IP:${LOOPBACK}\nextendedKeyUsage=serverAuth\n`,
  );
  const issuer = ['-CA', 'root.pem', '-CAkey', 'root.key', '-CAcreateserial'];
  openssl('x509', '-req', ...issuer, '-in', 'tls.csr', '-extfile', 'names', '-days', '30', '-out', 'tls.pem');
  return readFileSync(path.join(folder, 'root.pem'), 'utf8');
}
