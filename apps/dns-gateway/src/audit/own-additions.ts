import type { AuditIntent, AuditOutcome, EntryContent } from './audit-entry';

/** Max records kept. Each is below 1,200 bytes. */
const maxRecords = 20_000;

type RecordKey = Pick<AuditIntent, 'integrationId' | 'zone' | 'fqdn' | 'type' | 'value'>;

/**
 * Records that the gateway created, or may have created, and has not removed, according to the audit log. When a
 * response was lost, a repeated `add_record` finds such a record and may still remove it. The oldest records are
 * unknown: one that is found then counts as foreign and stays.
 */
export class OwnAdditions {
  readonly #keys = new Set<string>();
  readonly #open = new Map<string, { readonly key: string; readonly isRemoval: boolean }>();

  /** @param entries of the audit log, oldest first, with their sequence numbers */
  static from(
    entries: Iterable<{ readonly sequence: number; readonly content: EntryContent }>,
  ): OwnAdditions {
    const own = new OwnAdditions();
    for (const { sequence, content } of entries) {
      if (content.kind === 'intent') own.intent(String(sequence), content);
      if (content.kind === 'outcome') own.outcome(String(content.intent), content);
    }
    // The process ended before their outcome: the provider may have created them.
    for (const id of [...own.#open.keys()]) own.outcome(id, { result: 'unknown' });
    return own;
  }

  intent(id: string, intent: AuditIntent): void {
    if (intent.decision === 'allowed')
      this.#open.set(id, { key: keyOf(intent), isRemoval: intent.action === 'remove' });
  }

  outcome(id: string, { result }: Pick<AuditOutcome, 'result'>): void {
    const change = this.#open.get(id);
    if (change === undefined) return;
    this.#open.delete(id);
    const { key, isRemoval } = change;
    if (isRemoval && result === 'done') this.#keys.delete(key);
    if (!isRemoval && (result === 'done' || result === 'unknown')) this.#remember(key);
  }

  has(record: RecordKey): boolean {
    return this.#keys.has(keyOf(record));
  }

  #remember(key: string): void {
    this.#keys.delete(key);
    this.#keys.add(key);
    if (this.#keys.size <= maxRecords) return;
    // A Set iterates in the order of insertion.
    const [oldest] = this.#keys;
    if (oldest !== undefined) this.#keys.delete(oldest);
  }
}

const keyOf = ({ integrationId, zone, fqdn, type, value }: RecordKey): string =>
  JSON.stringify([integrationId, zone, fqdn, type, value]);
