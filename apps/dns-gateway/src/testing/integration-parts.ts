import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { IntegrationOwner, WantedRecord } from '@certwright/gateway-contract';
import { Problem } from '@certwright/errors';
import { AddressGuard } from '@certwright/outbound';
import { createLogger, MemoryTokenBuckets } from '@certwright/service';
import type { AuditIntent, AuditOutcome, HandleRefusal } from '../audit/audit-entry';
import { HandleKeys } from '../handles/handle-keys';
import { AddRecord } from '../integrations/add-record';
import { GetZones } from '../integrations/get-zones';
import { IntegrationAccess } from '../integrations/integration-access';
import { OwnAdditions } from '../audit/own-additions';
import { RecordedChanges } from '../integrations/recorded-changes';
import { RefusedHandles } from '../integrations/refused-handles';
import { RemoveRecord } from '../integrations/remove-record';
import { ZoneMemory } from '../integrations/zone-memory';
import { readCaaIssuers, recordRules, type RecordRules } from '../policy/record-rules';
import { loadUnderscoredNames } from '../policy/underscored-names';
import type { ProviderPorts } from '../providers/dns-provider';
import { FakeProvider } from './fake-provider';

const registry = path.join(__dirname, '../../data/underscored-names.csv');

export const owner: IntegrationOwner = { account: '42', integration_id: 'int_7', provider: 'cloudflare' };
export const kept = { token: 'planted-credential-7c1f' };
export const challenge: WantedRecord = {
  fqdn: '_acme-challenge.www.example.com',
  type: 'TXT',
  value: 'LoqXcYV8q5ONbJQxbmR7SCTNo3tiAXDfowyjxAjEuX0',
};

const call = (): Promise<never> => Promise.reject(new Error('nothing is called here'));
export const ports: ProviderPorts = {
  callApi: call,
  callCustomer: call,
  guard: new AddressGuard({ allowedNetworks: [] }),
  now: () => new Date('2026-11-20T12:00:00Z'),
  rest: call,
};

export interface IntegrationParts {
  readonly provider: FakeProvider;
  readonly keys: HandleKeys;
  /** The audit log so far, in order, without the provider's calls. */
  readonly entries: (AuditIntent | AuditOutcome)[];
  /** Handles that did not open, as recorded in the audit log. */
  readonly refusals: readonly HandleRefusal[];
  readonly audit: { full: boolean };
  /** Every log line so far. */
  readonly lines: string[];
  readonly memory: ZoneMemory;
  /** Milliseconds; only a spec advances it. */
  readonly clock: { nowMs: number };
  readonly access: IntegrationAccess;
  readonly adds: AddRecord;
  readonly zones: GetZones;
  readonly removes: RemoveRecord;
}

/** The use cases with an in-memory provider and real handles, policy and bounds. */
export function integrationParts(
  keys = new HandleKeys([randomBytes(32)]),
  policy: Partial<RecordRules> = {},
): IntegrationParts {
  const provider = new FakeProvider();
  const entries: (AuditIntent | AuditOutcome)[] = [];
  const refusals: HandleRefusal[] = [];
  const lines: string[] = [];
  const audit = { full: false };
  const clock = { nowMs: 0 };
  const log = createLogger('gateway', 'info', { write: (line) => lines.push(line) });
  const write = (entry: AuditIntent | AuditOutcome): Promise<void> => {
    if (audit.full) return Promise.reject(new Error('ENOSPC: no space left on device'));
    entries.push(entry);
    return Promise.resolve();
  };
  const own = new OwnAdditions();
  const changes = new RecordedChanges(
    {
      intent: async (intent) => {
        await write(intent);
        provider.calls.push(`intent ${intent.decision}`);
        return String(entries.length);
      },
      outcome: async (_id, outcome) => {
        await write(outcome);
        provider.calls.push(`outcome ${outcome.result}`);
      },
    },
    own,
    { log },
  );
  const memory = new ZoneMemory({ keptMs: 45_000, maxEntries: 2, nowMs: () => clock.nowMs });
  const handleRefused = (refusal: HandleRefusal): Promise<void> => {
    refusals.push(refusal);
    return Promise.resolve();
  };
  const buckets = new MemoryTokenBuckets({ nowMs: () => clock.nowMs });
  const refusedHandles = new RefusedHandles({ handleRefused }, buckets, { log });
  const access = new IntegrationAccess(keys, new Map([[provider.name, provider]]), ports, refusedHandles, {
    log,
  });
  const rules = recordRules({
    underscoredNames: loadUnderscoredNames(readFileSync(registry, 'utf8')),
    approvalZones: ['approval.certwright.example'],
    caaIssuers: readCaaIssuers(['ca.example']),
    ...policy,
  });
  return {
    provider,
    keys,
    entries,
    refusals,
    audit,
    lines,
    memory,
    clock,
    access,
    adds: new AddRecord(access, memory, rules, changes, keys, own),
    zones: new GetZones(access, memory),
    removes: new RemoveRecord(access, changes, keys, { log }),
  };
}

/** As received. @param timeMs time limit of the request */
export const context = (timeMs = 5_000) => ({
  requestId: 'req_1',
  client: 'spiffe://certwright.internal/issuance-worker',
  signal: AbortSignal.timeout(timeMs),
});

/** The response, or the content of the error object. */
export async function outcomeOf(pending: Promise<unknown>): Promise<unknown> {
  try {
    return await pending;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const { code, field, retryAfterS, integration } = error as Problem & { readonly integration?: string };
    return JSON.parse(JSON.stringify({ code, field, retryAfterS, integration })) as unknown;
  }
}
