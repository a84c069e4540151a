import { type Certificate, parseDer, readSubjectPublicKey } from '@certwright/pki';
import type { EndpointFinding, FindingCode } from './finding';
import type { AddressLook, HostLook, NotPresented, Presented } from './look';
import type { ReadLook } from './read-look';
import { isSelfSigned, type Trust, trustPath } from './trust-path';

/** What is known of a presented leaf, for one account. */
export interface LeafFacts {
  /** In the index of public certificates; null: not there, and it may still be in a log. */
  readonly isLogged: boolean | null;
  /** A certificate of the account, or with its key, or authorized by it. */
  readonly isKnown: boolean;
  readonly revokedAt: Date | null;
}

/** The newest certificate of an order (or certificate object) of the account for the name. */
export interface CurrentCertificate {
  /** SHA-256 over the DER certificate, lower-case hexadecimal. */
  readonly sha256: string;
  readonly notBefore: Date;
  /** When the account could first install it. */
  readonly issuedAt: Date;
}

export interface CheckContext {
  readonly now: Date;
  readonly trust: Trust;
  /** By SHA-256 over the DER certificate. Without an entry: not known now, and neither revoked nor unknown_key is found. */
  readonly leaves: ReadonlyMap<string, LeafFacts>;
  readonly current: readonly CurrentCertificate[];
  /** How long a newer certificate may wait for its installation, ms. */
  readonly notCurrentAfterMs: number;
}

/** What one address presented, to be shown. Digests are lower-case hexadecimal, times ISO 8601; texts are untrusted. */
export interface ServedAddress {
  readonly address: string;
  readonly port: number;
  /** Null: nothing was presented; see `problem`. */
  readonly certificate: ServedCertificate | null;
  /** SHA-256 over each other presented certificate, in order. */
  readonly chainSha256: readonly string[];
  readonly version: string | null;
  readonly cipher: string | null;
  readonly httpStatus: number | null;
  readonly problem: string | null;
}

/** Members are null if the certificate cannot be read. */
export interface ServedCertificate {
  readonly sha256: string;
  readonly tbsSha256: string | null;
  readonly spkiSha256: string | null;
  readonly notBefore: string | null;
  readonly notAfter: string | null;
  /** The first 100. */
  readonly dnsNames: readonly string[];
}

/**
 * `served`: at least one server presented a certificate. `unreachable`: there are addresses, and none did. `gone`: the name
 * does not exist or has no address. `unknown`: the check says nothing, such as after a failed look-up.
 */
export type CheckOutcome = 'served' | 'unreachable' | 'gone' | 'unknown';

export type UndecidedFinding = Pick<EndpointFinding, 'code' | 'port'>;

export interface HostCheck {
  readonly outcome: CheckOutcome;
  readonly findings: readonly EndpointFinding[];
  /** Ports of which this check cannot say that a finding is gone: nothing was presented, or an address was busy. */
  readonly undecidedPorts: readonly number[];
  /** Of these this check cannot say that they are gone: what is known of a presented leaf does not suffice. */
  readonly undecided: readonly UndecidedFinding[];
  readonly served: readonly ServedAddress[];
}

/** Max names of a certificate that are shown. */
const maxNames = 100;

/** Max names in the parameters of a finding. */
const maxNamesInFinding = 10;

const maxText = 255;

/** `expiring` begins at most this long before expiry, ms: 14 days. */
const maxExpiringMs = 14 * 86_400_000;

/** id-kp-serverAuth and anyExtendedKeyUsage (RFC 5280, section 4.2.1.12). */
const serverUsages = ['1.3.6.1.5.5.7.3.1', '2.5.29.37.0'];

/** Finds what is wrong with what the addresses of a host present. Never throws on what they present. */
export function checkHost(read: ReadLook, host: HostLook, context: CheckContext): HostCheck {
  const { lookUp } = host;
  const nothing = { findings: [], undecidedPorts: [], undecided: [], served: [] };
  switch (lookUp.kind) {
    case 'failed':
      return { outcome: 'unknown', ...nothing };
    case 'no_name':
    case 'no_address':
      return { outcome: 'gone', ...nothing, findings: [ofName('unreachable', { reason: lookUp.kind })] };
    case 'dangling':
      return { outcome: 'gone', ...nothing, findings: [ofName('dangling', { target: cut(lookUp.target) })] };
    case 'found':
  }
  const ports = [...new Set(host.addresses.map(({ port }) => port))];
  const checks = ports.map((port) =>
    checkPort(
      read,
      host.host,
      port,
      host.addresses.filter((each) => each.port === port),
      context,
    ),
  );
  const isServed = checks.some(({ presented }) => presented > 0);
  const isDecided = checks.some(({ isBusy }) => !isBusy);
  return {
    outcome: isServed ? 'served' : isDecided ? 'unreachable' : 'unknown',
    findings: checks.flatMap(({ findings }) => findings),
    undecidedPorts: checks
      .filter(({ isBusy, presented }) => isBusy || presented === 0)
      .map(({ port }) => port),
    undecided: checks.flatMap(({ port, undecided }) => undecided.map((code) => ({ code, port }))),
    served: host.addresses.map((each) => servedOf(read, each)),
  };
}

interface PortCheck {
  readonly port: number;
  readonly findings: readonly EndpointFinding[];
  /** Addresses that presented a certificate. */
  readonly presented: number;
  /** Nothing is known of at least one address. */
  readonly isBusy: boolean;
  readonly undecided: readonly FindingCode[];
}

const isOfServer = ({ reason }: NotPresented): boolean => reason !== 'busy' && reason !== 'internal';

function checkPort(
  read: ReadLook,
  host: string,
  port: number,
  looks: readonly AddressLook[],
  context: CheckContext,
): PortCheck {
  const found = new FindingsOfPort(port);
  const leaves = new Set<string>();
  const undecided = new Set<FindingCode>();
  const failures: { readonly address: string; readonly failure: NotPresented }[] = [];
  let presented = 0;
  let isBusy = false;
  for (const { address, result } of looks) {
    if (result.kind === 'presented') {
      presented += 1;
      leaves.add(read.sha256(result.chain[0] ?? -1));
      for (const code of undecidedOf(read, result, context)) undecided.add(code);
      for (const finding of presentedFindings(read, host, result, context)) found.add(address, finding);
    } else if (isOfServer(result)) failures.push({ address, failure: result });
    else isBusy = true;
  }
  const [first] = failures;
  if (first !== undefined && presented === 0 && !isBusy) {
    const { reason, problem } = first.failure;
    for (const { address } of failures)
      found.add(address, { code: 'unreachable', level: 0, parameters: { reason, problem: cut(problem) } });
  }
  if (leaves.size > 1 || (presented > 0 && failures.length > 0))
    for (const { address, result } of looks)
      if (result.kind === 'presented' || isOfServer(result))
        found.add(address, { code: 'addresses_differ', level: 0, parameters: {} });
  return { port, findings: found.all(), presented, isBusy, undecided: [...undecided] };
}

type FindingOfAddress = Pick<EndpointFinding, 'code' | 'level' | 'parameters'>;

/** One finding for each code; its data are those of the first address with the highest level. */
class FindingsOfPort {
  private readonly findings = new Map<FindingCode, EndpointFinding>();

  constructor(private readonly port: number) {}

  add(address: string, { code, level, parameters }: FindingOfAddress): void {
    const other = this.findings.get(code);
    const addresses = [...(other?.addresses ?? []), address];
    const shown = other !== undefined && other.level >= level ? other : { level, parameters };
    this.findings.set(code, {
      code,
      port: this.port,
      addresses,
      level: shown.level,
      parameters: shown.parameters,
    });
  }

  all(): readonly EndpointFinding[] {
    return [...this.findings.values()];
  }
}

function presentedFindings(
  read: ReadLook,
  host: string,
  { chain, version }: Presented,
  context: CheckContext,
): readonly FindingOfAddress[] {
  const [leaf, ...others] = chain.map((index) => read.certificates[index] ?? null);
  const found: FindingOfAddress[] = [];
  const add = (code: FindingCode, parameters: EndpointFinding['parameters'], level = 0) =>
    found.push({ code, level, parameters });
  const protocol = weakVersions.includes(version) ? [version] : [];
  if (!leaf) {
    add('untrusted', { reason: 'unreadable' });
    if (protocol.length > 0) add('weak', { reasons: protocol });
    return found;
  }
  const validity = validityFinding(leaf, context.now);
  if (validity !== null) found.push(validity);
  const isNamed = leaf.dnsNames.some((name) => covers(name, host));
  if (!isNamed) add('wrong_name', { dnsNames: leaf.dnsNames.slice(0, maxNamesInFinding).map(cut) });
  const intermediates = others.filter((each): each is Certificate => each !== null);
  const path = trustPath(leaf, intermediates, context.trust, context.now);
  const mayServe =
    leaf.extendedKeyUsages === undefined ||
    leaf.extendedKeyUsages.some((usage) => serverUsages.includes(usage));
  if (path.kind === 'none')
    if (isSelfSigned(leaf)) add('self_signed', {});
    else add('untrusted', { reason: 'no_path' });
  else if (!mayServe) add('untrusted', { reason: 'no_server_auth' });
  else if (path.kind === 'incomplete') add('incomplete_chain', {});
  const keys = [leaf, ...intermediates].flatMap(weakKey);
  const reasons = [...new Set([...keys, ...path.weakSignatures, ...protocol])];
  if (reasons.length > 0) add('weak', { reasons });
  const facts = context.leaves.get(leaf.sha256);
  if (facts?.revokedAt) add('revoked', { revokedAt: facts.revokedAt.toISOString() });
  const newer = newerThan(leaf, context);
  if (newer !== null) add('not_current', { currentSha256: newer.sha256 });
  const isValid =
    path.kind !== 'none' &&
    path.weakSignatures.length === 0 &&
    mayServe &&
    isNamed &&
    isInTime(leaf, context.now);
  if (isValid && facts !== undefined && !facts.isKnown && facts.isLogged === false)
    add('unknown_key', { tbsSha256: read.tbsSha256(leaf), spkiSha256: leaf.spkiSha256 });
  return found;
}

/** What cannot be decided without facts about the leaf. */
function undecidedOf(read: ReadLook, { chain }: Presented, { leaves }: CheckContext): readonly FindingCode[] {
  const facts = leaves.get(read.sha256(chain[0] ?? -1));
  if (facts === undefined) return ['revoked', 'unknown_key'];
  return facts.isLogged === null && !facts.isKnown ? ['unknown_key'] : [];
}

/** Not supported by browsers since 2020 (RFC 8996). */
const weakVersions: readonly string[] = ['TLSv1', 'TLSv1.1'];

const isInTime = ({ notBefore, notAfter }: Certificate, now: Date): boolean =>
  notBefore <= now && now <= notAfter;

/** RFC 5280, section 4.1.2.5: the validity includes notAfter. */
function validityFinding({ notBefore, notAfter }: Certificate, now: Date): FindingOfAddress | null {
  const untilExpiry = { notAfter: notAfter.toISOString() };
  if (now > notAfter) return { code: 'expired', level: 0, parameters: untilExpiry };
  if (now < notBefore)
    return { code: 'not_yet_valid', level: 0, parameters: { notBefore: notBefore.toISOString() } };
  const lifetimeMs = notAfter.getTime() - notBefore.getTime();
  const expiringMs = Math.min(maxExpiringMs, lifetimeMs / 6);
  const leftMs = notAfter.getTime() - now.getTime();
  if (leftMs > expiringMs) return null;
  return { code: 'expiring', level: leftMs > expiringMs / 3 ? 0 : 1, parameters: untilExpiry };
}

/** RFC 9525, section 6.3: a wildcard is the whole first label, for exactly one label. */
function covers(presented: string, host: string): boolean {
  const name = presented.toLowerCase();
  if (name === host) return true;
  const dot = host.indexOf('.');
  return dot > 0 && name.startsWith('*.') && name.slice(1) === host.slice(dot);
}

/** Of the certificates that visitors use; keys of roots are the business of their programs. */
function weakKey({ spkiDer }: Certificate): readonly string[] {
  const { key } = readSubjectPublicKey(parseDer(spkiDer));
  switch (key.kind) {
    case 'rsa':
      return key.bits < 2_048 ? [`RSA ${key.bits}`] : [];
    case 'ecdsa':
      return goodCurves.includes(key.curveLabel) ? [] : [key.curveLabel];
    case 'other':
      return goodKeys.includes(key.algorithm) ? [] : [key.algorithm];
  }
}

const goodCurves: readonly string[] = ['P-256', 'P-384', 'P-521'];
const goodKeys: readonly string[] = ['Ed25519', 'Ed448', 'RSASSA-PSS'];

/** The certificate of an order that should have been installed in place of this one. */
function newerThan(
  leaf: Certificate,
  { current, now, notCurrentAfterMs }: CheckContext,
): CurrentCertificate | null {
  if (current.some(({ sha256 }) => sha256 === leaf.sha256)) return null;
  const latestMs = now.getTime() - notCurrentAfterMs;
  return (
    current.find(({ notBefore, issuedAt }) => notBefore > leaf.notBefore && issuedAt.getTime() <= latestMs) ??
    null
  );
}

const ofName = (code: FindingCode, parameters: EndpointFinding['parameters']): EndpointFinding => ({
  ...{ code, port: null, addresses: [], level: 0 },
  parameters,
});

/** PostgreSQL stores neither U+0000 nor half a surrogate pair in JSON. */
const cut = (text: string): string => text.slice(0, maxText).toWellFormed().replaceAll('\0', '\ufffd');

function servedOf(read: ReadLook, { address, port, result }: AddressLook): ServedAddress {
  if (result.kind === 'not_presented')
    return {
      ...{ address, port, certificate: null, chainSha256: [], version: null, cipher: null, httpStatus: null },
      problem: cut(result.problem),
    };
  const [leaf = -1, ...others] = result.chain;
  const certificate = read.certificates[leaf] ?? null;
  const { version, cipher, httpStatus } = result;
  return {
    address,
    port,
    certificate: {
      sha256: read.sha256(leaf),
      tbsSha256: certificate && read.tbsSha256(certificate),
      spkiSha256: certificate && certificate.spkiSha256,
      notBefore: certificate && certificate.notBefore.toISOString(),
      notAfter: certificate && certificate.notAfter.toISOString(),
      dnsNames: certificate?.dnsNames.slice(0, maxNames).map(cut) ?? [],
    },
    chainSha256: others.map((index) => read.sha256(index)),
    ...{ version, cipher, httpStatus },
    problem: null,
  };
}
