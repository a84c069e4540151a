import { AccountsModule } from '@certwright/accounts';
import { DeliveryModule } from '@certwright/delivery';
import { Module } from '@nestjs/common';
import { InstallationMetrics } from './installation-metrics';
import { InstallationNotices } from './installation-notices';
import { Rollouts } from './rollouts.repository';

/** Watches whether certificates reach the hosts of clusters. */
@Module({
  imports: [AccountsModule, DeliveryModule],
  providers: [InstallationMetrics, InstallationNotices, Rollouts],
})
export class InstallationsModule {}
