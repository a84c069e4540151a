import { type ConclusiveTest, type InconclusiveTest, inconclusiveStatuses } from '@certwright/jobs';
import { Counter, Histogram, type Registry } from 'prom-client';

type Status = (ConclusiveTest | InconclusiveTest)['status'];

/** @param statuses of the addresses of one question; none: it could not be read */
export type ObserveTest = (statuses: readonly Status[], seconds: number) => void;

export function observeTests(registry: Registry): ObserveTest {
  const addresses = new Counter({
    name: 'installation_test_addresses_total',
    help: 'Addresses in answers of installation tests, by status',
    labelNames: ['status'] as const,
    registers: [registry],
  });
  const durations = new Histogram({
    name: 'installation_test_duration_seconds',
    help: 'Time from taking a question to its answer, all hosts included',
    buckets: [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 20],
    registers: [registry],
  });
  for (const status of ['conclusive', ...inconclusiveStatuses] as const) addresses.inc({ status }, 0);
  return (statuses, seconds) => {
    for (const status of statuses) addresses.inc({ status });
    durations.observe(seconds);
  };
}
