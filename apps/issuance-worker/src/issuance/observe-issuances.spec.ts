import { Registry } from 'prom-client';
import { observeIssuances } from './observe-issuances';

type Surroundings = Parameters<typeof observeIssuances>;

it('what callers see of an issuance is told by its id', () => {
  const told: string[] = [];
  const running = { log: {}, metrics: { registry: new Registry() } } as unknown as Surroundings[0];
  // Metrics that nobody asks for here.
  const events = observeIssuances(running, {} as Surroundings[1], { publish: (id) => void told.push(id) });
  events.changed({ id: '7' });
  expect(told).toEqual(['7']);
});
