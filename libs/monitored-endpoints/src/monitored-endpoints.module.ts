import { Module } from '@nestjs/common';
import { MonitoredEndpoints } from './monitored-endpoints';

/** Endpoints of accounts: what the checks of `monitoring-worker` found. */
@Module({ providers: [MonitoredEndpoints], exports: [MonitoredEndpoints] })
export class MonitoredEndpointsModule {}
