import { DeliveryModule } from '@certwright/delivery';
import { Module } from '@nestjs/common';
import { BehindNotices } from './behind-notices';
import { DomainStatuses } from './domain-statuses';
import { Following } from './following';
import { StatusController } from './status.controller';
import { MonitoringStatus } from './status.repository';
import { Watchdog } from './watchdog';

@Module({
  imports: [DeliveryModule],
  controllers: [StatusController],
  providers: [Following, MonitoringStatus, DomainStatuses, BehindNotices, Watchdog],
  exports: [DomainStatuses],
})
export class StatusModule {}
