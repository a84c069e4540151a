import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { CaLimit, CaLimits } from '@certwright/core-schema';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { limitPresets } from './authority-presets';

/** What `authority add` and `authority set` take. Of what may be given several times, an empty one means none. */
export interface AuthorityOptions {
  readonly directory?: string;
  readonly caaDomain?: readonly string[];
  readonly allowedHost?: readonly string[];
  readonly contact?: readonly string[];
  readonly tlsRoots?: string;
  readonly trustedRoot?: readonly string[];
  readonly preferredRoot?: string;
  readonly eabKeyId?: string;
  readonly eabHmacFile?: string;
  readonly limits?: CaLimits;
}

export function withAuthorityOptions(command: Command): Command {
  return command
    .option('--directory <url>', 'its ACME directory (RFC 8555, 7.1.1), https', directory)
    .addOption(repeated('--caa-domain <name>', 'what a CAA record names it by', caaDomain))
    .addOption(
      repeated(
        '--allowed-host <host[:port]>',
        "where its answers may lead besides the directory's host",
        host,
      ),
    )
    .addOption(repeated('--contact <address>', 'where it may write to', contact))
    .option('--tls-roots <file>', 'PEM; trusted, besides the usual roots, for the connection to it')
    .addOption(
      repeated(
        '--trusted-root <file>',
        'PEM; what its certificates may lead to, besides what browsers trust',
      ),
    )
    .option('--preferred-root <name>', 'common name of the root that chains should lead to')
    .option('--eab-key-id <id>', 'external account binding: the key identifier that it gave; empty: none')
    .option(
      '--eab-hmac-file <file>',
      'external account binding: where its HMAC key stands; "-": the standard input',
    )
    .option('--limits <limits>', `its limits: ${Object.keys(limitPresets).join(', ')}, or JSON`, limits);
}

function repeated(flags: string, description: string, read = (text: string) => text): Option {
  return new Option(flags, `${description}; may be repeated`).argParser(
    (text: string, before: readonly string[] = []) => (text === '' ? before : [...before, read(text)]),
  );
}

function directory(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url?.protocol !== 'https:' || url.username !== '' || url.password !== '' || text.includes('#'))
    throw new InvalidArgumentError('an https URL without user, password and fragment is expected.');
  return text;
}

const label = '[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?';

function caaDomain(text: string): string {
  if (!new RegExp(`^${label}(\\.${label})+$`).test(text))
    throw new InvalidArgumentError('a domain name in lower case is expected, as letsencrypt.org.');
  return text;
}

function host(text: string): string {
  const url = `https://${text}`;
  if (!/^[^/?#@\\]+$/.test(text) || !URL.canParse(url) || new URL(url).hostname === '')
    throw new InvalidArgumentError('a host, or host:port, is expected.');
  return text.toLowerCase();
}

function contact(text: string): string {
  const address = text.replace(/^mailto:/, '');
  // RFC 8555, section 7.3: neither header fields nor more than one address.
  if (!/^[^\s@,?]+@[^\s@,?]+$/.test(address)) throw new InvalidArgumentError('an email address is expected.');
  return `mailto:${address}`;
}

const limitKinds = [
  'newOrders',
  'perRegisteredDomain',
  'perNameSet',
  'failedAuthorizations',
] as const satisfies (keyof CaLimits)[];
const otherMembers = 'replacementsExempt, maxDnsNames, profileLimits';

function limits(text: string): CaLimits {
  const preset = Object.hasOwn(limitPresets, text) ? limitPresets[text] : undefined;
  if (preset !== undefined) return preset;
  const expected = `{"newOrders":{"count":300,"perS":10800}} is the shape, with any of ${limitKinds.join(', ')}, ${otherMembers}`;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new InvalidArgumentError(`neither a preset nor JSON; ${expected}.`);
  }
  if (!isObject(value)) throw new InvalidArgumentError(`${expected}.`);
  for (const [kind, limit] of Object.entries(value)) {
    if (!isMember(kind, limit))
      throw new InvalidArgumentError(`"${kind}" is not understood; ${expected}, whole numbers from 1.`);
  }
  return value as CaLimits;
}

function isMember(name: string, value: unknown): boolean {
  switch (name) {
    case 'replacementsExempt':
      return typeof value === 'boolean';
    case 'maxDnsNames':
      return isCount(value);
    case 'profileLimits':
      return isObject(value) && Object.values(value).every(isProfileLimit);
    default:
      return limitKinds.some((known) => known === name) && isLimit(value);
  }
}

function isProfileLimit(value: unknown): boolean {
  return isObject(value) && Object.keys(value).join() === 'maxDnsNames' && isCount(Object.values(value)[0]);
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) > 0;
}

function isLimit(value: unknown): value is CaLimit {
  if (!isObject(value) || Object.keys(value).length !== 2) return false;
  const { count, perS } = value as Partial<Record<keyof CaLimit, unknown>>;
  return isCount(count) && isCount(perS);
}

const pemBlock = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** @throws Error when the file has anything but certificates of CAs */
export async function readRoots(file: string): Promise<readonly X509Certificate[]> {
  const text = await readFile(file, 'utf8').catch(() => {
    throw new Error(`${file} cannot be read.`);
  });
  const blocks = text.match(pemBlock) ?? [];
  if (blocks.length === 0) throw new Error(`${file} has no certificate in PEM.`);
  return blocks.map((pem, index) => {
    const place = `${file}, certificate ${index + 1}`;
    let certificate: X509Certificate;
    try {
      certificate = new X509Certificate(pem);
    } catch {
      throw new Error(`${place}: it cannot be read.`);
    }
    if (!certificate.ca) throw new Error(`${place}: it is not the certificate of a CA.`);
    return certificate;
  });
}
