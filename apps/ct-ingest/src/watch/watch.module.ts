import { RunningProcess } from '@certwright/service';
import { Module } from '@nestjs/common';
import { CtLogs } from '../logs/ct-logs';
import { LogsModule } from '../logs/logs.module';
import { observeLogs } from '../observe';
import { WatchLogs } from './watch-logs';

/** Reports logs that lag or fail. */
@Module({
  imports: [LogsModule],
  providers: [
    {
      provide: WatchLogs,
      inject: [CtLogs, RunningProcess],
      useFactory: (logs: CtLogs, running: RunningProcess) =>
        new WatchLogs(logs, observeLogs(running), Date.now),
    },
  ],
})
export class WatchModule {}
