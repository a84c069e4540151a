import { X509Certificate } from 'node:crypto';
import { type CaIssuers, isRoot, type StoredIssuer } from './ca-issuers';
import { parseCertificate, spkiOfCertificate } from './certificate-values';
import { type CaKey, type CaKeys, CaKeyUnavailable, type IntermediateName } from './keys/ca-key';
import type { Issuing } from './profile';

/** Everything that signing in the name of an intermediate needs. */
export interface Intermediate {
  readonly name: IntermediateName;
  /** DER. */
  readonly certificate: Buffer;
  /** DER of the root that certifies it. */
  readonly root: Buffer;
  readonly notAfter: Date;
  readonly issuing: Issuing;
  readonly key: CaKey;
}

/** An end that an operator has to act before. */
export interface EndOfIssuer {
  readonly issuer: string;
  /** `full_lifetime`: from then on certificates end with the issuer, earlier than their product says. */
  readonly what: 'certificate' | 'full_lifetime' | 'revocation_list';
  readonly at: Date;
}

const dayMs = 86_400_000;

/** Max age of what this copy knows about intermediates, ms: how long it may issue from the previous one. */
export const refreshEveryMs = 10_000;

/**
 * The intermediates as this copy of the worker knows them. They are read again every few seconds, and when another copy
 * has signed with one that is not known here, so that a renewal needs no restart. A key that worked is kept while its
 * place is unavailable; the copy is not ready meanwhile.
 */
export class Intermediates {
  private readonly opened = new Map<string, Intermediate>();
  private issuingName: string | null = null;
  private faults: readonly string[] = ['BUILT_IN_CA: the keys of the built-in CA were not opened yet.'];
  private known: readonly EndOfIssuer[] = [];
  private refreshing: Promise<void> | null = null;

  constructor(
    private readonly issuers: Pick<CaIssuers, 'all' | 'longestLifetimeDays'>,
    private readonly keys: CaKeys,
    /** http URL under which certificates and revocation lists are published, without a slash at the end. */
    private readonly publicationUrl: string,
  ) {}

  /** What keeps this copy from signing, a line each: the setting, what is wrong and what to do. */
  get problems(): readonly string[] {
    return this.faults;
  }

  /** Of the certificates and revocation lists that are in use. */
  get ends(): readonly EndOfIssuer[] {
    return this.known;
  }

  /** Those whose key is open. */
  get all(): readonly Intermediate[] {
    return [...this.opened.values()];
  }

  /** Reads certificates and opens keys. Concurrent calls share one pass. */
  async refresh(): Promise<void> {
    this.refreshing ??= this.read().finally(() => (this.refreshing = null));
    await this.refreshing;
  }

  /** The one that issues. @throws CaKeyUnavailable */
  async current(): Promise<Intermediate> {
    if (this.issuingName === null) await this.refresh();
    const found = this.opened.get(this.issuingName ?? '');
    if (found === undefined) throw new CaKeyUnavailable(this.faults.join(' '));
    return found;
  }

  /** @throws CaKeyUnavailable when its key is not here */
  async byName(name: string): Promise<Intermediate> {
    if (!this.opened.has(name)) await this.refresh();
    const found = this.opened.get(name);
    if (found !== undefined) return found;
    throw new CaKeyUnavailable(
      this.faults.join(' ') || `The built-in CA has no intermediate "${name}" that is in use.`,
    );
  }

  private async read(): Promise<void> {
    const [stored, lifetimeDays] = [await this.issuers.all(), await this.issuers.longestLifetimeDays()];
    const used = stored.filter((issuer) => !isRoot(issuer) && issuer.retiredAt === null);
    const active = lastActivated(used);
    const faults: string[] = active === null ? [nothingIssues] : [];
    for (const issuer of used) {
      try {
        this.opened.set(issuer.name, await this.openOne(issuer, stored));
      } catch (error) {
        if (!(error instanceof CaKeyUnavailable)) throw error;
        faults.push(error.message);
      }
    }
    for (const name of [...this.opened.keys()])
      if (!used.some((issuer) => issuer.name === name)) this.opened.delete(name);
    this.issuingName = active?.name ?? null;
    this.faults = [...new Set(faults)];
    this.known = [
      ...endsOf(used, stored),
      ...(active === null ? [] : [endOfFullLifetime(active, lifetimeDays)]),
    ];
  }

  private async openOne(issuer: StoredIssuer, stored: readonly StoredIssuer[]): Promise<Intermediate> {
    const name = issuer.name as IntermediateName;
    const certificate = parseCertificate(issuer.certificate);
    const root = rootOf(issuer, stored);
    if (root === undefined)
      throw new CaKeyUnavailable(
        `BUILT_IN_CA: the database has no root that certifies "${name}". Import both with "npm run admin -- ca import".`,
      );
    return {
      name,
      certificate: issuer.certificate,
      root: root.certificate,
      notAfter: certificate.notAfter.value,
      issuing: {
        certificate,
        certificateUrl: `${this.publicationUrl}/${name}.cer`,
        crlUrl: `${this.publicationUrl}/${name}.crl`,
      },
      key: await this.keys.open({ name, spki: spkiOfCertificate(certificate) }),
    };
  }
}

const nothingIssues =
  'BUILT_IN_CA: no intermediate is stored. Create it as docs/operating.md says in "Keys of the built-in CA".';

export function lastActivated(intermediates: readonly StoredIssuer[]): StoredIssuer | null {
  const activated = intermediates.flatMap((issuer) =>
    issuer.activatedAt === null || isRoot(issuer) ? [] : [{ issuer, atMs: issuer.activatedAt.getTime() }],
  );
  activated.sort((one, other) => other.atMs - one.atMs);
  return activated[0]?.issuer ?? null;
}

/** The root that certified an intermediate. */
export function rootOf(
  issuer: Pick<StoredIssuer, 'certificate'>,
  stored: readonly StoredIssuer[],
): StoredIssuer | undefined {
  const certificate = new X509Certificate(issuer.certificate);
  return stored.filter(isRoot).find((root) => {
    const candidate = new X509Certificate(root.certificate);
    return certificate.checkIssued(candidate) && certificate.verify(candidate.publicKey);
  });
}

function endOfFullLifetime({ name, certificate }: StoredIssuer, lifetimeDays: number): EndOfIssuer {
  const end = new Date(new X509Certificate(certificate).validTo);
  return { issuer: name, what: 'full_lifetime', at: new Date(end.getTime() - lifetimeDays * dayMs) };
}

function endsOf(used: readonly StoredIssuer[], stored: readonly StoredIssuer[]): readonly EndOfIssuer[] {
  const roots = new Set(used.map((issuer) => rootOf(issuer, stored)));
  const inUse = [...used, ...stored.filter((issuer) => roots.has(issuer))];
  return inUse.flatMap(({ name, certificate, crlNextUpdate }) => [
    { issuer: name, what: 'certificate' as const, at: new Date(new X509Certificate(certificate).validTo) },
    ...(crlNextUpdate === null
      ? []
      : [{ issuer: name, what: 'revocation_list' as const, at: crlNextUpdate }]),
  ]);
}
