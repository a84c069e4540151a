import type { RrsetChange } from '../records/rrset-changes';

/** One action on an RRset, and its body. */
export interface RrsetStep {
  readonly action: 'add_records' | 'remove_records' | 'set_records' | 'change_ttl';
  readonly body: Readonly<Record<string, unknown>>;
}

/** Seconds, the min TTL of an RRset. */
const minTtlS = 60;

/** The actions that turn the RRset as read into the wanted one. They change only the difference. */
export function stepsOf({ before, after }: RrsetChange): readonly RrsetStep[] {
  const old = before?.values ?? [];
  const values = after?.values ?? [];
  const added = records(values.filter((value) => !old.includes(value)));
  const removed = records(old.filter((value) => !values.includes(value)));
  const wantedS = after?.ttlS ?? null;
  const ttl = wantedS === null ? null : Math.max(minTtlS, wantedS);
  if (before === null) {
    // Creates the RRset. A TTL is allowed only here, unless it equals the existing one.
    return [{ action: 'add_records', body: { records: added, ...(ttl === null ? {} : { ttl }) } }];
  }
  const steps: RrsetStep[] = [];
  if (added.length > 0 && removed.length > 0) {
    steps.push({ action: 'set_records', body: { records: records(values) } });
  } else if (added.length > 0) steps.push({ action: 'add_records', body: { records: added } });
  // Removing the last record removes the RRset.
  else if (removed.length > 0) steps.push({ action: 'remove_records', body: { records: removed } });
  if (ttl !== null && ttl !== before.ttlS) steps.push({ action: 'change_ttl', body: { ttl } });
  return steps;
}

const records = (values: readonly string[]): readonly { readonly value: string }[] =>
  values.map((value) => ({ value }));
