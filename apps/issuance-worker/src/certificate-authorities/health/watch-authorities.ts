import type { CertificateAuthorities } from '../certificate-authorities';
import type { CertificateAuthorityEntity } from '@certwright/core-schema';
import type { WaitingIssuances } from '@certwright/ordering';
import { AcmeFault } from '../../acme';
import { outcomeOfFault } from '../acme/order-outcomes';
import type { AuthorityHealth } from './authority-health';
import type { Trial } from './trial';

export interface WatchPorts {
  readonly health: AuthorityHealth;
  readonly waiting: Pick<WaitingIssuances, 'claimProbes' | 'takeOldest' | 'release'>;
  readonly authorities: Pick<CertificateAuthorities, 'byName'>;
  /** Sends one cheap request. @throws AcmeFault */
  readonly probe: (authority: CertificateAuthorityEntity) => Promise<void>;
  /** The clock of what `probe` throws. */
  readonly now: () => Date;
  /** Advances an issuance, as the trial of a CA that is down. */
  readonly attempt: (issuanceId: string, trial: Trial) => Promise<void>;
  readonly onError: (authority: string, error: unknown) => void;
}

/** Max delay between a CA being up and its waiting issuances being due, 1 s. */
const restMs = 1_000;

/** Max consecutive issuances that send no request to the CA, such as canceled ones. */
const maxTrials = 10;

/**
 * Detects when CAs with waiting issuances are up again, and releases those issuances, oldest first. All processes
 * together send one cheap request per interval. When it succeeds, the issuance that has waited longest goes first,
 * alone: a CA may respond but accept no order. When it fails, the next one is tried after the next probe: a CA may
 * also fail for one order alone.
 */
export class WatchAuthorities {
  private readonly probing = new Map<string, Promise<void>>();
  /** Issuances whose trials failed while the CA was down: the cause may be their order alone. */
  private readonly failed = new Map<string, readonly string[]>();

  constructor(private readonly ports: WatchPorts) {}

  /** Probes CAs concurrently: a silent one delays no other. @returns the pause until the next round, ms */
  readonly round = async (): Promise<number> => {
    const { waiting, health, onError } = this.ports;
    const { probeMs, graceMs } = health.pace;
    for (const name of await waiting.claimProbes(probeMs, graceMs)) {
      if (this.probing.has(name)) continue;
      const probe = this.probe(name)
        .catch((error: unknown) => onError(name, error))
        .finally(() => this.probing.delete(name));
      this.probing.set(name, probe);
    }
    await waiting.release();
    return restMs;
  };

  /** Waits for running probes. */
  async settled(): Promise<void> {
    await Promise.all(this.probing.values());
  }

  private async probe(name: string): Promise<void> {
    const { authorities, probe, now, health, waiting, attempt } = this.ports;
    const authority = (await authorities.byName([name])).get(name);
    if (authority === undefined) return;
    try {
      await probe(authority);
    } catch (error) {
      if (!(error instanceof AcmeFault)) throw error;
      const problem = outcomeOfFault(name, error);
      return await health.stillDown(name, { problem, retryAt: error.retryAt }, now());
    }
    const trial = health.trialOf(name);
    const tried: string[] = [];
    while (!trial.isOver && tried.length < maxTrials) {
      const failed = this.failed.get(name) ?? [];
      const oldest = await waiting.takeOldest(name, [...failed, ...tried]);
      if (oldest === null) {
        // The trials of all others have failed: begins again with the oldest.
        this.failed.delete(name);
        if (failed.length === 0) return;
        continue;
      }
      tried.push(oldest);
      await attempt(oldest, trial);
      if (trial.hasPassed) this.failed.delete(name);
      else if (trial.isOver) this.failed.set(name, [...failed, oldest]);
    }
  }
}
