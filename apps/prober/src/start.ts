import { openRedis, QuestionServer, RedisModule } from '@certwright/redis';
import { nestLogger, ProcessModule, type RunningProcess } from '@certwright/service';
import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module';
import { Config } from './config';

/** The command TIME of Redis. */
interface ServerClock {
  time(): Promise<readonly (string | number)[]>;
}

export async function start(config: Config, running: RunningProcess): Promise<void> {
  const { name, log, readiness } = running;
  const { PROBE_CONCURRENCY: concurrency, DRAIN_TIME: drainMs } = config;
  // Without a database its own identity is unknown: any deployment of the mode.
  const findOwner = async () => await Promise.resolve({ mode: config.CERTWRIGHT_MODE, id: null });
  const redis = openRedis({ settings: config, process: running, findOwner });
  const strategy = new QuestionServer(redis, { name, log, concurrency, drainMs });
  readiness.add('redis', async () => {
    await strategy.checkWrites();
    // Seconds and microseconds.
    const [seconds = NaN] = (await strategy.unwrap<ServerClock>().time()).map(Number);
    return { serverTimeMs: seconds * 1_000, setting: 'REDIS_URL' };
  });
  const root = {
    module: AppModule,
    imports: [ProcessModule.forRoot(Config, config, running), RedisModule.of(redis)],
  };
  const app = await NestFactory.createMicroservice(root, {
    strategy,
    logger: nestLogger(log),
    abortOnError: false,
  });
  running.opened('application', async () => await app.close());
  await app.listen();
}
