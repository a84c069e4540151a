import { type Admission, type Answered, RCODE } from '@certwright/dns-authority';
import type { Metrics } from '@certwright/service';
import { Counter, Histogram } from 'prom-client';
import type { LookUpSource } from './known-values';

/** From Redis on the same machine to the timeout of the database. */
const durationBucketsS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5];

const rcodeNames: ReadonlyMap<number, string> = new Map(
  Object.entries(RCODE).map(([name, value]) => [value, name.toLowerCase()]),
);

export class DnsMetrics {
  readonly #questions: Counter<'rcode' | 'transport'>;
  readonly #answers: Histogram<'transport'>;
  readonly #limited: Counter<'as'>;
  readonly #lookUps: Histogram<'source'>;

  constructor({ registry }: Pick<Metrics, 'registry'>) {
    const registers = [registry];
    this.#questions = new Counter({
      name: 'dns_questions_total',
      help: 'DNS messages answered, by response code and transport; those beyond the limit are not among them',
      labelNames: ['rcode', 'transport'],
      registers,
    });
    this.#answers = new Histogram({
      name: 'dns_answer_duration_seconds',
      help: 'Time from the arrival of a DNS message to its whole answer, by transport; of those in dns_questions_total',
      labelNames: ['transport'],
      buckets: durationBucketsS,
      registers,
    });
    this.#limited = new Counter({
      name: 'dns_limited_total',
      help: 'DNS messages over UDP beyond the limit of their network: truncate or drop',
      labelNames: ['as'],
      registers,
    });
    this.#lookUps = new Histogram({
      name: 'dns_lookup_duration_seconds',
      help: 'Time until it was known which values are at a name, by who knew: redis or database',
      labelNames: ['source'],
      buckets: durationBucketsS,
      registers,
    });
  }

  answered({ rcode, peer: { transport }, tookMs, admission }: Answered): void {
    if (admission !== 'answer') return;
    this.#questions.inc({ rcode: rcodeNames.get(rcode) ?? 'other', transport });
    this.#answers.observe({ transport }, tookMs / 1_000);
  }

  admitted(admission: Admission): void {
    if (admission !== 'answer') this.#limited.inc({ as: admission });
  }

  found(source: LookUpSource, seconds: number): void {
    this.#lookUps.observe({ source }, seconds);
  }
}
