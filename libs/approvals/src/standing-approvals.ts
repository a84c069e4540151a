import { randomBytes } from 'node:crypto';
import { together, type Tx } from '@certwright/core-schema';
import { baseName, secretBytes, secretLabel } from '@certwright/dns-names';
import { Injectable } from '@nestjs/common';
import { Delegations } from './delegations/delegations';
import { WebRules } from './web-rules/web-rules';

const freshLabel = () => secretLabel(randomBytes(secretBytes));

/** The labels and the path that an account's DNS records and web servers point to. */
@Injectable()
export class StandingApprovals {
  constructor(
    private readonly delegations: Delegations,
    private readonly webRules: WebRules,
  ) {}

  /**
   * Ensures that each name has a label, and the account a path for its web servers. Existing ones never change.
   *
   * @param options.webRule whether the path is needed
   */
  async ensure(
    tx: Tx,
    { accountId, dnsNames }: { readonly accountId: string; readonly dnsNames: readonly string[] },
    { webRule }: { readonly webRule: boolean },
  ): Promise<void> {
    await together([
      this.delegations.ensure(tx, accountId, [...new Set(dnsNames.map(baseName))], freshLabel),
      webRule ? this.webRules.ensure(accountId, freshLabel, tx) : null,
    ]);
  }
}
