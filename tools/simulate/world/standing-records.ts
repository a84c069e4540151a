import { baseName } from '@certwright/dns-names';
import type { Approver } from '../../../apps/issuance-worker/src/approvals/approver';

/** Simulated DNS: names with the standing record of their account. All have it at first. */
export class StandingRecords {
  private readonly vanished = new Set<string>();

  vanish(dnsNames: readonly string[]): void {
    for (const name of dnsNames) this.vanished.add(baseName(name));
  }

  /** The record of a name, and of every name below it. */
  restoreAll(dnsName: string): void {
    for (const name of this.vanished) {
      if (name === dnsName || name.endsWith(`.${dnsName}`)) this.vanished.delete(name);
    }
  }

  approver(): Approver {
    return {
      method: 'dns',
      placeOf: ({ dnsName, delegationLabel }) => (delegationLabel === null ? null : baseName(dnsName)),
      check: async ({ dnsName }) => {
        const name = baseName(dnsName);
        return await Promise.resolve(
          this.vanished.has(name)
            ? { approved: false, problem: `_acme-challenge.${name} has no CNAME record.` }
            : { approved: true },
        );
      },
    };
  }
}
