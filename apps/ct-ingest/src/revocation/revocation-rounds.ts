import { Round, type RunningProcess } from '@certwright/service';
import type { CrlHosts } from './store/crl-hosts';
import type { CtCrls } from './store/ct-crls';

/** How often new lists and hosts are looked for, and those that nobody needs any more, ms. */
const planRestMs = 30_000;
const forgetRestMs = 3_600_000;

/** Decides which revocation lists are needed. */
export class RevocationRounds {
  constructor(
    private readonly crls: CtCrls,
    private readonly hosts: CrlHosts,
    private readonly running: RunningProcess,
  ) {}

  @Round('planCrls')
  async plan(): Promise<number> {
    await this.crls.disclose();
    await this.hosts.discover();
    return planRestMs;
  }

  @Round('forgetCrls')
  async forget(): Promise<number> {
    const forgotten = await this.crls.forget();
    if (forgotten > 0) this.running.log.info({ lists: forgotten }, 'revocation lists forgotten');
    return forgetRestMs;
  }
}
