/** Events of certificate monitoring. Each is about a subject, not about a plan. */
const monitoringEvents = [
  'monitoring.unknown_certificate',
  'monitoring.new_endpoint',
  'monitoring.endpoint_problem',
  'monitoring.endpoint_recovered',
  'monitoring.not_logged',
  'monitoring.behind',
  'monitoring.caught_up',
  'monitoring.overflow',
] as const;
export type MonitoringEvent = (typeof monitoringEvents)[number];

/** A certificate of an order does not reach a host. About a subject too, so none is superseded. */
export const notServedEvent = 'order.current_cert_not_served';

/** Events that are about a subject, not about the newest state of a plan. */
export type SubjectEvent = MonitoringEvent | typeof notServedEvent;

/** A test is sent to one endpoint on request, whatever it selected. */
export const testEvent = 'test';

/** Every other value of the header `Webhook-Event`. */
export const webhookEvents = [
  'order.current_cert_changed',
  notServedEvent,
  'certificate.issued',
  ...monitoringEvents,
] as const;
export type WebhookEvent = (typeof webhookEvents)[number];

/** Selects every monitoring event except those that must be selected by name. */
const allMonitoring = 'monitoring.*';

const onlyByName: readonly WebhookEvent[] = ['monitoring.new_endpoint'];

/** What an endpoint can select. */
export const eventSelectors = [...webhookEvents, allMonitoring] as const;
export type EventSelector = (typeof eventSelectors)[number];

/** Of an endpoint whose `events` were never set; also the default of the column. */
export const defaultEvents: readonly EventSelector[] = ['order.current_cert_changed', 'certificate.issued'];

/** An endpoint gets the event if it selects one of these. */
export function selectorsOf(event: WebhookEvent): readonly EventSelector[] {
  const isMonitoring = event.startsWith('monitoring.') && !onlyByName.includes(event);
  return isMonitoring ? [event, allMonitoring] : [event];
}

export type EventsReading =
  { readonly value: readonly EventSelector[] } | { readonly faults: readonly string[] };

/** @returns the selection as it is, or what is wrong with it, as sentences */
export function readEvents(value: unknown): EventsReading {
  if (!Array.isArray(value)) return { faults: ['It must be an array of strings.'] };
  if (value.length === 0) {
    return { faults: ['It must have at least one event. To receive none, set "enabled" to false.'] };
  }
  if (value.length > eventSelectors.length) {
    return { faults: [`It has ${value.length} entries; there are only ${eventSelectors.length} events.`] };
  }
  const faults = value.flatMap((event: unknown, index) => {
    if (!eventSelectors.includes(event as EventSelector)) {
      return [`Entry ${index + 1} is not an event. Use one of: ${eventSelectors.join(', ')}.`];
    }
    const first = value.indexOf(event);
    return first < index ? [`Entry ${index + 1} repeats entry ${first + 1}. Remove one of them.`] : [];
  });
  return faults.length > 0 ? { faults } : { value: value as EventSelector[] };
}
