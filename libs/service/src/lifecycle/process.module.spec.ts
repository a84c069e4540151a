import { eventually } from '@certwright/testing';
import {
  Inject,
  Injectable,
  Module,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleDestroy,
  type OnModuleInit,
} from '@nestjs/common';
import { createLogger } from '../logging/logger';
import { Metrics } from '../operations/metrics';
import { Readiness } from '../operations/readiness';
import { ClosingOrder } from './closing-order';
import { Drain, startModules } from './process.module';
import type { ProcessConfig } from './process-settings';
import { Round, Rounds } from './rounds';
import { RunningProcess } from './run-process';

const SampleConfig = Symbol('SampleConfig');
const config: ProcessConfig = {
  LOG_LEVEL: 'warn',
  OPS_HOST: '127.0.0.1',
  OPS_PORT: 0,
  PID_FILE: null,
  DRAIN_TIME: 1,
};

let happened: string[];

@Injectable()
class Connection implements OnApplicationShutdown {
  constructor(
    private readonly drain: Drain,
    @Inject(SampleConfig) { DRAIN_TIME }: ProcessConfig,
    { name }: RunningProcess,
  ) {
    happened.push(`${name} opened, DRAIN_TIME ${DRAIN_TIME}`);
  }

  async beforeApplicationShutdown(): Promise<void> {
    await new Promise((resolve) => this.drain.signal.addEventListener('abort', resolve));
    happened.push('drained');
  }

  onApplicationShutdown(): void {
    happened.push('closed');
  }
}

@Injectable()
class Work implements OnModuleInit, OnApplicationBootstrap, OnModuleDestroy {
  constructor(
    readonly connection: Connection,
    private readonly rounds: Rounds,
  ) {}

  onModuleInit(): void {
    this.rounds.add('added', () => Promise.resolve(1));
  }

  onApplicationBootstrap(): void {
    happened.push('bootstrapped');
  }

  onModuleDestroy(): void {
    happened.push('takes no more work');
  }

  @Round('sweep')
  async sweep(): Promise<number> {
    happened.push('round begins');
    await new Promise((resolve) => setImmediate(resolve));
    happened.push('round ends');
    return 60_000;
  }
}

@Module({ providers: [Connection, Work] })
class SampleModule {}

@Injectable()
class Double {
  @Round('sweep')
  async again(): Promise<number> {
    return await Promise.resolve(1);
  }
}

@Module({ providers: [Connection, Work, Double] })
class AmbiguousModule {}

@Injectable()
class Failing {
  @Round('fails')
  async fail(): Promise<number> {
    return await Promise.reject(new Error('no database'));
  }
}

@Module({ providers: [Failing] })
class FailingModule {}

const closing = new ClosingOrder();
const lines: string[] = [];
const running: RunningProcess = {
  name: 'sample',
  log: createLogger('sample', 'warn', { write: (line) => void lines.push(line) }),
  metrics: new Metrics('sample'),
  readiness: new Readiness(),
  opened: (name, close) => closing.opened(name, close),
};
beforeEach(() => {
  happened = [];
});

describe('a process without an HTTP API', () => {
  it('runs rounds once everything is started, and on stopping ends them before connections close', async () => {
    await startModules(SampleModule, SampleConfig)(config, running);
    expect(happened).toEqual(['sample opened, DRAIN_TIME 1', 'bootstrapped', 'round begins']);
    expect(await closing.closeAll()).toEqual([]);
    expect(happened.slice(3)).toEqual(['round ends', 'takes no more work', 'drained', 'closed']);
  });

  it('does not start with two rounds of one name', async () => {
    const starting = startModules(AmbiguousModule, SampleConfig)(config, running);
    await expect(starting).rejects.toThrow('Two rounds are called "sweep".');
  });

  it('reports a round that fails by its name', async () => {
    await startModules(FailingModule, SampleConfig)(config, running);
    await eventually(() => expect(lines.join()).toContain('"round":"fails"'));
    await closing.closeAll();
  });
});
