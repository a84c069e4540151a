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
  isAway(): boolean;
  readonly chance: Chance;
  /** That a worker freezes with the certificate in its hands. */
  freezing(): number;
  nowMs(): number;
}

/** The built-in CA behind a line that fails, with a record of its own of what it handed out and revoked. */
export class FaultyAuthority implements Issuers {
  /** Issuance id → SHA-256 of each different certificate that was handed out for it. */
  readonly issued = new Map<string, Set<string>>();
  /** Serial numbers in lower-case hex, as they were confirmed. */
  readonly revoked = new Set<string>();

  constructor(
    private readonly ca: BuiltInCa,
    private readonly faults: AuthorityFaults,
  ) {}

  acceptsParentRecords(): boolean {
    return true;
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
    if (this.faults.isAway()) throw new Error('the certificate authority does not answer');
  }
}
