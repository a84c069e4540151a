import { advanceIssuance, type JobPayloads } from '@certwright/jobs';
import { eventually, testRedis, type TestRedis } from '@certwright/testing';
import { Injectable, type Provider } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { JobQueues } from './job-queues';
import { type Handlers, type RunnerEvents, runJobs } from './job-runner';
import { JobProcessorsModule, JobQueuesModule, Processor } from './jobs.module';

let redis: TestRedis;
let queues: JobQueues;
const events: RunnerEvents = { failed: () => undefined, error: () => undefined };

beforeAll(async () => {
  redis = await testRedis();
  queues = new JobQueues(redis.access, () => undefined);
});
beforeEach(async () => await redis.flush());
afterAll(async () => {
  await queues.close();
  await redis.dispose();
});

function collecting(): { readonly seen: string[]; readonly handlers: Handlers<'issuance'> } {
  const seen: string[] = [];
  const handlers: Handlers<'issuance'> = {
    'advance-issuance': async ({ issuanceId }) => await Promise.resolve(void seen.push(issuanceId)),
  };
  return { seen, handlers };
}

describe('jobs', () => {
  it('reach their handler with their payload', async () => {
    const { seen, handlers } = collecting();
    const runner = runJobs(redis.access, 'issuance', handlers, events);
    await queues.addAll([advanceIssuance('1', 0), advanceIssuance('2', 0)]);
    await eventually(() => expect([...seen].sort()).toEqual(['1', '2']));
    await runner.close();
  });

  it('of one id are one job while it waits', async () => {
    await queues.addAll([advanceIssuance('1', 0), advanceIssuance('1', 0)]);
    await queues.addAll([advanceIssuance('1', 0), advanceIssuance('1', 1)]);
    expect((await queues.lengths()).get('issuance')).toBe(2);
  });

  it('can be added again under the same id once they are done, also after a failure', async () => {
    let runs = 0;
    const failing: Handlers<'issuance'> = {
      'advance-issuance': async () => {
        runs += 1;
        await Promise.reject(new Error('fails'));
      },
    };
    const runner = runJobs(redis.access, 'issuance', failing, events);
    for (let nth = 1; nth <= 3; nth += 1) {
      await queues.addAll([advanceIssuance('1', 0)]);
      await eventually(async () => {
        expect(runs).toBe(nth);
        expect((await queues.lengths()).get('issuance')).toBe(0);
      });
    }
    await runner.close();
  });

  it('come again after Redis forgot everything', async () => {
    const { seen, handlers } = collecting();
    const runner = runJobs(redis.access, 'issuance', handlers, events);
    await redis.flush();
    await eventually(async () => {
      await queues.addAll([advanceIssuance('9', 0)]);
      expect(seen).toContain('9');
    });
    await runner.close();
  });
});

it('trouble with Redis is reported once, and not once for each queue', async () => {
  const errors: Error[] = [];
  const unreachable = new JobQueues(redis.accessAt('redis://127.0.0.1:1'), (error) => errors.push(error));
  await eventually(() => expect(errors.length).toBeGreaterThan(2));
  await unreachable.close();
  expect(new Set(errors).size).toBe(errors.length);
});

describe('a runner', () => {
  it('refuses to start when a declared job has no handler, or a handler no job', () => {
    expect(() => runJobs(redis.access, 'issuance', {} as Handlers<'issuance'>, events)).toThrow(
      'without handler: advance-issuance',
    );
    const { handlers } = collecting();
    const many = { ...handlers, 'unheard-of': async () => await Promise.resolve() };
    expect(() => runJobs(redis.access, 'issuance', many, events)).toThrow('unheard-of');
  });

  it('closes in bounded time while Redis is unavailable', async () => {
    const { handlers } = collecting();
    const runner = runJobs(redis.accessAt('redis://127.0.0.1:1'), 'issuance', handlers, events);
    const start = performance.now();
    await runner.close();
    expect(performance.now() - start).toBeLessThan(8_000);
  }, 20_000);
});

@Injectable()
@Processor('issuance')
class SampleProcessor {
  readonly seen: string[] = [];

  async 'advance-issuance'({ issuanceId }: JobPayloads['advance-issuance']): Promise<void> {
    await Promise.resolve(this.seen.push(issuanceId));
  }
}

@Injectable()
@Processor('issuance')
class SecondProcessor {
  async 'advance-issuance'(): Promise<void> {
    await Promise.resolve();
  }
}

describe('processors', () => {
  const checks: string[] = [];
  const compiled = async (providers: Provider[]) => {
    const log = { warn: () => undefined, error: () => undefined };
    const readiness = { add: (name: string) => void checks.push(name) };
    const options = { useFactory: () => ({ redis: redis.access, log, readiness }) };
    const module = Test.createTestingModule({
      imports: [JobQueuesModule.forRootAsync(options), JobProcessorsModule.forRootAsync(options)],
      providers,
    });
    return await module.compile();
  };

  it('get the jobs of their queue until the application closes', async () => {
    const app = await (await compiled([SampleProcessor])).init();
    const { seen } = app.get(SampleProcessor);
    expect(checks).toEqual(['redis']);
    await eventually(async () => await app.get(JobQueues).addAll([advanceIssuance('1', 0)]));
    await eventually(() => expect(seen).toEqual(['1']));
    await app.close();
    await queues.addAll([advanceIssuance('2', 0)]);
    expect(await queues.waiting('issuance')).toBe(1);
    expect(seen).toEqual(['1']);
  });

  it('of one queue are not two', async () => {
    const app = await compiled([SampleProcessor, SecondProcessor]);
    await expect(app.init()).rejects.toThrow('Queue "issuance" has two processors.');
    await app.close();
  });
});

describe('the readiness check', () => {
  it('fails while Redis responds but refuses writes', async () => {
    const admin = redis.connect();
    const user = `reader-${new URL(redis.url).pathname.slice(1)}`;
    await admin.call('ACL', 'SETUSER', user, 'on', 'nopass', '~*', '&*', '+@all', '-@write');
    const url = new URL(redis.url);
    url.username = user;
    url.password = 'any';
    const reading = new JobQueues(redis.accessAt(url.href), () => undefined);
    try {
      await eventually(async () => await expect(reading.checkWrites()).rejects.toThrow('NOPERM'));
      await admin.call('ACL', 'SETUSER', user, '+@write');
      await reading.checkWrites();
    } finally {
      await reading.close();
      await admin.call('ACL', 'DELUSER', user);
    }
  });
});
