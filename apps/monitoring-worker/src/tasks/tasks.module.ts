import { Module } from '@nestjs/common';
import { LeasedRounds } from './leased-rounds';
import { TaskLeases } from './task-leases';

@Module({ providers: [LeasedRounds, TaskLeases], exports: [LeasedRounds, TaskLeases] })
export class TasksModule {}
