import { Global, Module } from '@nestjs/common';
import { MonitoringChanges } from './monitoring-changes';

/** For every module: each change is recorded. */
@Global()
@Module({ providers: [MonitoringChanges], exports: [MonitoringChanges] })
export class ChangesModule {}
