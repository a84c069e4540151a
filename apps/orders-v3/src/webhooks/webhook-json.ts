import type { WebhookEndpoint } from '@certwright/delivery';
import { defaultEvents, type EventSelector, eventSelectors } from '@certwright/webhooks';
import { timestamp } from '@certwright/service';
import { ApiProperty } from '@nestjs/swagger';

/** Documents `url` of requests and responses. */
export const documentedUrl = {
  format: 'uri',
  maxLength: 2048,
  example: 'https://hooks.example.com/certificates',
} as const;

/** Documents `events` of requests and responses. */
export const documentedEvents = {
  enum: [...eventSelectors],
  isArray: true,
  minItems: 1,
  uniqueItems: true,
  default: [...defaultEvents],
  description:
    'The events that are sent there. monitoring.* selects all events of monitoring except monitoring.new_endpoint, which is selected by name only.',
} as const;

/** A webhook in a response. Its secret and its credentials are never part of it. */
export class WebhookSchema {
  @ApiProperty({ type: 'integer', maximum: Number.MAX_SAFE_INTEGER })
  id: number;

  @ApiProperty({ ...documentedUrl, description: 'Without user and password.' })
  url: string;

  @ApiProperty({ description: 'Whether a user and a password are stored for it.' })
  has_credentials: boolean;

  @ApiProperty()
  description: string;

  @ApiProperty()
  enabled: boolean;

  @ApiProperty(documentedEvents)
  events: readonly EventSelector[];

  @ApiProperty({
    type: String,
    nullable: true,
    description: 'Why the platform disabled it; null when it did not. Enabling the webhook clears it.',
  })
  disabled_reason: string | null;

  @ApiProperty({
    type: String,
    format: 'date-time',
    nullable: true,
    description:
      'Until then, after a rotation, the previous secret signs as well. Secrets before that one end earlier, 24 h after they were replaced.',
  })
  previous_secret_valid_until: string | null;

  @ApiProperty({ format: 'date-time' })
  created_at: string;
}

export class WebhookWithSecretSchema extends WebhookSchema {
  @ApiProperty({
    example: 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDTYKSVpSXxlQ=',
    description: 'Signs every delivery, according to Standard Webhooks. Shown in this response only.',
  })
  secret: string;
}

/** The body of a test. */
export class TestEventSchema {
  @ApiProperty({ enum: ['test'] })
  event: 'test';

  @ApiProperty({ type: 'integer', maximum: Number.MAX_SAFE_INTEGER })
  webhook_id: number;

  @ApiProperty({ format: 'date-time' })
  created_at: string;

  @ApiProperty({ example: 'A test of this webhook; nothing has changed.' })
  message: string;
}

export function webhookJson(endpoint: WebhookEndpoint, now: Date): WebhookSchema {
  const { previousSecretUntil } = endpoint;
  const isRotating = previousSecretUntil !== null && previousSecretUntil.getTime() > now.getTime();
  return {
    // Ids fit the integers of JSON's numbers: a constraint of the table.
    id: Number(endpoint.id),
    url: endpoint.url,
    has_credentials: endpoint.credentialsSealed !== null,
    description: endpoint.description,
    enabled: endpoint.enabled,
    events: endpoint.events as EventSelector[],
    disabled_reason: endpoint.disabledReason,
    previous_secret_valid_until: isRotating ? timestamp(previousSecretUntil) : null,
    created_at: timestamp(endpoint.createdAt),
  };
}

/** The only response that shows the secret. */
export function webhookWithSecretJson(
  endpoint: WebhookEndpoint,
  secret: string,
  now: Date,
): WebhookWithSecretSchema {
  return { ...webhookJson(endpoint, now), secret };
}

export function testEventJson(endpoint: Pick<WebhookEndpoint, 'id'>, now: Date): TestEventSchema {
  return {
    event: 'test',
    webhook_id: Number(endpoint.id),
    created_at: timestamp(now),
    message: 'A test of this webhook; nothing has changed.',
  };
}
