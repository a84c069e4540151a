import { probeQueue, QuestionServer } from '@certwright/redis';
import { nestLogger, ProcessModule, type RunningProcess } from '@certwright/service';
import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module';
import { Config } from './config';

/** The command TIME of Redis. */
interface ServerClock {
  time(): Promise<readonly (string | number)[]>;
}

/** @param queue set by specs to separate them */
export async function start(config: Config, running: RunningProcess, queue = probeQueue): Promise<void> {
  const { name, log, readiness } = running;
  const { REDIS_URL, PROBE_CONCURRENCY: concurrency, DRAIN_TIME: drainMs } = config;
  const strategy = new QuestionServer(REDIS_URL, { name, log, concurrency, drainMs }, queue);
  readiness.add('redis', async () => {
    await strategy.checkWrites();
    // Seconds and microseconds.
    const [seconds = NaN] = (await strategy.unwrap<ServerClock>().time()).map(Number);
    return { serverTimeMs: seconds * 1_000, setting: 'REDIS_URL' };
  });
  const root = { module: AppModule, imports: [ProcessModule.forRoot(Config, config, running)] };
  const app = await NestFactory.createMicroservice(root, {
    strategy,
    logger: nestLogger(log),
    abortOnError: false,
  });
  running.opened('application', async () => await app.close());
  await app.listen();
}
