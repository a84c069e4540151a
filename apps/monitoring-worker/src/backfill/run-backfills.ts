import { Transactions } from '@certwright/core-schema';
import {
  concernedIssuances,
  indexRange,
  type IssuanceToMatch,
  type PageReader,
  readingAlone,
} from '@certwright/ct-index';
import { Inject, Injectable } from '@nestjs/common';
import { MonitoredDomainIndex } from '@certwright/monitored-domains';
import { CtDatabase } from '../ct-database/ct-database.module';
import { RecordFindings } from '../findings/record-findings';
import { matchIssuances } from '../following/matching';
import { lockTask, type TaskLease } from '../tasks/task-leases';
import { BackfillEvents } from './backfill-events';
import { BackfillMails } from './backfill-mails';
import { Backfills, type OpenBackfill } from './backfills.repository';

/** Max issuances of a page: other accounts and the stream wait for no more than this. */
const pageSize = 1_000;

export interface BackfillPage {
  readonly issuances: readonly IssuanceToMatch[];
  /** They are all up to this position; the one before the page if the server of the index has nothing after it yet. */
  readonly upTo: string;
}

/** Reads what may concern the name of a backfill. */
@Injectable()
export class BackfillPages {
  private readonly reader: PageReader;

  constructor(ct: CtDatabase) {
    this.reader = readingAlone(ct.manager);
  }

  async next({ name, position, untilPosition }: OpenBackfill): Promise<BackfillPage> {
    // A replica may lack what the stream has matched. Read before the page, which has all of it then.
    const { next } = await indexRange(this.reader);
    const end = BigInt(next) > BigInt(untilPosition) ? untilPosition : String(BigInt(next) - 1n);
    if (BigInt(end) < BigInt(position)) return { issuances: [], upTo: position };
    const range = { after: position, upTo: end, limit: pageSize };
    const { issuances, isCut } = await concernedIssuances(this.reader, name, range);
    const hasMore = isCut || issuances.length === pageSize;
    return { issuances, upTo: (hasMore ? issuances.at(-1)?.position : undefined) ?? end };
  }
}

/** Matches what the index had before a change made it concern an account. */
@Injectable()
export class RunBackfills {
  constructor(
    private readonly transactions: Transactions,
    private readonly backfills: Backfills,
    private readonly findings: RecordFindings,
    private readonly mails: BackfillMails,
  ) {}

  /** Matches a page, in one transaction with its progress. @returns false: the server of the index has no more of it yet */
  async record(
    lease: TaskLease,
    backfill: OpenBackfill,
    pages: BackfillPages,
    events: BackfillEvents,
  ): Promise<boolean> {
    const index = await indexOf(this.backfills, backfill.account);
    if (!isMonitored(index, backfill.name)) {
      await this.cancel(lease, backfill, events);
      return true;
    }
    const { issuances, upTo } = await pages.next(backfill);
    if (upTo === backfill.position && upTo !== backfill.untilPosition) return false;
    const { concerned, incomplete } = matchIssuances(index, issuances);
    const isDone = upTo === backfill.untilPosition;
    const hasEnded = await this.transactions.run(async (tx) => {
      await lockTask(tx, lease);
      // Locked before the findings are stored: a backfill that began again finds and counts them itself.
      if (!(await this.backfills.lock(tx, backfill))) return false;
      const found = await this.findings.record(tx, concerned, 'backfill', backfill.changeId);
      await this.backfills.progress(tx, backfill, upTo, found, isDone);
      if (isDone) await this.mails.enqueueDue(tx, backfill.account);
      return isDone;
    });
    events.matched(issuances.length);
    if (incomplete.length > 0) events.incomplete(incomplete);
    if (hasEnded) events.ended(backfill, 'done');
    return true;
  }

  /**
   * Enqueues the summaries of backfills that ended before their certificates were classified.
   *
   * @param open accounts with open backfills: the last of those enqueues the summary
   */
  async mail(lease: TaskLease, open: ReadonlySet<string>): Promise<void> {
    for (const account of await this.backfills.accountsToMail()) {
      if (open.has(account)) continue;
      await this.transactions.run(async (tx) => {
        await lockTask(tx, lease);
        await this.mails.enqueueDue(tx, account);
      });
    }
  }

  private async cancel(lease: TaskLease, backfill: OpenBackfill, events: BackfillEvents): Promise<void> {
    const isCanceled = await this.transactions.run(async (tx) => {
      await lockTask(tx, lease);
      if (!(await this.backfills.cancel(tx, backfill))) return false;
      await this.mails.enqueueDue(tx, backfill.account);
      return true;
    });
    if (isCanceled) events.ended(backfill, 'canceled');
  }
}

/** One page for each account in turn, so that an account with large backfills does not delay others. */
@Injectable()
export class BackfillTurns {
  private turn: OpenBackfill[] = [];

  constructor(
    private readonly run: RunBackfills,
    private readonly pages: BackfillPages,
    private readonly backfills: Backfills,
    private readonly transactions: Transactions,
    @Inject(BackfillEvents) private readonly events: BackfillEvents,
  ) {}

  /** @returns false: no backfill is open, or one waits for the index */
  async next(lease: TaskLease): Promise<boolean> {
    const backfill = this.turn.shift();
    if (backfill !== undefined) return await this.run.record(lease, backfill, this.pages, this.events);
    this.turn = [...(await this.backfills.nextOfAccounts())];
    await this.run.mail(lease, new Set(this.turn.map(({ account }) => account)));
    if (this.turn.length === 0) return false;
    await this.transactions.run(async (tx) => {
      await lockTask(tx, lease);
      await this.backfills.cancelSuperseded(tx);
    });
    return true;
  }

  forget(): void {
    this.turn = [];
  }
}

/** The monitored domains of one account, as they are now: read after its backfill, so that the change is applied. */
async function indexOf(
  backfills: Pick<Backfills, 'domainsOf'>,
  account: string,
): Promise<MonitoredDomainIndex> {
  const index = new MonitoredDomainIndex();
  for (const { name, enabled } of await backfills.domainsOf(account)) index.set(account, name, enabled);
  return index;
}

/** Max lengths (RFC 1035, 2.3.4), without the dot at the end. */
const maxBytes = { label: 63, name: 253 };

/** Whether a certificate for the name, or of a tree for a name that no object names, would concern the account. */
function isMonitored(index: MonitoredDomainIndex, name: string): boolean {
  const names = name.startsWith('.') ? [name.slice(1), unnamedIn(name)] : [name];
  return names.some((each) => index.match([each]).accounts.length > 0);
}

/** A name below a tree that is improbable as an object. */
function unnamedIn(tree: string): string {
  const length = Math.min(maxBytes.label, maxBytes.name - tree.length);
  return length > 0 ? 'x'.repeat(length) + tree : tree.slice(1);
}
