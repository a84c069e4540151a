import { Module } from '@nestjs/common';
import { TasksModule } from '../tasks/tasks.module';
import { Housekeeping } from './housekeeping';

@Module({ imports: [TasksModule], providers: [Housekeeping] })
export class HousekeepingModule {}
