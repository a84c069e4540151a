import type { GatewayMessages, Integrated, Zone } from '@certwright/gateway-contract';
import { Problem } from '@certwright/errors';
import type { AuditIntent } from '../audit/audit-entry';
import type { HandleKeys } from '../handles/handle-keys';
import {
  type AllowedRecord,
  type AskedRecord,
  judgeRecord,
  placeRecord,
  type RefusedRecord,
} from '../policy/record-policy';
import type { RecordRules } from '../policy/record-rules';
import type { ProviderSession } from '../providers/dns-provider';
import type { Asking } from './asking';
import type { IntegrationAccess } from './integration-access';
import { changeOf } from './change';
import type { OwnAdditions } from './own-additions';
import type { RecordedChanges } from './recorded-changes';
import { within } from './request-bounds';
import type { ZoneMemory } from './zone-memory';

type Answer = GatewayMessages['add_record']['answer'];

export type AddRequest = Integrated & { readonly record: AskedRecord };

/** Publishes a record that the policy allows: decision, zones, intent on the disk, provider, outcome, handle. */
export class AddRecord {
  constructor(
    private readonly access: IntegrationAccess,
    private readonly memory: ZoneMemory,
    private readonly rules: RecordRules,
    private readonly changes: RecordedChanges,
    private readonly handles: HandleKeys,
    private readonly own: OwnAdditions,
  ) {}

  async add({ record: wanted, ...integrated }: AddRequest, asking: Asking): Promise<Answer> {
    return await this.access.use(integrated, asking, async (session) => {
      const decision = await this.#decide(wanted, integrated, session, asking.signal);
      const change = changeOf(integrated, asking);
      if (!decision.allowed) {
        await this.changes.refused({ ...change, ...refusalOf(wanted, decision) });
        throw new Problem(decision.code, decision.message, { field: decision.field });
      }
      const { zone, record, mode } = decision;
      // Sealed first, in both forms: a record that was created can then always be removed.
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
        const outcome = await this.changes.carryOut(intent, asking.signal, () => session[mode](zone, record));
        const isOurs = outcome === 'created' || this.own.has(intent);
        return { record_handle: isOurs ? handles.created : handles.existed };
      } catch (error) {
        this.memory.forget(integrated.integration);
        throw error;
      }
    });
  }

  /** The provider is asked for its zones only about a record that could be written. */
  async #decide(
    wanted: AskedRecord,
    { integration: handle, integration_id: integrationId }: Integrated,
    session: ProviderSession,
    signal: AbortSignal,
  ): Promise<AllowedRecord | RefusedRecord> {
    const judged = judgeRecord(wanted, this.rules);
    if (!judged.allowed) return judged;
    const list = (): Promise<readonly Zone[]> => within(signal, session.zones());
    const { zones, isFresh } = await this.memory.known(handle, list);
    const isApexOpen = this.rules.apexIntegrations.includes(integrationId);
    const decision = placeRecord(judged, zones, isApexOpen);
    if (decision.allowed || decision.code !== 'zone_not_found' || isFresh) return decision;
    // The zone may have been made since the others were listed.
    return placeRecord(judged, await this.memory.fresh(handle, list), isApexOpen);
  }
}

/** Of a refused text, as much as tells what was tried. */
const longestRefused = 600;

function refusalOf(wanted: AskedRecord, decision: RefusedRecord) {
  return {
    action: wanted.replace === true ? 'replace' : 'add',
    zone: null,
    fqdn: wanted.fqdn.slice(0, longestRefused),
    type: wanted.type.slice(0, longestRefused),
    value: wanted.value.slice(0, longestRefused),
    ttlS: wanted.ttl ?? null,
    decision: 'refused',
    reason: `${decision.code} of ${decision.field}`,
  } as const;
}
