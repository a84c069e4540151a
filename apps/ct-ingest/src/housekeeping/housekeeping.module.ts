import { Rounds, RunningProcess } from '@certwright/service';
import { Injectable, Module, type OnModuleInit } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Housekeeping } from './housekeeping';
import { merging } from './merging';

/** Merges postings. */
@Injectable()
class MergeRounds implements OnModuleInit {
  constructor(
    private readonly rounds: Rounds,
    private readonly database: DataSource,
    private readonly running: RunningProcess,
  ) {}

  onModuleInit(): void {
    const { log } = this.running;
    const own = merging(
      this.database,
      () => new Date(),
      (lane, merged) => log.debug({ lane, ...merged }, 'postings merged'),
      this.rounds.stopping,
    );
    for (const [name, round] of Object.entries(own)) this.rounds.add(name, round);
  }
}

/** Periodic maintenance of the index. */
@Module({ providers: [Housekeeping, MergeRounds] })
export class HousekeepingModule {}
