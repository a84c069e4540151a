import { BooleanMember, Ignored, ReadBy, TextLine, Unreadable } from '@certwright/service';
import { type EndpointUrl, type EventSelector, readEndpointUrl, readEvents } from '@certwright/webhooks';
import { ApiPropertyOptional, ApiSchema } from '@nestjs/swagger';
import { documentedEvents, documentedUrl } from './webhook-json';

/** The body of a POST; a member that is left out keeps its value, or gets its default. */
@ApiSchema({ name: 'WebhookRequestSchema' })
export class WebhookRequest {
  @ApiPropertyOptional({
    ...documentedUrl,
    type: String,
    description:
      'Required on creation. http or https, no fragment. User and password in it become Basic authentication; they are stored sealed and never shown. Another URL without them has none; the same URL keeps those it has. Private and other special-purpose addresses are refused.',
  })
  @ReadBy(readUrl)
  url?: EndpointUrl;

  @TextLine()
  description?: string;

  @BooleanMember({ default: true, description: 'false also cancels what still waits to be delivered.' })
  enabled?: boolean;

  @ApiPropertyOptional({
    ...documentedEvents,
    description: `Each once. ${documentedEvents.description} Deliveries that wait are sent in any case.`,
  })
  @ReadBy(readSelection)
  events?: readonly EventSelector[];

  @Ignored()
  id?: unknown;

  @Ignored()
  has_credentials?: unknown;

  @Ignored()
  disabled_reason?: unknown;

  @Ignored()
  previous_secret_valid_until?: unknown;

  @Ignored()
  created_at?: unknown;
}

function readUrl(value: unknown): EndpointUrl | Unreadable {
  if (typeof value !== 'string') return Unreadable.because('It must be a string.');
  const reading = readEndpointUrl(value);
  return 'value' in reading ? reading.value : Unreadable.because(`It ${reading.fault}.`);
}

function readSelection(value: unknown): readonly EventSelector[] | Unreadable {
  const reading = readEvents(value);
  if ('value' in reading) return reading.value;
  return new Unreadable(reading.faults.map((message) => ({ code: 'invalid_value' as const, message })));
}
