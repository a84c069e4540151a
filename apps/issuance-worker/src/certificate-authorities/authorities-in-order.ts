import type { Product, ProductAuthority } from '@certwright/issuance';
import { annotateSpan, inSpan } from '@certwright/tracing';
import type { CertificateAuthorities } from './certificate-authorities';
import type { AcmeAuthority, SubmitResult } from './acme/acme-authority';
import { acmeReference, type BeforeOrder, isAcmeReference } from './acme/acme-orders';
import { isDown } from './health/authority-health';
import type {
  CertificateAuthority,
  CertificateRequest,
  Collected,
  Refusal,
  RevocationOrder,
  Submitted,
} from './certificate-authority';
import { joinRefusals } from './join-refusals';

/** The CAs of this deployment, as the issuance steps use them. */
export interface Issuers extends CertificateAuthority {
  /** Whether any CA here issues the product, now or later. */
  serves(product: Product): Promise<boolean>;
  /**
   * Whether the product's CA accepts a parent name's record for the name itself, validating at an Authorization
   * Domain Name (Baseline Requirements 1.6.1). ACME CAs look up the record of each name.
   */
  acceptsParentRecords(product: Product): boolean;
  /** Whether a CA was requested to issue. The built-in CA issues when a certificate is collected. */
  mayHaveIssued(reference: string): Promise<boolean>;
}

export interface AuthoritiesPorts {
  /** Null: this deployment has no built-in CA. */
  readonly builtIn: CertificateAuthority | null;
  /** Null: this deployment has no keys for CA accounts. */
  readonly acme: AcmeAuthority | null;
  readonly stored: Pick<CertificateAuthorities, 'byName'>;
  /** A sandbox: the built-in CA issues every product, regardless of the product's CAs. */
  readonly builtInAlone: boolean;
}

const builtInName = 'built-in';
const nothingBefore: BeforeOrder = { standingId: null, replaced: null };

/**
 * Tries the CAs of a product in order: the first one that is enabled, responds, is below its limits and may issue.
 * Collecting and revoking use the same CA, even if the product has changed.
 */
export class AuthoritiesInOrder implements Issuers {
  constructor(private readonly ports: AuthoritiesPorts) {}

  async serves(product: Product): Promise<boolean> {
    const candidates = this.candidates(product);
    if (candidates.some(({ name }) => name === builtInName) && this.ports.builtIn !== null) return true;
    if (this.ports.acme === null || candidates.every(({ name }) => name === builtInName)) return false;
    const others = candidates.map(({ name }) => name).filter((name) => name !== builtInName);
    const stored = await this.ports.stored.byName(others);
    return candidates.some(({ name }) => stored.get(name)?.enabled === true);
  }

  /** Which of several CAs issues is unknown until they are tried. */
  acceptsParentRecords(product: Product): boolean {
    return this.candidates(product).every(({ name }) => name === builtInName);
  }

  async mayHaveIssued(reference: string): Promise<boolean> {
    const { acme } = this.ports;
    return acme !== null && isAcmeReference(reference) && (await acme.mayHaveIssued(reference));
  }

  async submit(request: CertificateRequest): Promise<Submitted> {
    const { acme } = this.ports;
    const candidates = this.candidates(request.product);
    const usesAcme = candidates.some(({ name }) => name !== builtInName);
    const mayExist = usesAcme && request.hasHistory;
    const before = acme !== null && mayExist ? await acme.before(request.lease) : nothingBefore;
    if (before.standingId !== null) return { kind: 'submitted', reference: acmeReference(before.standingId) };
    const refusals: Refusal[] = [...request.refusals];
    for (const candidate of candidates) {
      if (refusals.some(({ authority }) => authority === candidate.name)) continue;
      const result = await inCaSpan('ca submit', candidate.name, async () => {
        return await this.submitTo(
          { ...candidate, replaced: before.replaced },
          request,
          candidates.length > 1,
        );
      });
      if (result.kind === 'submitted') return result;
      const { kind: _, ...refusal } = result;
      refusals.push({ ...refusal, authority: candidate.name });
    }
    return joinRefusals(refusals);
  }

  async collect(reference: string, request: CertificateRequest): Promise<Collected> {
    return await inCaSpan('ca collect', kindOf(reference), async () => {
      return await this.holderOf(reference).collect(reference, request);
    });
  }

  async revoke(reference: string, order: RevocationOrder): Promise<void> {
    const attributes = { 'certwright.authority': kindOf(reference) };
    await inSpan('ca revoke', { attributes }, async () => {
      await this.holderOf(reference).revoke(reference, order);
    });
  }

  private candidates(product: Product): readonly ProductAuthority[] {
    if (this.ports.builtInAlone) return [{ name: builtInName, profile: null }];
    const { authorities, certificateAuthority: name } = product;
    return authorities.length > 0 ? authorities : [{ name, profile: null }];
  }

  private async submitTo(
    { name, profile, replaced }: ProductAuthority & Pick<BeforeOrder, 'replaced'>,
    request: CertificateRequest,
    hasOthers: boolean,
  ): Promise<SubmitResult> {
    const { builtIn, acme, stored } = this.ports;
    if (name === builtInName) {
      return builtIn === null ? unknown(name) : resultOf(await builtIn.submit(request));
    }
    const authority = (await stored.byName([name])).get(name);
    if (acme === null || authority === undefined || !authority.enabled) return unknown(name);
    const { health } = acme;
    if (isDown(authority) && request.trial?.authority !== name) {
      // No order waits for this CA, since others replace it: once per interval an order is its trial.
      if (!hasOthers || !(await health.claim(authority, request.clock())))
        return { kind: 'refused', ...health.refusal(authority, request.clock()) };
      const trial = health.trialOf(name);
      const submitted = await acme.submit({ authority, profile, replaced }, { ...request, trial });
      return submitted.kind === 'submitted' ? { ...submitted, trial } : submitted;
    }
    return await acme.submit({ authority, profile, replaced }, request);
  }

  private holderOf(reference: string): CertificateAuthority | AcmeAuthority {
    const holder = kindOf(reference) === 'acme' ? this.ports.acme : this.ports.builtIn;
    if (holder === null)
      throw new Error(`no CA of this deployment can continue with the reference ${reference}`);
    return holder;
  }
}

/** The CA of the reference; an ACME CA is known to the spans of its requests. */
const kindOf = (reference: string) => (isAcmeReference(reference) ? 'acme' : builtInName);

async function inCaSpan<R extends { readonly kind: string }>(
  name: string,
  authority: string,
  work: () => Promise<R>,
): Promise<R> {
  return await inSpan(name, { attributes: { 'certwright.authority': authority } }, async () => {
    const result = await work();
    annotateSpan({ 'certwright.outcome': result.kind });
    return result;
  });
}

function resultOf(submitted: Submitted): SubmitResult {
  if (submitted.kind === 'submitted') return submitted;
  const { kind, error, until, final } = submitted;
  return { kind, error, until, final };
}

function unknown(name: string): SubmitResult {
  const outcome = { code: 'ca_not_in_use', authority: name } as const;
  return { kind: 'refused', error: { code: 'product_unavailable', outcome }, until: null, final: false };
}
