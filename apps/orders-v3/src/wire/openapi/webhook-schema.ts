import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';

const url = {
  format: 'uri',
  maxLength: 2048,
  example: 'https://hooks.example.com/certificates',
} as const;

/** The body of a POST. */
export class WebhookRequestSchema {
  @ApiPropertyOptional({
    ...url,
    description:
      'Required on creation. http or https, no fragment. User and password in it become Basic authentication; they are stored sealed and never shown. Another URL without them has none; the same URL keeps those it has. Private and other special-purpose addresses are refused.',
  })
  url: string;

  @ApiPropertyOptional({ maxLength: 255, default: '', description: 'For people.' })
  description: string;

  @ApiPropertyOptional({ default: true, description: 'false also cancels what still waits to be delivered.' })
  enabled: boolean;
}

/** A webhook as it is answered. */
export class WebhookSchema {
  @ApiProperty({ type: 'integer', maximum: Number.MAX_SAFE_INTEGER })
  id: number;

  @ApiProperty({ ...url, description: 'Without user and password.' })
  url: string;

  @ApiProperty({ description: 'A user and a password are kept for it.' })
  has_credentials: boolean;

  @ApiProperty()
  description: string;

  @ApiProperty()
  enabled: boolean;

  @ApiProperty({
    type: String,
    nullable: true,
    description: 'Why the platform switched it off; null when it did not. Enabling it again forgets it.',
  })
  disabled_reason: string | null;

  @ApiProperty({
    type: String,
    format: 'date-time',
    nullable: true,
    description: 'Until then, after a rotation, the secret before signs as well.',
  })
  previous_secret_valid_until: string | null;

  @ApiProperty({ format: 'date-time' })
  created_at: string;
}

export class WebhookWithSecretSchema extends WebhookSchema {
  @ApiProperty({
    example: 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDTYKSVpSXxlQ=',
    description: 'Signs every delivery, as Standard Webhooks has it. Shown here and never again.',
  })
  secret: string;
}
