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
  /** One cheap request. @throws AcmeFault */
  readonly ask: (authority: CertificateAuthorityEntity) => Promise<void>;
  /** Advances an issuance, and with it asks a CA that is down. */
  readonly attempt: (issuanceId: string, trial: Trial) => Promise<void>;
  readonly onError: (authority: string, error: unknown) => void;
}

/** A second from the moment at which a CA is up to that at which what waits is due. */
const restMs = 1_000;

/** Issuances in a row that need nothing of the CA after all, such as canceled ones. */
const mostTrials = 10;

/**
 * Finds out when CAs are up again for which issuances wait, and releases those, oldest first. One cheap request per interval,
 * of all processes; when that succeeds, the issuance that has waited longest goes ahead alone: a CA may respond and accept
 * no order.
 */
export class WatchAuthorities {
  private readonly probing = new Map<string, Promise<void>>();

  constructor(private readonly ports: WatchPorts) {}

  /** CAs are probed side by side: one that is silent delays no other. @returns how long to rest, ms */
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

  /** Until the probes that are under way are over. */
  async settled(): Promise<void> {
    await Promise.all(this.probing.values());
  }

  private async probe(name: string): Promise<void> {
    const { authorities, ask, health, waiting, attempt } = this.ports;
    const authority = (await authorities.byName([name])).get(name);
    if (authority === undefined) return;
    try {
      await ask(authority);
    } catch (error) {
      if (!(error instanceof AcmeFault)) throw error;
      const problem = outcomeOfFault(name, error);
      return await health.stillDown(name, { problem, retryAt: error.retryAt }, new Date());
    }
    const trial = health.trialOf(name);
    const tried: string[] = [];
    while (!trial.isOver && tried.length < mostTrials) {
      const oldest = await waiting.takeOldest(name, tried);
      if (oldest === null) return;
      tried.push(oldest);
      await attempt(oldest, trial);
    }
  }
}
