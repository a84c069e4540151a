import {
  casBelow,
  checkHost,
  type CurrentCertificate,
  type HostCheck,
  type LeafFacts,
  type PresentedLeaf,
  type ReadLook,
} from '@certwright/endpoint-checks';
import { StartFault } from '@certwright/errors';
import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { factsOf, type FindingKey } from '../findings/known-facts';
import { type ClaimedEndpoint, keyOf } from './due-endpoints.repository';
import { type IndexFacts, ReadIndexFacts } from './index-facts';
import { KnownCertificates } from './known-certificates';
import { notCurrentAfterMs } from './schedule';
import { TrustedRoots } from './trusted-roots';

/** An endpoint and a look that was made for it, and maybe for others with the same name. */
export interface LookedAt {
  readonly endpoint: ClaimedEndpoint;
  /** Null: no prober responded. */
  readonly look: ReadLook | null;
}

export interface CheckedEndpoint {
  readonly endpoint: ClaimedEndpoint;
  /** Null: no prober responded. */
  readonly check: HostCheck | null;
  readonly current: readonly CurrentCertificate[];
}

/** Finds what is wrong with what the servers of endpoints presented. */
@Injectable()
export class CheckLooks {
  constructor(
    private readonly database: DataSource,
    private readonly index: ReadIndexFacts,
    private readonly certificates: KnownCertificates,
    @Inject(TrustedRoots) private readonly trusted: Pick<TrustedRoots, 'current'>,
  ) {}

  /** @returns false while nothing can be decided, which the readiness check `trusted roots` reports */
  async canDecide(): Promise<boolean> {
    try {
      await this.trusted.current();
      return true;
    } catch (error) {
      if (error instanceof StartFault) return false;
      throw error;
    }
  }

  /** A constant number of statements. */
  async check(looked: readonly LookedAt[], now: Date): Promise<readonly CheckedEndpoint[]> {
    const roots = await this.trusted.current();
    const answered = looked.flatMap(({ endpoint, look }) => (look === null ? [] : [{ endpoint, look }]));
    const looks = [...new Set(answered.map(({ look }) => look))];
    const index = await this.index.of(
      looks.flatMap((look) => look.leaves()),
      looks.flatMap((look) => look.issuerNames()),
    );
    const known = await this.knownLeaves(answered, index);
    const own = await this.certificates.currentFor(answered.map(({ endpoint }) => endpoint));
    return looked.map(({ endpoint, look }) => {
      const host = look?.look.hosts.find((each) => each.host === endpoint.dnsName);
      if (look === null || host === undefined) return { endpoint, check: null, current: [] };
      const { current = [], issuers = [] } = own.get(keyOf(endpoint)) ?? {};
      const check = checkHost(
        look,
        // Others with the name may have more ports.
        { ...host, addresses: host.addresses.filter(({ port }) => endpoint.ports.includes(port)) },
        {
          now,
          trust: { roots, intermediates: casBelow(roots, [...index.cas, ...issuers], now) },
          leaves: known.get(keyOf(endpoint)) ?? new Map(),
          current,
          notCurrentAfterMs,
        },
      );
      return { endpoint, check, current };
    });
  }

  /** By key of the endpoint. */
  private async knownLeaves(
    looked: readonly { readonly endpoint: ClaimedEndpoint; readonly look: ReadLook }[],
    index: IndexFacts,
  ): Promise<ReadonlyMap<string, ReadonlyMap<string, LeafFacts>>> {
    const pairs = looked.map(({ endpoint, look }) => ({
      endpoint,
      leaves: look.leaves().map((leaf) => ({ leaf, key: findingKey(endpoint.account, leaf) })),
    }));
    const keys = pairs.flatMap(({ leaves }) => leaves.map(({ key }) => key));
    const facts = await factsOf(this.database, keys);
    const revoked = await this.certificates.revokedAt(keys);
    return new Map(
      pairs.map(({ endpoint, leaves }) => [
        keyOf(endpoint),
        new Map(
          leaves.flatMap(({ leaf, key }): [string, LeafFacts][] => {
            const inIndex = index.leaves.get(leaf.sha256);
            if (inIndex === undefined) return [];
            const { certificatePlanId, isKnownCert, keys: ownKeys, knownKeyNames } = facts.of(key);
            const isKnown =
              certificatePlanId !== null || isKnownCert || ownKeys.length > 0 || knownKeyNames.length > 0;
            const ownRevokedAt = revoked.get(`${endpoint.account}:${leaf.tbsSha256}`) ?? null;
            return [
              [
                leaf.sha256,
                { isLogged: inIndex.isLogged, isKnown, revokedAt: earliest(ownRevokedAt, inIndex.revokedAt) },
              ],
            ];
          }),
        ),
      ]),
    );
  }
}

const findingKey = (account: string, { tbsSha256, spkiSha256 }: PresentedLeaf): FindingKey => ({
  account,
  tbsSha256: Buffer.from(tbsSha256, 'hex'),
  spkiSha256: Buffer.from(spkiSha256, 'hex'),
});

const earliest = (one: Date | null, other: Date | null): Date | null =>
  one === null || (other !== null && other < one) ? other : one;
