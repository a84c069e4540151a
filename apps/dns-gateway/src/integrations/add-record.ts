import type { GatewayMessages, Integrated, Zone } from '@certwright/gateway-contract';
import { Problem } from '@certwright/errors';
import { Inject, Injectable } from '@nestjs/common';
import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import type { AuditIntent } from '../audit/audit-entry';
import { HandleKeys } from '../handles/handle-keys';
import {
  type AllowedRecord,
  type RequestedRecord,
  checkRecord,
  placeRecord,
  type RefusedRecord,
} from '../policy/record-policy';
import { RecordRules } from '../policy/record-rules';
import type { ProviderSession } from '../providers/dns-provider';
import { Resealed } from '../wire/problem';
import { IntegrationAccess } from './integration-access';
import { OwnAdditions } from '../audit/own-additions';
import { changeOf, RecordedChanges } from './recorded-changes';
import { type RequestContext, within } from './request-bounds';
import { ZoneMemory } from './zone-memory';

@ApiSchema({ name: 'Added' })
export class AddedSchema extends Resealed implements Result {
  @ApiProperty({ description: 'With which the record can be removed.' }) readonly record_handle: string;
}

type Result = GatewayMessages['add_record']['answer'];
type Request = Integrated & { readonly record: RequestedRecord };

/** Publishes a record that the policy allows: decision, zones, intent on disk, provider, outcome, handle. */
@Injectable()
export class AddRecord {
  constructor(
    private readonly access: IntegrationAccess,
    private readonly memory: ZoneMemory,
    @Inject(RecordRules) private readonly rules: RecordRules,
    private readonly changes: RecordedChanges,
    private readonly handles: HandleKeys,
    private readonly own: OwnAdditions,
  ) {}

  async add({ record: wanted, ...integrated }: Request, context: RequestContext): Promise<AddedSchema> {
    return await this.access.use(
      integrated,
      context,
      async (session): Promise<Pick<AddedSchema, 'record_handle'>> => {
        const decision = await this.#decide(wanted, integrated, session, context.signal);
        const change = changeOf(integrated, context);
        if (!decision.allowed) {
          await this.changes.refused({ ...change, ...refusalOf(wanted, decision) });
          throw new Problem(decision.code, decision.message, { field: decision.field });
        }
        const { zone, record, mode } = decision;
        // Seals both forms first, so that a created record can always be removed.
        const handles = {
          created: this.handles.sealRecord(integrated, { zone, record }),
          existed: this.handles.sealRecord(integrated, { zone, record, existed: true }),
        };
        const intent: AuditIntent = {
          ...change,
          action: mode,
          zone: zone.name,
          ...record,
          decision: 'allowed',
          reason: null,
        };
        try {
          const outcome = await this.changes.carryOut(intent, context.signal, () =>
            session[mode](zone, record),
          );
          const isOurs = outcome === 'created' || this.own.has(intent);
          return { record_handle: isOurs ? handles.created : handles.existed };
        } catch (error) {
          this.memory.forget(integrated.integration);
          throw error;
        }
      },
    );
  }

  /** Queries the provider for its zones only when the record could be written. */
  async #decide(
    wanted: RequestedRecord,
    { integration: handle, integration_id: integrationId }: Integrated,
    session: ProviderSession,
    signal: AbortSignal,
  ): Promise<AllowedRecord | RefusedRecord> {
    const checked = checkRecord(wanted, this.rules);
    if (!checked.allowed) return checked;
    const list = (): Promise<readonly Zone[]> => within(signal, session.zones());
    const { zones, isFresh } = await this.memory.known(handle, list);
    const isApexOpen = this.rules.apexIntegrations.includes(integrationId);
    const decision = placeRecord(checked, zones, isApexOpen);
    if (decision.allowed || decision.code !== 'zone_not_found' || isFresh) return decision;
    // The zone may have been created since the others were listed.
    return placeRecord(checked, await this.memory.fresh(handle, list), isApexOpen);
  }
}

/** Max characters of a refused text in the audit log. */
const maxRefusedLength = 600;

function refusalOf(wanted: RequestedRecord, decision: RefusedRecord) {
  return {
    action: wanted.replace === true ? 'replace' : 'add',
    zone: null,
    fqdn: wanted.fqdn.slice(0, maxRefusedLength),
    type: wanted.type.slice(0, maxRefusedLength),
    value: wanted.value.slice(0, maxRefusedLength),
    ttlS: wanted.ttl ?? null,
    decision: 'refused',
    reason: `${decision.code} of ${decision.field}`,
  } as const;
}
