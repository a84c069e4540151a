import { deliveryStates } from '@certwright/core-schema';
import { ApiProperty } from '@nestjs/swagger';

export class DeliveryAttemptSchema {
  @ApiProperty({ format: 'date-time' })
  started_at: string;

  @ApiProperty({ type: 'integer' })
  duration_ms: number;

  @ApiProperty({ type: 'integer', nullable: true, description: 'HTTP status; null: there was no answer.' })
  status: number | null;

  @ApiProperty({
    type: String,
    nullable: true,
    description: 'Why it failed, in words of ours; null: it did not.',
  })
  problem: string | null;
}

export class DeliverySchema {
  @ApiProperty({
    example: 'msg_2Xh8vJq0s1dQe4mCkq0yH7uWb3A',
    description: 'Also webhook-id and Idempotency-Key of each attempt.',
  })
  id: string;

  @ApiProperty({
    enum: ['order.current_cert_changed', 'test'],
    description:
      'Also the header Webhook-Event. The body of order.current_cert_changed is the order object with current_cert.leaf, .chain and .root expanded.',
  })
  event: string;

  @ApiProperty({
    type: String,
    nullable: true,
    description: 'Name of the order that it tells of; null for a test, and when the order was deleted.',
  })
  order: string | null;

  @ApiProperty({
    enum: deliveryStates,
    description:
      'superseded: a newer state of the order took its place. canceled: webhook or order are gone.',
  })
  state: string;

  @ApiProperty({ type: String, nullable: true, description: 'The delivery whose body this one repeats.' })
  replay_of: string | null;

  @ApiProperty({ format: 'date-time' })
  created_at: string;

  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  next_attempt_at: string | null;

  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  finished_at: string | null;

  @ApiProperty({ type: [DeliveryAttemptSchema], description: 'Oldest first.' })
  attempts: DeliveryAttemptSchema[];
}

export class DeliveryWithBodySchema extends DeliverySchema {
  @ApiProperty({ description: 'What is signed and sent, to the letter.' })
  body: string;
}

/** The body of a test. */
export class TestEventSchema {
  @ApiProperty({ enum: ['test'] })
  event: string;

  @ApiProperty({ type: 'integer', maximum: Number.MAX_SAFE_INTEGER })
  webhook_id: number;

  @ApiProperty({ format: 'date-time' })
  created_at: string;

  @ApiProperty({ example: 'A test of this webhook; nothing has changed.' })
  message: string;
}
