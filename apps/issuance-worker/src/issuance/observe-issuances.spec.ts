import { Registry } from 'prom-client';
import { observeIssuances } from './observe-issuances';

type Surroundings = Parameters<typeof observeIssuances>;

it('changes of an issuance that callers see are published by its id', () => {
  const told: string[] = [];
  const running = { log: {}, metrics: { registry: new Registry() } } as unknown as Surroundings[0];
  // Metrics that this test does not read.
  const events = observeIssuances(running, {} as Surroundings[1], { publish: (id) => void told.push(id) });
  events.changed({ id: '7' });
  expect(told).toEqual(['7']);
});
