import { Injectable, type OnModuleInit } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { isHeld } from '../endpoints/endpoint-valve';
import { GatheredMails, maxAccountsOfRound } from '../gathered-mail/gathered-mail';
import { LeasedRounds } from '../tasks/leased-rounds';
import type { TaskLease } from '../tasks/task-leases';
import { certificateMails } from './certificate-mails';
import { endpointMails } from './endpoint-mails';
import { Heartbeats } from './heartbeats';

/** Wait between rounds without work, ms. */
const pollMs = 1_000;

/** Rounds between checks of heartbeats. */
const roundsPerHeartbeat = 300;

/** Mails to accounts about unknown certificates and about endpoints. */
@Injectable()
export class SendMails implements OnModuleInit {
  private count = 0;

  constructor(
    private readonly rounds: LeasedRounds,
    private readonly database: DataSource,
    private readonly gathered: GatheredMails,
    private readonly heartbeats: Heartbeats,
  ) {}

  onModuleInit(): void {
    this.rounds.add('mail', async (lease) => {
      // Counted before: heartbeats need the ct database, and the other mails do not.
      this.count += 1;
      if (this.count % roundsPerHeartbeat === 1) await this.heartbeats.send(lease);
      return (await this.send(lease)) >= maxAccountsOfRound ? 0 : pollMs;
    });
  }

  /** @returns for how many accounts something was due */
  async send(lease: TaskLease): Promise<number> {
    const sent = await this.gathered.send(lease, certificateMails);
    // What was reported before is mailed when the hold ends.
    if (await isHeld(this.database)) return sent;
    return sent + (await this.gathered.send(lease, endpointMails));
  }
}
