import { DeliveryModule } from '@certwright/delivery';
import { Injectable, Module, type OnModuleInit } from '@nestjs/common';
import { CtDatabaseModule } from '../ct-database/ct-database.module';
import { LeasedRounds } from '../tasks/leased-rounds';
import type { TaskLease } from '../tasks/task-leases';
import { TasksModule } from '../tasks/tasks.module';
import { OwnIssuanceEvents } from './own-issuance-events';
import { Sightings } from './sightings';
import { StrayCertificates } from './stray-certificates';

/** Runs both checks under one lease. */
@Injectable()
class OwnIssuance implements OnModuleInit {
  constructor(
    private readonly rounds: LeasedRounds,
    private readonly sightings: Sightings,
    private readonly strays: StrayCertificates,
  ) {}

  onModuleInit(): void {
    this.rounds.add('own-issuance', async (lease) => await this.round(lease));
  }

  async round(lease: TaskLease): Promise<number> {
    const sightingsMs = await this.sightings.look(lease);
    return Math.min(sightingsMs, await this.strays.check(lease));
  }
}

/** Whether the certificates that were issued here, and no others with their keys, are in the index. */
@Module({
  imports: [CtDatabaseModule, DeliveryModule, TasksModule],
  providers: [OwnIssuance, OwnIssuanceEvents, Sightings, StrayCertificates],
})
export class OwnIssuanceModule {}
