import { AddressGuard } from '@certwright/outbound';
import { Round, RunningProcess } from '@certwright/service';
import { Inject, Injectable, Module, type OnModuleInit } from '@nestjs/common';
import { Config } from '../config';
import { CtLogs } from '../logs/ct-logs';
import { LogsModule, UserAgent } from '../logs/logs.module';
import { observeList } from '../observe';
import { fetchLogList } from './fetch-log-list';
import { WantedLogs } from './followed-logs';
import { KeepLogList } from './keep-log-list';

/** Until the list has been read, and when it is unavailable, the previous list is used. */
@Injectable()
class LogListRound implements OnModuleInit {
  private isListKnown = false;

  constructor(
    private readonly list: KeepLogList,
    private readonly logs: CtLogs,
    private readonly running: RunningProcess,
    @Inject(Config) private readonly config: Pick<Config, 'LOG_LIST_RELOAD'>,
  ) {}

  async onModuleInit(): Promise<void> {
    await this.list.check();
    this.isListKnown = (await this.logs.all()).length > 0;
    this.running.readiness.add('log-list', async () => {
      if (!this.isListKnown) throw new Error('no log list has been read yet');
      await Promise.resolve();
    });
  }

  @Round('keepList')
  async keepList(): Promise<number> {
    await this.list.run();
    this.isListKnown = true;
    return this.config.LOG_LIST_RELOAD;
  }
}

/** Keeps the list of followed logs up to date. */
@Module({
  imports: [LogsModule],
  providers: [
    LogListRound,
    {
      provide: KeepLogList,
      inject: [Config, CtLogs, AddressGuard, UserAgent, RunningProcess],
      useFactory: (
        { LOG_LIST: place, LOGS }: Config,
        logs: CtLogs,
        guard: AddressGuard,
        userAgent: string,
        running: RunningProcess,
      ) => {
        const fetch = async () => await fetchLogList({ place, guard, userAgent });
        return new KeepLogList(logs, fetch, new WantedLogs(LOGS), observeList(running), Date.now);
      },
    },
  ],
})
export class LogListModule {}
