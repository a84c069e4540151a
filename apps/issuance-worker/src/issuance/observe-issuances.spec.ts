import { Registry } from 'prom-client';
import { observeIssuances } from './observe-issuances';

type Arguments = Parameters<typeof observeIssuances>;

it('changes of an issuance that callers see are published by its id', () => {
  const published: string[] = [];
  const running = { log: {}, metrics: { registry: new Registry() } } as unknown as Arguments[0];
  // Metrics that this test does not read.
  const events = observeIssuances(running, {} as Arguments[1], { publish: (id) => void published.push(id) });
  events.changed({ id: '7' });
  expect(published).toEqual(['7']);
});
