import { baseName } from '@certwright/dns-names';
import { type Tx } from '@certwright/core-schema';
import { Inject, Injectable } from '@nestjs/common';
import { CertsConfig } from '../config';
import type { ApprovalFacts } from '../wire/approval-json';
import { Expansion } from '../wire/expansion';
import { ApprovalFactsRepository } from './approval-facts.repository';
import type { StoredInstance } from './instance';
import { type InstanceJson, instanceJson, type InstanceContext } from './instance-json';
import type { InstanceNeeds } from './instance-rows';
import { InstancesRepository } from './instances.repository';

/** Which members of plans are shown, and their details; null: not at all. */
export interface ShownOfPlans {
  readonly current: Expansion | null;
  readonly pending: Expansion | null;
}

export interface InstancesOfPlan {
  readonly current: InstanceJson | null;
  readonly pending: InstanceJson | null;
}

export interface RequestedIssuance {
  readonly issuanceId: string;
  readonly expansion: Expansion;
}

type Config = Pick<CertsConfig, 'EV_PRODUCT' | 'MAIL_FROM' | 'APPROVAL_ZONE' | 'APPROVAL_URL'>;

/** Shows an instance that its facts were read of. */
type Show = (instance: StoredInstance, expansion: Expansion) => InstanceJson;

/** Instances as callers see them. The number of statements does not depend on how many are shown. */
@Injectable()
export class InstanceViews {
  private readonly context: InstanceContext;

  constructor(
    private readonly instances: InstancesRepository,
    private readonly approvals: ApprovalFactsRepository,
    @Inject(CertsConfig) config: Config,
  ) {
    this.context = {
      evProduct: config.EV_PRODUCT,
      mailFrom: config.MAIL_FROM,
      approvalZone: config.APPROVAL_ZONE,
      approvalUrl: config.APPROVAL_URL,
    };
  }

  /** The current and the pending instance of each plan; a plan without one has null. */
  async ofPlans(
    planIds: readonly string[],
    { current, pending }: ShownOfPlans,
    tx?: Tx,
  ): Promise<ReadonlyMap<string, InstancesOfPlan>> {
    const needs = { current: current && needsOf([current]), pending: pending && needsOf([pending]) };
    const { currents, pendings } = await this.instances.ofPlans(planIds, needs, tx);
    const show = await this.withFactsOf([...currents, ...pendings], tx);
    const byPlan = (read: readonly StoredInstance[], expansion = Expansion.none) =>
      new Map(read.map((instance) => [instance.planId, show(instance, expansion)]));
    const currentOf = byPlan(currents, current ?? undefined);
    const pendingOf = byPlan(pendings, pending ?? undefined);
    return new Map(
      planIds.map((id) => [id, { current: currentOf.get(id) ?? null, pending: pendingOf.get(id) ?? null }]),
    );
  }

  /** @returns in the requested order; null for an issuance that does not exist */
  async ofIssuances(requested: readonly RequestedIssuance[], tx?: Tx): Promise<(InstanceJson | null)[]> {
    const ids = [...new Set(requested.map(({ issuanceId }) => issuanceId))];
    const needs = needsOf(requested.map(({ expansion }) => expansion));
    const read = await this.instances.ofIssuances(ids, needs, tx);
    const byId = new Map(read.map((instance) => [instance.attempt?.issuanceId, instance]));
    const show = await this.withFactsOf(read, tx);
    return requested.map(({ issuanceId, expansion }) => {
      const instance = byId.get(issuanceId);
      return instance === undefined ? null : show(instance, expansion);
    });
  }

  /** @param instances each read with what the expansion needs; see `needsOf` */
  async of(instances: readonly StoredInstance[], expansion: Expansion, tx?: Tx): Promise<InstanceJson[]> {
    const show = await this.withFactsOf(instances, tx);
    return instances.map((instance) => show(instance, expansion));
  }

  /** An instance that was read, see `of`; or a newly opened issuance. */
  async one(instance: StoredInstance | string, expansion: Expansion, tx?: Tx): Promise<InstanceJson> {
    const [shown] =
      typeof instance === 'string'
        ? await this.ofIssuances([{ issuanceId: instance, expansion }], tx)
        : await this.of([instance], expansion, tx);
    if (shown === undefined || shown === null) throw new Error('the instance is missing');
    return shown;
  }

  /** Those of certificates that were imported. */
  async ofImported(
    certificateIds: readonly string[],
    expansion: Expansion,
    tx?: Tx,
  ): Promise<InstanceJson[]> {
    const read = await this.instances.ofImported(certificateIds, needsOf([expansion]), tx);
    return await this.of(read, expansion, tx);
  }

  /** Reads the data shown besides the instances' own rows. */
  private async withFactsOf(instances: readonly StoredInstance[], tx?: Tx): Promise<Show> {
    const approvals = await this.approvalFactsOf(instances, tx);
    const now = new Date();
    return (instance, expansion) => {
      const facts = { ...(approvals.get(instance.accountId) ?? noFacts), now };
      return instanceJson(instance, expansion, facts, this.context);
    };
  }

  /** By account. Only SANs expanded by name show how they are approved. */
  private async approvalFactsOf(
    instances: readonly StoredInstance[],
    tx?: Tx,
  ): Promise<ReadonlyMap<string, ApprovalFacts>> {
    const names = instances.flatMap(({ accountId, attempt }) =>
      (attempt?.sans ?? []).map(({ value }) => ({ accountId, dnsName: baseName(value) })),
    );
    return names.length === 0 ? new Map() : await this.approvals.ofNames(names, tx);
  }
}

const noFacts: ApprovalFacts = { labels: new Map(), ruleSecret: null };

/** Which big columns these expansions need together. */
export function needsOf(expansions: readonly Expansion[]): InstanceNeeds {
  const needs = (...names: readonly string[]) =>
    expansions.some((expansion) => names.some((name) => expansion.has(name)));
  return {
    csr: needs('csr') ? 'all' : 'pending',
    chain: needs('chain', 'root'),
  };
}
