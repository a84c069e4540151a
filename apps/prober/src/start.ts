import { lookup } from 'node:dns/promises';
import { AddressGuard, type ResolverAddress } from '@certwright/outbound';
import { probeQueue, TakenQuestions } from '@certwright/redis';
import { nestLogger, type RunningProcess } from '@certwright/service';
import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module';
import type { Config } from './config';
import { QuestionTransport } from './questions/question-transport';
import { InstallationTest } from './tls-test/installation-test';
import { observeTests } from './tls-test/observe-tests';
import { observeProbes } from './web-rule/observe-probes';
import { WebRuleProbe } from './web-rule/web-rule-probe';

/** @param queue another name keeps specs apart */
export async function start(config: Config, running: RunningProcess, queue = probeQueue): Promise<void> {
  const { log, readiness, metrics } = running;
  const guard = new AddressGuard({
    allowedNetworks: config.ALLOWED_NETWORKS,
    resolvers: await Promise.all(config.DNS_RESOLVERS.map(addressOf)),
  });
  const probe = new WebRuleProbe(
    guard,
    { httpPort: config.HTTP_PORT, allowedPorts: [config.HTTP_PORT, ...config.REDIRECT_PORTS] },
    observeProbes(metrics.registry),
  );
  const installationTest = new InstallationTest(guard, observeTests(metrics.registry), log);
  const questions = new TakenQuestions(config.REDIS_URL, queue, {
    name: 'prober',
    log,
    concurrency: config.PROBE_CONCURRENCY,
  });
  readiness.add('redis', async () => await questions.checkWrites());
  const strategy = new QuestionTransport(questions, { log, drainMs: config.DRAIN_TIME });
  const app = await NestFactory.createMicroservice(AppModule.of(probe, installationTest), {
    strategy,
    logger: nestLogger(log),
    abortOnError: false,
  });
  running.opened('questions', async () => await app.close());
  await app.listen();
}

/** A resolver that is given by name (a service of the cluster) is looked up once, by the system's own means. */
async function addressOf({ host, port }: ResolverAddress): Promise<ResolverAddress> {
  const { address } = await lookup(host);
  return { host: address, port };
}
