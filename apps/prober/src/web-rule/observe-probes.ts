import type { OutboundFaultKind } from '@certwright/outbound';
import { Counter, Histogram, type Registry } from 'prom-client';

/** `question`: nothing was looked at; `redirect`: a hop that is not followed. */
export type ProbeOutcome = 'answered' | 'question' | 'redirect' | OutboundFaultKind;

export type ObserveProbe = (outcome: ProbeOutcome, seconds: number) => void;

export function observeProbes(registry: Registry): ObserveProbe {
  const probes = new Counter({
    name: 'web_rule_probes_total',
    help: 'Web server rules looked at, by outcome',
    labelNames: ['outcome'] as const,
    registers: [registry],
  });
  const durations = new Histogram({
    name: 'web_rule_probe_duration_seconds',
    help: 'Time from taking a question to its answer, all redirects included',
    buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15],
    registers: [registry],
  });
  return (outcome, seconds) => {
    probes.inc({ outcome });
    durations.observe(seconds);
  };
}
