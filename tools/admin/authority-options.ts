import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { CaLimit, CaLimits } from '@certwright/core-schema';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { limitPresets } from './authority-presets';

/** Options of `authority add` and `authority set`. An empty value of an option that may be repeated means none. */
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
    .addOption(repeated('--caa-domain <name>', 'its name in CAA records', caaDomain))
    .addOption(
      repeated(
        '--allowed-host <host[:port]>',
        "host that URLs in its responses may have besides the directory's",
        host,
      ),
    )
    .addOption(repeated('--contact <address>', 'email address for messages of the CA', contact))
    .option('--tls-roots <file>', 'PEM; trusted for the connection to it, besides the usual roots')
    .addOption(
      repeated(
        '--trusted-root <file>',
        'PEM; roots that its certificates may chain to, besides those that browsers trust',
      ),
    )
    .option('--preferred-root <name>', 'common name of the preferred root of chains')
    .option('--eab-key-id <id>', 'external account binding: key identifier from the CA; empty: none')
    .option('--eab-hmac-file <file>', 'external account binding: file with the HMAC key; "-": standard input')
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
    throw new InvalidArgumentError('Expected an https URL without user, password and fragment.');
  return text;
}

const label = '[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?';

function caaDomain(text: string): string {
  if (!new RegExp(`^${label}(\\.${label})+$`).test(text))
    throw new InvalidArgumentError('Expected a domain name in lower case, such as letsencrypt.org.');
  return text;
}

function host(text: string): string {
  const url = `https://${text}`;
  if (!/^[^/?#@\\]+$/.test(text) || !URL.canParse(url) || new URL(url).hostname === '')
    throw new InvalidArgumentError('Expected a host or host:port.');
  return text.toLowerCase();
}

function contact(text: string): string {
  const address = text.replace(/^mailto:/, '');
  // RFC 8555, section 7.3: neither header fields nor more than one address.
  if (!/^[^\s@,?]+@[^\s@,?]+$/.test(address)) throw new InvalidArgumentError('Expected an email address.');
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
  const expected = `Expected JSON such as {"newOrders":{"count":300,"perS":10800}}, with any of ${limitKinds.join(', ')}, ${otherMembers}`;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new InvalidArgumentError(`Neither a preset nor JSON. ${expected}.`);
  }
  if (!isObject(value)) throw new InvalidArgumentError(`${expected}.`);
  for (const [kind, limit] of Object.entries(value)) {
    if (!isMember(kind, limit))
      throw new InvalidArgumentError(
        `"${kind}" is unknown or has an invalid value. ${expected}, and whole numbers from 1.`,
      );
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

/** @throws Error unless the file contains only CA certificates */
export async function readRoots(file: string): Promise<readonly X509Certificate[]> {
  const text = await readFile(file, 'utf8').catch(() => {
    throw new Error(`${file} cannot be read.`);
  });
  const blocks = text.match(pemBlock) ?? [];
  if (blocks.length === 0) throw new Error(`${file} contains no certificate in PEM.`);
  return blocks.map((pem, index) => {
    const place = `${file}, certificate ${index + 1}`;
    let certificate: X509Certificate;
    try {
      certificate = new X509Certificate(pem);
    } catch {
      throw new Error(`${place}: cannot be parsed.`);
    }
    if (!certificate.ca) throw new Error(`${place}: not a CA certificate.`);
    return certificate;
  });
}
