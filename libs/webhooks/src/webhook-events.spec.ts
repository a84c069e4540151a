import { defaultEvents, eventSelectors, readEvents, selectorsOf, webhookEvents } from './webhook-events';

it('selects the events of orders and certificates by default', () => {
  expect(defaultEvents).toEqual(['order.current_cert_changed', 'certificate.issued']);
});

it('selects with monitoring.* all events of monitoring except new_endpoint', () => {
  const selected = webhookEvents.filter((event) => selectorsOf(event).includes('monitoring.*'));
  expect(selected).toEqual([
    'monitoring.unknown_certificate',
    'monitoring.endpoint_problem',
    'monitoring.endpoint_recovered',
    'monitoring.not_logged',
    'monitoring.behind',
    'monitoring.caught_up',
    'monitoring.overflow',
  ]);
});

it('selects every event by its name', () => {
  for (const event of webhookEvents) expect(selectorsOf(event)[0]).toBe(event);
});

it('reads a selection as it is', () => {
  expect(readEvents(['monitoring.*', 'certificate.issued'])).toEqual({
    value: ['monitoring.*', 'certificate.issued'],
  });
  expect(readEvents([...eventSelectors])).toEqual({ value: [...eventSelectors] });
});

const all = eventSelectors.join(', ');

it.each<[unknown, readonly string[]]>([
  ['certificate.issued', ['It must be an array of strings.']],
  [null, ['It must be an array of strings.']],
  [[], ['It must have at least one event. To receive none, set "enabled" to false.']],
  [
    ['certificate.issued', 'test', 7, ['monitoring.*']],
    [2, 3, 4].map((entry) => `Entry ${entry} is not an event. Use one of: ${all}.`),
  ],
  [['order.*'], [`Entry 1 is not an event. Use one of: ${all}.`]],
  [['monitoring.*', 'monitoring.*'], ['Entry 2 repeats entry 1. Remove one of them.']],
  [Array(1_000).fill('x'), [`It has 1000 entries; there are only ${eventSelectors.length} events.`]],
])('refuses %j', (value, faults) => {
  expect(readEvents(value)).toEqual({ faults });
});
