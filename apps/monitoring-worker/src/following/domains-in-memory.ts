import type { Tx } from '@certwright/core-schema';
import { MonitoredDomainIndex } from '@certwright/monitored-domains';
import type { Logger } from '@certwright/service';
import { heldAccounts } from './follower.repository';
import { type Change, type ChangeCursor, changesAfter, type DomainKey } from './monitoring-changes';

type Reader = Pick<Tx, 'query'>;

interface DomainRow extends DomainKey {
  readonly enabled: boolean;
}

const pageSize = 10_000;

/** How often disabled accounts are looked for, ms. */
const accountsEveryMs = 5_000;

/** What was applied, and is not stored yet. */
export interface Applied {
  readonly changes: readonly Change[];
  readonly cursor: ChangeCursor;
  /** Accounts that are disabled since what is stored. */
  readonly disabledAccounts: readonly string[];
  /** Accounts that were disabled, and are no longer. */
  readonly enabledAccounts: readonly string[];
}

/** The monitored domains of all accounts that are not disabled, as the core database has them. */
export class DomainsInMemory {
  readonly index = new MonitoredDomainIndex();
  private disabledAccounts: ReadonlySet<string> = new Set();
  private accountsReadAtMs = -Infinity;
  /** Disabled accounts as they are stored: an account may be enabled while no process runs. */
  private storedDisabled: ReadonlySet<string> = new Set();
  /** Stored changes after the cursor, which are read again. */
  private storedOpen: ReadonlySet<string> = new Set();
  private open: ReadonlySet<string> = new Set();

  /** @param onChange called with names whose monitored domains may have changed */
  constructor(
    private readonly core: Reader,
    private readonly log: Pick<Logger, 'error'>,
    private readonly onChange: (names: readonly string[]) => void,
  ) {}

  /** @param onPage called after each page */
  async load(onPage: () => Promise<void>): Promise<void> {
    this.disabledAccounts = await this.readDisabledAccounts();
    this.storedDisabled = await heldAccounts(this.core);
    let last: DomainKey = { account: '0', name: '' };
    for (;;) {
      const page = await this.core.query<DomainRow[]>(
        `SELECT account_id AS account, name, enabled FROM monitored_domain
         WHERE (account_id, name) > ($1, $2) ORDER BY account_id, name LIMIT ${pageSize}`,
        [last.account, last.name],
      );
      for (const row of page) if (!this.disabledAccounts.has(row.account)) this.set(row);
      last = page.at(-1) ?? last;
      if (page.length < pageSize) return;
      await onPage();
    }
  }

  /** Applies what changed after the cursor. Until it is stored, it is returned again. */
  async advance(from: ChangeCursor): Promise<Applied> {
    const { changes, cursor, open } = await changesAfter(this.core, from, this.storedOpen);
    this.open = open;
    const domains = changes.filter(({ object }) => object === 'monitored_domain');
    await this.apply(domains);
    if (domains.length > 0) this.onChange(domains.map(({ name }) => name));
    await this.applyDisabledAccounts();
    const [now, stored] = [this.disabledAccounts, this.storedDisabled];
    return {
      ...{ changes, cursor },
      disabledAccounts: [...now].filter((account) => !stored.has(account)),
      enabledAccounts: [...stored].filter((account) => !now.has(account)),
    };
  }

  stored(): void {
    this.storedOpen = this.open;
    this.storedDisabled = this.disabledAccounts;
  }

  /** Makes the objects what they are now, however often and in whatever order they changed. */
  private async apply(changed: readonly DomainKey[]): Promise<void> {
    if (changed.length === 0) return;
    const rows = await this.core.query<DomainRow[]>(
      `SELECT account_id AS account, name, enabled FROM monitored_domain
       WHERE (account_id, name) IN (SELECT * FROM unnest($1::bigint[], $2::text[]))`,
      [changed.map(({ account }) => account), changed.map(({ name }) => name)],
    );
    const keyOf = ({ account, name }: DomainKey) => `${account} ${name}`;
    const current = new Map(rows.map((row) => [keyOf(row), row]));
    for (const key of changed) {
      const row = current.get(keyOf(key));
      if (row === undefined || this.disabledAccounts.has(row.account)) this.remove(key);
      else this.set(row);
    }
  }

  /** Disabling an account is not a change of what it monitors. */
  private async applyDisabledAccounts(): Promise<void> {
    const nowMs = performance.now();
    if (nowMs - this.accountsReadAtMs < accountsEveryMs) return;
    const before = this.disabledAccounts;
    const disabled = await this.readDisabledAccounts();
    this.accountsReadAtMs = nowMs;
    const changed = [
      ...[...before].filter((account) => !disabled.has(account)),
      ...[...disabled].filter((account) => !before.has(account)),
    ];
    if (changed.length === 0) return;
    const rows = await this.core.query<DomainKey[]>(
      `SELECT account_id AS account, name FROM monitored_domain WHERE account_id = ANY ($1::bigint[])`,
      [changed],
    );
    this.disabledAccounts = disabled;
    await this.apply(rows);
    this.onChange(rows.map(({ name }) => name));
  }

  private async readDisabledAccounts(): Promise<ReadonlySet<string>> {
    const rows = await this.core.query<{ id: string }[]>(
      `SELECT id FROM account WHERE disabled_at IS NOT NULL
         AND EXISTS (SELECT 1 FROM monitored_domain WHERE account_id = account.id)`,
    );
    return new Set(rows.map(({ id }) => id));
  }

  /** A name that cannot be matched must not keep all others from being matched. */
  private set({ account, name, enabled }: DomainRow): void {
    try {
      this.index.set(account, name, enabled);
    } catch (error) {
      this.log.error(
        { alarm: 'domain_not_matched', account, name, err: error },
        'ALARM: monitored domain is not matched',
      );
    }
  }

  private remove({ account, name }: DomainKey): void {
    try {
      this.index.remove(account, name);
    } catch {
      // It was not added either.
    }
  }
}
