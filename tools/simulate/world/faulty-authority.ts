import { createHash } from 'node:crypto';
import type { Issuers } from '../../../apps/issuance-worker/src/certificate-authorities/authorities-in-order';
import type { BuiltInCa } from '../../../apps/issuance-worker/src/certificate-authorities/built-in/built-in-ca';
import type {
  CertificateRequest,
  Collected,
  RevocationOrder,
  Submitted,
} from '../../../apps/issuance-worker/src/certificate-authorities/certificate-authority';
import type { Chance } from '../chance';
import { freezeUntil } from '../faults/frozen-workers';

const hourMs = 3_600_000;

export interface AuthorityFaults {
  isDown(): boolean;
  readonly chance: Chance;
  /** Probability that a worker freezes after it received the certificate. */
  freezing(): number;
  nowMs(): number;
}

/** The built-in CA with faults, and a record of issued and revoked certificates. */
export class FaultyAuthority implements Issuers {
  /** Issuance id → SHA-256 of each different certificate that was issued for it. */
  readonly issued = new Map<string, Set<string>>();
  /** Serial numbers of confirmed revocations, in lower-case hex. */
  readonly revoked = new Set<string>();

  constructor(
    private readonly ca: BuiltInCa,
    private readonly faults: AuthorityFaults,
  ) {}

  acceptsParentRecords(): boolean {
    return true;
  }

  async mayHaveIssued(): Promise<boolean> {
    return await Promise.resolve(false);
  }

  async serves(): Promise<boolean> {
    return await Promise.resolve(true);
  }

  async submit(request: CertificateRequest): Promise<Submitted> {
    this.assertThere();
    return await this.ca.submit(request);
  }

  async collect(reference: string, request: CertificateRequest): Promise<Collected> {
    this.assertThere();
    const collected = await this.ca.collect(reference, request);
    const digest = createHash('sha256').update(collected.issued.leaf).digest('hex');
    this.issued.set(reference, (this.issued.get(reference) ?? new Set<string>()).add(digest));
    const { chance, freezing, nowMs } = this.faults;
    const draw = ['frozen', reference, nowMs()];
    if (chance.happens(freezing(), ...draw))
      await freezeUntil(nowMs() + chance.between(1, 20, ...draw, 'hours') * hourMs);
    return collected;
  }

  async revoke(reference: string, order: RevocationOrder): Promise<void> {
    this.assertThere();
    await this.ca.revoke(reference, order);
    this.revoked.add(order.serialNumber);
  }

  async renewRevocationLists(): Promise<void> {
    this.assertThere();
    await this.ca.renewRevocationLists();
  }

  private assertThere(): void {
    if (this.faults.isDown()) throw new Error('the certificate authority is unreachable');
  }
}
