import type { OddLogEntry } from '@certwright/ct-index';
import { RunningProcess } from '@certwright/service';
import { Counter, Gauge } from 'prom-client';

/** What happens while the index is followed. */
export interface FollowEvents {
  began: (position: string, domains: number) => void;
  /** @param followedTo everything that the index had then was matched */
  matched: (issuances: number, position: string, followedTo: Date, domains: number) => void;
  /** Too many unusual texts to compare all of them with every domain. */
  incomplete: (positions: readonly string[]) => void;
  unreadable: (log: string, entry: OddLogEntry, accounts: number) => void;
  /** The issuances after `from` are matched again. */
  restored: (from: string, to: string) => void;
  /** The server lacks what was matched already. */
  behind: (position: string, next: string) => void;
  leaseLost: () => void;
}

/** Injection token. */
export const FollowEvents = Symbol('FollowEvents');

/** Log lines and metrics. A line with `alarm` requires an operator. */
export function observeFollowing({ log, metrics: { registry } }: RunningProcess): FollowEvents {
  const registers = [registry];
  let followed: Date | null = null;
  const issuances = new Counter({
    name: 'certwright_monitoring_matched_total',
    help: 'Issuances that this process compared with the monitored domains',
    registers,
  });
  const incomplete = new Counter({
    name: 'certwright_monitoring_incomplete_matches_total',
    help: 'Certificates with too many unusual texts to compare all of them with every monitored domain',
    registers,
  });
  const unreadable = new Counter({
    name: 'certwright_monitoring_unreadable_entries_total',
    help: 'Entries of logs that could not be read as certificates, and were searched for monitored domains',
    registers,
  });
  const restored = new Counter({
    name: 'certwright_monitoring_index_restored_total',
    help: 'How often the index was found to lack issuances that it had',
    registers,
  });
  const position = new Gauge({
    name: 'certwright_monitoring_position',
    help: 'Last position of the index that was matched, if this process follows the index',
    registers,
  });
  const domains = new Gauge({
    name: 'certwright_monitoring_domains',
    help: 'Monitored domains in the memory of this process',
    registers,
  });
  new Gauge({
    name: 'certwright_monitoring_lag_seconds',
    help: 'Age of the newest state of the index that was matched completely; absent in a copy that does not follow the index',
    registers,
    collect() {
      this.reset();
      if (followed === null) this.remove();
      else this.set(Math.max(0, (Date.now() - followed.getTime()) / 1_000));
    },
  });
  return {
    began: (at, count) => {
      domains.set(count);
      log.info({ position: at, domains: count }, 'following the index');
    },
    matched: (count, at, followedTo, size) => {
      issuances.inc(count);
      position.set(Number(at));
      domains.set(size);
      followed = followedTo;
    },
    incomplete: (positions) => {
      incomplete.inc(positions.length);
      log.warn(
        { positions: positions.slice(0, 10), count: positions.length },
        'certificates with too many unusual names',
      );
    },
    unreadable: (name, { entryIndex, fault, leafBytes }, accounts) => {
      unreadable.inc();
      log.warn(
        { log: name, entry_index: entryIndex, fault, bytes: leafBytes, accounts },
        'unreadable log entry',
      );
    },
    restored: (from, to) => {
      restored.inc();
      log.error(
        { alarm: 'index_restored', after_position: from, up_to_position: to },
        'ALARM: the index lacks issuances that it had; what follows is matched again',
      );
    },
    behind: (at, next) =>
      log.warn(
        { position: at, next_position: next },
        'this server of the index lacks what was matched; waiting',
      ),
    leaseLost: () => {
      followed = null;
      log.warn('lease lost; another process follows the index');
    },
  };
}
